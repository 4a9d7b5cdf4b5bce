"""The only place that imports a provider's SDK."""

from __future__ import annotations

from llmframe.clients.opening import open_client

__all__ = ["open_client"]
