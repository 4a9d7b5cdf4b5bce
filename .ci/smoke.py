"""Try an installed wheel: the README's first example on pandas and on polars, against a simulated provider."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Literal

import pandas as pd
import polars as pl
from pydantic import BaseModel

import llmframe
from llmframe.datasets import __file__ as datasets
from llmframe.testing import Provider

REVIEWS = ["Great screen", "Broke in a week", None, "Great screen"]
"""Three rows to ask about, two distinct prompts, one null."""


class Sentiment(BaseModel):
    """What is asked for."""

    label: Literal["positive", "negative", "neutral"]
    reason: str


def expect(found: object, promised: object) -> None:
    """End with a message unless both are equal."""
    if found != promised:
        sys.exit(f"expected {promised!r}, got {found!r}")


def main() -> None:
    """Map one column in both libraries and look at names, order, nulls and the number of requests."""
    package = Path(llmframe.__file__).parent
    expect("site-packages" in package.parts, True)
    expect((package / "py.typed").is_file(), True)
    expect(Path(datasets).is_file(), True)
    for library in (pd, pl):
        frame = library.DataFrame({"review": REVIEWS})
        with Provider() as provider:
            out = frame.llm.map(
                "Classify the sentiment of: {review}",
                schema=Sentiment,
                model="test-model",
                client=provider,
                cache=False,
            )
            expect(provider.requests, 2)
        expect(list(out.columns), ["review", "label", "reason", "error"])
        expect(list(out["error"].isna() if library is pd else out["error"].is_null()), [True, True, False, True])
        expect(str(out["error"][2]).split(":")[0], "null")
        sys.stdout.write(f"{out}\n")


if __name__ == "__main__":
    main()
