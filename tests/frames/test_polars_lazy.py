"""An answer as a polars expression: typed ahead, handed over in batches, kept out of reach of rows that go."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from llmframe.core.columns import Column, ColumnType
from llmframe.errors import UsageError
from llmframe.frames.base import Frame
from llmframe.frames.polars_lazy import column_names, map_expression, map_lazy

PARTS = [("size", ColumnType("int")), ("word", ColumnType("enum", labels=("short", "long")))]
STRUCT = pl.Struct({"size": pl.Int64, "word": pl.Enum(["short", "long"])})


class Answerer:
    """Answers with the length of the first column, and counts what it is handed."""

    def __init__(self) -> None:
        self.batches: list[int] = []
        self.asked: list[object] = []
        self.names: set[str] = set()
        self._lock = threading.Lock()

    def __call__(self, frame: Frame, asked: list[bool] | None) -> Sequence[Column]:
        rows = len(frame)
        (cells,) = frame.cells([0], 0, rows)
        with self._lock:
            self.batches.append(rows)
            self.names.update(frame.names)
            self.asked += [cell for row, cell in enumerate(cells) if asked is None or asked[row]]
        sizes: list[object] = [
            len(str(cell)) if asked is None or asked[row] else None for row, cell in enumerate(cells)
        ]
        words: list[object] = [None if size is None else "short" if size == 1 else "long" for size in sizes]
        return [Column("size", PARTS[0][1], sizes), Column("word", PARTS[1][1], words)]


@pytest.fixture
def answer() -> Answerer:
    return Answerer()


def query(answer: Answerer, frame: pl.LazyFrame | None = None, **options: Any) -> pl.LazyFrame:
    said: dict[str, Any] = {
        "used": ["t"],
        "parts": PARTS,
        "names": ["size", "word"],
        "where": None,
        "keep": False,
        **options,
    }
    return map_lazy(LAZY if frame is None else frame, answer, **said)


LAZY = pl.LazyFrame({"t": ["a", "bb", "c"], "n": [1, 2, 3]})


def test_the_columns_of_a_query_are_known_without_running_it():
    assert column_names(LAZY.with_columns(x=1)) == ["t", "n", "x"]


def test_dtypes_are_known_without_a_call(answer: Answerer):
    assert query(answer).collect_schema() == {"t": pl.String, "n": pl.Int64, **dict(STRUCT)}
    expression = map_expression(pl.col("t"), answer, PARTS, name="x", where=None)
    assert LAZY.select(expression).collect_schema() == {"x": STRUCT}
    assert answer.batches == []


def test_answers_become_columns(answer: Answerer):
    out = query(answer).collect()
    assert out["size"].to_list() == [1, 2, 1]
    assert out["word"].to_list() == ["short", "long", "short"]
    assert answer.names == {"t"}


def test_answers_become_one_struct(answer: Answerer):
    out = query(answer, names=["x"]).collect()
    assert out.schema["x"] == STRUCT
    assert out["x"].to_list()[1] == {"size": 2, "word": "long"}


@pytest.mark.parametrize("engine", ["in-memory", "streaming"])
@pytest.mark.parametrize(
    ("narrow", "asked"),
    [
        (lambda q: q.filter(pl.col("n") > 2), ["c"]),
        (lambda q: q.head(1), ["a"]),
        (lambda q: q.select("n"), []),
        (lambda q: q.tail(1).select("word"), ["c"]),
    ],
    ids=["filter", "head", "select", "tail"],
)
def test_rows_and_columns_that_go_are_not_handed_over(answer: Answerer, engine: Any, narrow: Any, asked: list[str]):
    narrow(query(answer)).collect(engine=engine)
    assert answer.asked == asked


def test_an_expression_is_named_and_typed(answer: Answerer):
    for source in (pl.col("t"), pl.struct("t"), pl.col("t").str.to_uppercase()):
        out = LAZY.with_columns(map_expression(source, answer, PARTS, name="x", where=None)).collect()
        assert out.columns == ["t", "n", "x"]
        assert out.schema["x"] == STRUCT


def test_a_struct_is_handed_over_as_columns(answer: Answerer):
    LAZY.select(map_expression(pl.struct("t", "n"), answer, PARTS, name="x", where=None)).collect()
    assert answer.names == {"t", "n"}


def test_rows_outside_where_have_no_answer(answer: Answerer):
    expression = map_expression(pl.col("t"), answer, PARTS, name="x", where=pl.col("n") > 1)
    assert LAZY.select(expression).collect()["x"].to_list() == [
        None,
        {"size": 2, "word": "long"},
        {"size": 1, "word": "short"},
    ]
    assert sorted(map(str, answer.asked)) == ["bb", "c"]
    assert answer.names == {"t"}


def test_what_is_no_condition_is_refused(answer: Answerer):
    with pytest.raises(UsageError, match="must be a polars expression, got str"):
        query(answer, where="n > 1")
    with pytest.raises(UsageError, match=r"polars\.Expr of Int64"):
        query(answer, where=pl.col("n")).collect()


def test_kept_values_stay_and_are_looked_at_first(answer: Answerer):
    frame = LAZY.with_columns(word=pl.lit("long"), size=pl.lit(7))
    out = query(answer, frame, where=pl.col("n") == 1, keep=True).collect()
    assert out["size"].to_list() == [1, 7, 7]
    assert out["word"].to_list() == ["short", "long", "long"]
    # a batch of few rows has one for each core: of these it has two or more, or the last, so every one has a misfit
    misfit = pl.LazyFrame({"t": ["a", "b"] * 5000, "n": [1, 2] * 5000, "word": ["medium"] * 10_000})
    seen = len(answer.batches)
    with pytest.raises(pl.exceptions.InvalidOperationError, match="medium"):
        query(answer, misfit, where=pl.col("n") == 1, keep=True).collect(engine="streaming")
    assert len(answer.batches) == seen


def test_without_keep_other_rows_are_null(answer: Answerer):
    frame = LAZY.with_columns(word=pl.lit("long"))
    out = query(answer, frame, where=pl.col("n") == 1).collect()
    assert out["word"].to_list() == ["short", None, None]


def test_without_a_used_column_there_is_still_an_answer_a_row(answer: Answerer):
    assert query(answer, used=[]).collect().height == 3
    assert sum(answer.batches) == 3


def test_a_file_of_many_rows_is_written_batch_by_batch(answer: Answerer, tmp_path: Path):
    rows = 300_000
    frame = pl.LazyFrame({"t": pl.int_range(rows, eager=True) % 50})
    frame.sink_parquet(tmp_path / "in.parquet", row_group_size=50_000)
    query(answer, pl.scan_parquet(tmp_path / "in.parquet")).sink_parquet(tmp_path / "out.parquet")
    assert sum(answer.batches) == rows
    assert max(answer.batches) <= rows // 2  # far less on most machines: a batch is a morsel, at most a row group
    assert pl.scan_parquet(tmp_path / "out.parquet").select(pl.len()).collect().item() == rows
