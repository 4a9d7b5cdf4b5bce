"""CPU of parsing a reply with log-probabilities and of making its label's confidence, by the number of labels.

python benchmarks/reading.py
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from itertools import islice, product
from typing import Any

from pydantic_core import from_json
from told_tokens import entries

from llmframe.clients.logprobs import read_tokens
from llmframe.core.confidence import token_scores
from llmframe.core.scores import Target

NUMBERS = (2, 5, 20, 100)
REPLIES, TURNS = 200, 5
TOPICS = "billing delivery refund support account product returns warranty shipping price".split()
KINDS = "question issue praise complaint request update error delay wish other".split()


def labels_of(number: int) -> tuple[str, ...]:
    """Different topics first, then the same ones again: from eleven on labels share a first token."""
    return tuple(f"{topic} {kind}" for kind, topic in islice(product(KINDS, TOPICS), number))


def microseconds(work: Callable[[int], object]) -> float:
    """CPU a reply, of the quickest turn."""
    turns: list[float] = []
    for _ in range(TURNS):
        begun = time.process_time()
        for number in range(REPLIES):
            work(number)
        turns.append((time.process_time() - begun) / REPLIES * 1e6)
    return min(turns)


def measured(number: int) -> dict[str, Any]:
    labels = labels_of(number)
    said = labels[-1]  # the one that takes longest to find
    told = [entries(f"row-{row:06d}", (said, *labels[:-1])) for row in range(REPLIES)]
    texts = ["".join(entry["token"] for entry in each) for each in told]
    bodies = [json.dumps({"content": each}, separators=(",", ":")).encode() for each in told]
    parsed = [from_json(body) for body in bodies]
    targets = (Target("label", "label", labels),)

    def confidence(row: int) -> float | None:
        text = texts[row]
        return token_scores(text, read_tokens(parsed[row], text), targets, (said,))[0].confidence

    if confidence(0) is None:
        raise RuntimeError("no confidence was found")
    return {"parse": microseconds(lambda row: from_json(bodies[row])), "read": microseconds(confidence)}


if __name__ == "__main__":
    print(json.dumps({number: measured(number) for number in NUMBERS}))
