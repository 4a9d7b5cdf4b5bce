"""Commands over stdin and answers over stdout, one JSON line each: how the parent speaks with its servers."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable


def obey(url: str, *, stats: Callable[[], dict[str, object]], reset: Callable[[], None]) -> None:
    """Tell the address, then answer `stats` and `reset` until stdin ends."""
    print(json.dumps({"url": url}), flush=True)
    for line in sys.stdin:
        if line.strip() == "reset":
            reset()
        print(json.dumps(stats()), flush=True)
