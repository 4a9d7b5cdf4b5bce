"""Every test of batches begins alike, as those of the engine do."""

from tests.engine.conftest import same_beginning

__all__ = ["same_beginning"]
