"""What one measured process is asked to do, as it travels on its command line."""

from __future__ import annotations

import json
import random
from dataclasses import asdict, dataclass, field
from typing import Any

SYSTEM = "Classify the sentiment of the review."
REVIEW = " The delivery was late, but the product works as described and support answered quickly."
CHARS_PER_TOKEN = 4  # as the simulated provider counts


@dataclass(frozen=True, kw_only=True)
class Job:
    """One library, one amount of work, one server.

    `distinct` texts are repeated in turn over `rows`; 0 stands for as many as there are rows. `chars` pads each text;
    with `tokens` the texts have lengths between its two numbers, log-uniformly, and the middle row has the third.
    `mode` is llmframe's own: `"batch"` for its way through the Batch API.
    """

    side: str
    url: str = ""
    warm_url: str = ""
    task: str = "map"
    rows: int = 1000
    distinct: int = 0
    chars: int = 0
    tokens: tuple[int, ...] = ()
    in_flight: int = 64
    mode: str = "live"
    options: dict[str, Any] = field(default_factory=dict)

    def line(self) -> str:
        return json.dumps(asdict(self))

    @staticmethod
    def read(line: str) -> Job:
        return Job(**json.loads(line))


def token_of(number: int) -> str:
    """The mark of a text that its answer has to carry back."""
    return f"row-{number:06d}"


def texts(job: Job) -> list[str]:
    distinct = job.distinct or job.rows
    if job.tokens:
        made = mixed_texts(distinct, *job.tokens)
    else:
        made = [(token_of(number) + REVIEW).ljust(job.chars, ".") for number in range(distinct)]
    return [made[row % distinct] for row in range(job.rows)]


def mixed_texts(rows: int, least: int, most: int, giant: int) -> list[str]:
    draw = random.Random(7)  # noqa: S311 - the same lengths in every run
    lengths = [int(least * (most / least) ** draw.random()) for _ in range(rows)]
    lengths[rows // 2] = giant
    return [token_of(row).ljust(CHARS_PER_TOKEN * length, "a") for row, length in enumerate(lengths)]
