"""Live, by batches and from the store, a map gives the same frame."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from typing import Any, Literal

import pytest
from pydantic import BaseModel, Field

import llmframe
from llmframe.api import keeping
from llmframe.testing import Empty, Filtered, Object, Provider, Refusal, Status, Text, ToolCalls, Truncated
from tests.contracts.batches import hurry
from tests.contracts.kinds import Kind

pytestmark = pytest.mark.filterwarnings("ignore:.*rows failed:llmframe.errors.LlmframeWarning")

Label = Literal["pos", "neg"]


class Echo(BaseModel):
    id: str
    label: Label
    score: float = Field(ge=0, le=1)


ROWS = ["row-1", None, "row-2", "row-1", "row-3", "", "row-4"]
"""Five distinct requests, one of them of an empty text."""


def plain(provider: Provider) -> None:
    """Nothing goes wrong."""


def stubborn(_: str, request: dict[str, Any]) -> Any:
    """Two rows get an invalid reply, however often they ask."""
    asked = " ".join(str(message["content"]) for message in request["messages"])
    if "row-8" in asked:
        return Text("I'd rather not")
    return Object({"id": "x", "label": "odd", "score": 0.5}) if "row-9" in asked else None


class Three:
    """The same map live, by batches and from the store, with providers that are set up in the same way.

    Attributes
    ----------
    created, lines
        Batches that were made, and lines that were answered.
    """

    def __init__(self, stack: ExitStack) -> None:
        self._stack = stack
        self.created = self.lines = 0

    def __call__(
        self, native: Any, *, setup: Callable[[Provider], Any] = plain, prompt: str = "J {t}", **options: Any
    ) -> list[Any]:
        live, batch = (self._stack.enter_context(Provider(answer=stubborn)) for _ in range(2))
        frames: list[Any] = []
        for provider, mode in ((live, "live"), (batch, "batch"), (batch, "live")):
            provider.reset()
            setup(provider)
            frames.append(llmframe.map(native, prompt, client=provider, mode=mode, **options))
            if mode == "batch":
                self.created, self.lines = batch.batches.created, batch.batches.lines
                assert options.get("fallback") == "live" or provider.requests == 0
        return frames


@pytest.fixture
def three(monkeypatch: pytest.MonkeyPatch) -> Iterator[Three]:
    hurry(monkeypatch)
    keeping._process_store.clear()
    with ExitStack() as stack:
        yield Three(stack)


def same(kind: Kind, frames: list[Any]) -> None:
    """Whether frames are equal in type, values, order of columns and dtypes."""
    first, *others = frames
    for other in others:
        assert type(other) is type(first)
        assert kind.to_dict(other) == kind.to_dict(first)
        assert list(kind.to_dict(other)) == list(kind.to_dict(first))
        assert kind.dtypes(other) == kind.dtypes(first)


QUESTIONS: dict[str, dict[str, Any]] = {
    "a schema": {"schema": Echo},
    "free text": {},
    "one value": {"schema": Label},
    "labels": {"schema": ["so", "anders", "üblich"]},
    "tools": {"schema": Echo, "output_mode": "tools"},
    "json": {"schema": Echo, "output_mode": "json"},
    "confidence": {"schema": Label, "confidence": "stated"},
    "examples": {"schema": Label, "examples": [({"t": "x"}, "pos")], "system": "Sei kurz – bitte."},
}


@pytest.mark.parametrize("question", QUESTIONS.values(), ids=QUESTIONS.keys())
def test_live_batch_and_store_give_the_same_frame(library: Kind, three: Three, question: dict[str, Any]):
    same(library, three(library.make({"t": ROWS, "n": list(range(7))}), **question))
    assert (three.created, three.lines) == (1, 5)


def test_every_kind_of_frame_goes_by_batches(any_kind: Kind, three: Three):
    same(any_kind, three(any_kind.make({"t": ROWS}), schema=Echo))


def test_a_series_goes_by_batches(library: Kind, three: Three):
    assert library.make_series is not None
    first, *others = (library.to_list(each) for each in three(library.make_series(ROWS, "t"), schema=Label))
    assert others == [first, first]
    assert [value is None for value in first] == [text is None for text in ROWS]


@pytest.mark.parametrize("values", [[], [None, None], ["row-1"]], ids=["no row", "nulls alone", "one row"])
def test_short_frames_go_by_batches(library: Kind, three: Three, values: list[Any]):
    same(library, three(library.make({"t": values}), schema=Echo))
    assert three.created == (values == ["row-1"])


def test_a_list_without_rows_makes_no_batch(provider: Provider):
    assert llmframe.map([], "J {t}", Label, client=provider, mode="batch") == []
    assert provider.batches.created == 0


def test_only_rows_of_where_are_asked(library: Kind, three: Three):
    frame = library.make({"t": ["row-1", "row-2", "row-3"], "ask": [True, False, True]})
    same(library, three(frame, schema=Echo, where=lambda rows: rows["ask"]))
    assert three.lines == 2


FAILURES: dict[str, tuple[Any, str]] = {
    "row-11": (Status(400, "context_length_exceeded", "too long"), "context_length"),
    "row-12": (Status(400, "content_filter", "blocked"), "content_filter"),
    "row-13": (Status(400, "invalid_value", "bad value", "messages"), "bad_request"),
    "row-14": (Status(413, "too_large"), "context_length"),
    "row-15": (Status(422, "unprocessable", "no", "messages"), "bad_request"),
    "row-16": (Refusal(), "refusal"),
    "row-17": (Filtered(), "content_filter"),
    "row-18": (Truncated(), "truncated"),
    "row-19": (Empty(), "empty"),
    "row-20": (ToolCalls([("other", {})]), ""),
    "row-8": (None, "invalid"),
    "row-9": (None, "invalid"),
}


def failing(provider: Provider) -> None:
    for text, (step, _) in FAILURES.items():
        if step is not None:
            provider.when(text, step)


@pytest.mark.parametrize("output_mode", ["auto", "tools"])
@pytest.mark.parametrize("fallback", ["batch", "live", None])
def test_what_fails_live_fails_so_by_batches(library: Kind, three: Three, fallback: Any, output_mode: Any):
    frame = library.make({"t": ["row-1", *FAILURES, "row-2"]})
    options = {"schema": Echo, "output_mode": output_mode, "reask": 1 if fallback else 0, "fallback": fallback}
    frames = three(frame, setup=failing, **options)
    same(library, frames)
    errors = library.to_dict(frames[1])["error"]
    assert [error is None for error in errors] == [True, *[False] * len(FAILURES), True]
    assert all(error.startswith(word) for error, (_, word) in zip(errors[1:-1], FAILURES.values(), strict=True))


@pytest.mark.parametrize(
    ("step", "word"),
    [(Status(400, "context_length_exceeded", "too long"), "context_length"), (Refusal(), "refusal")],
    ids=["an error file alone", "an output file alone"],
)
def test_rows_that_all_fail_do_so_as_live(library: Kind, three: Three, step: Any, word: str):
    frames = three(library.make({"t": ROWS}), setup=lambda provider: provider.always(step), schema=Echo)
    same(library, frames)
    assert all(error.startswith((word, "null")) for error in library.to_dict(frames[1])["error"])


@pytest.mark.parametrize("fallback", ["batch", "live"])
@pytest.mark.parametrize("reask", [0, 1, 2])
def test_an_invalid_reply_is_asked_again_as_often_as_live(fallback: Any, reask: int, monkeypatch: pytest.MonkeyPatch):
    hurry(monkeypatch)
    found: list[Any] = []
    for mode in ("live", "batch"):
        with Provider() as provider:
            provider.when("row-2", Text("{}"), Text("[]"))
            rows = [{"t": "row-1"}, {"t": "row-2"}]
            options: dict[str, Any] = {"reask": reask, "fallback": fallback, "meta": True}
            out = llmframe.map(rows, "J {t}", Echo, client=provider, mode=mode, **options)
            found.append([(row["id"], row["error"], row["llm_meta"]["attempts"]) for row in out])
    assert found[0] == found[1]


def test_a_reask_shows_the_reply_and_the_problem():
    seen: list[list[dict[str, Any]]] = []

    def answer(_: str, request: dict[str, Any]) -> Any:
        seen.append(request["messages"])
        return Text('{"id": 3}') if len(seen) == 1 else None

    with Provider(answer=answer) as provider:
        out = llmframe.map([{"t": "row-2"}], "J {t}", Echo, client=provider, mode="batch")
    assert out[0]["error"] is None
    first, (question, reply, problem) = seen
    assert first == [question]
    assert question["content"] == "J row-2"
    assert (reply["role"], reply["content"]) == ("assistant", '{"id": 3}')
    assert "label" in problem["content"]
