"""The machine beside the measurement: what it is, and how much of it others use."""

from __future__ import annotations

import contextlib
import os
import platform
import resource
import time
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

NOISY = 0.2  # cores of other programs from which on a run is called noisy
PACKAGES = ("llmframe", "pandas", "polars", "openai", "aiohttp", "pydantic", "uvloop")


def described() -> dict[str, object]:
    """No name, no path: what a figure may depend on."""
    versions: dict[str, str] = {}
    for name in PACKAGES:
        with contextlib.suppress(PackageNotFoundError):
            versions[name] = version(name)
    return {
        "system": platform.system(),
        "architecture": platform.machine(),
        "cores": os.cpu_count(),
        "python": platform.python_version(),
        "versions": versions,
    }


class Others:
    """Cores that programs outside this process and its children used since the start; `None` where nobody tells."""

    def __init__(self) -> None:
        self._since = self._now()

    def cores(self) -> float | None:
        """Call it when all children have ended: the system counts theirs only then."""
        (busy, ours, at), (was_busy, was_ours, was_at) = self._now(), self._since
        if busy is None or was_busy is None:
            return None
        return max(0.0, round(((busy - was_busy) - (ours - was_ours)) / (at - was_at), 2))

    @staticmethod
    def _now() -> tuple[float | None, float, float]:
        used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
        return busy_seconds(), sum(one.ru_utime + one.ru_stime for one in used), time.monotonic()


def busy_seconds() -> float | None:
    """CPU seconds of all programs since the machine started."""
    try:
        line = Path("/proc/stat").read_text(encoding="ascii").partition("\n")[0]
    except OSError:
        return None
    user, nice, system, _idle, _waiting, interrupts, soft, *_ = map(int, line.split()[1:])
    return (user + nice + system + interrupts + soft) / os.sysconf("SC_CLK_TCK")
