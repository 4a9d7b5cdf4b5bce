"""The error of a statistic whose package isn't installed."""

from __future__ import annotations

from llmframe.errors import MissingExtraError


def missing(what: str, package: str) -> MissingExtraError:
    """The error, with the install line: `raise missing("Cohen's kappa", "scikit-learn") from None`."""
    return MissingExtraError(f"{what} needs {package}, which isn't installed: `pip install 'llmframe[judge]'`")
