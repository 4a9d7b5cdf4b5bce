"""`map_file`: the same rows in the same order with their answers, whatever the format and the size of parts."""

from __future__ import annotations

import threading
from pathlib import Path
from typing import Any, Literal

import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from pydantic import BaseModel

import llmframe
from llmframe.errors import LlmframeWarning, UsageError
from llmframe.testing import Provider, Status
from tests.contracts.files import KINDS, FileKind

Label = Literal["pos", "neg"]


class Verdict(BaseModel):
    label: Label
    echo: str


def rows(count: int) -> pa.Table:
    return pa.table({"id": list(range(count)), "t": [f"row-{number} " for number in range(count)]})


@pytest.fixture
def source(tmp_path: Path) -> Path:
    """Twenty rows in row groups of seven."""
    path = tmp_path / "in.parquet"
    pq.write_table(rows(20), path, row_group_size=7)
    return path


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.name)
def test_every_format_comes_out_as_it_went_in_with_the_answers_at_the_end(
    tmp_path: Path, provider: Provider, kind: FileKind
):
    source, target = tmp_path / f"in{kind.extension}", tmp_path / f"out{kind.extension}"
    kind.write(rows(20), source)
    given_ = {"target_format": "delta"} if kind.name == "delta" else {}
    report = llmframe.map_file(source, target, "Judge {t}", Verdict, client=provider, rows=6, **given_)
    assert (report.rows, report.answered, report.state, report.output) == (20, 20, "done", str(target))
    before, after = kind.read(source), kind.read(target)
    assert list(after) == ["id", "t", "label", "echo", "error"]
    assert {name: after[name] for name in before} == before
    assert after["echo"] == [f"row-{number}" for number in range(20)]
    assert after["error"] == [None] * 20
    assert provider.requests == 20
    assert [path.name for path in tmp_path.iterdir() if "llmframe" in path.name] == []


def test_one_format_becomes_another(tmp_path: Path, source: Path, provider: Provider):
    llmframe.map_file(source, tmp_path / "out.csv.gz", "Judge {t}", Verdict, client=provider)
    assert pl.read_csv(tmp_path / "out.csv.gz")["echo"].to_list() == [f"row-{number}" for number in range(20)]


def test_schema_and_metadata_of_the_other_columns_stay(tmp_path: Path, provider: Provider):
    field = pa.field("t", pa.dictionary(pa.int8(), pa.string()), nullable=False, metadata={"unit": "none"})
    schema = pa.schema([field, pa.field("at", pa.timestamp("ns", "CET"))], metadata={"owner": "me"})
    pq.write_table(
        pa.table([pa.array(["a", "b"]).dictionary_encode().cast(field.type), [1, 2]], schema), tmp_path / "i.parquet"
    )
    llmframe.map_file(tmp_path / "i.parquet", tmp_path / "o.parquet", "Judge {t}", Label, client=provider)
    before, after = pq.read_schema(tmp_path / "i.parquet"), pq.read_schema(tmp_path / "o.parquet")
    assert [after.field(name).equals(before.field(name), check_metadata=True) for name in before.names] == [True, True]
    assert after.metadata[b"owner"] == b"me"
    assert after.names == ["t", "at", "response", "error"]
    assert after.field("response").type == pa.string()


def test_an_index_of_pandas_comes_back(tmp_path: Path, provider: Provider):
    df = pd.DataFrame({"t": ["a", "b", "c"]}, index=pd.Index([3, 1, 3], name="key"))
    df.to_parquet(tmp_path / "i.parquet")
    llmframe.map_file(tmp_path / "i.parquet", tmp_path / "o.parquet", "Judge {t}", Label, client=provider, rows=2)
    out = pd.read_parquet(tmp_path / "o.parquet")
    pd.testing.assert_frame_equal(out[["t"]], df)
    assert list(out.columns) == ["t", "response", "error"]


def test_labels_of_an_enum_are_the_same_dictionary_in_all_parts(tmp_path: Path, source: Path, provider: Provider):
    llmframe.map_file(source, tmp_path / "o.parquet", "Judge {t}", Label, client=provider, rows=3, labels="enum")
    column = pq.read_table(tmp_path / "o.parquet")["response"]
    assert column.type == pa.dictionary(pa.int32(), pa.string())


@given(shape=st.tuples(st.integers(0, 30), st.integers(1, 12), st.integers(1, 12), st.integers(1, 30)))
@settings(max_examples=20, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_rows_and_order_are_those_of_map_whatever_the_parts(
    tmp_path: Path, provider: Provider, shape: tuple[int, int, int, int]
):
    count, part, group, distinct = shape
    table = pa.table(
        {
            "n": pa.array(range(count), pa.int64()),
            "t": pa.array([f"row-{i % distinct} " for i in range(count)], pa.string()),
        }
    )
    pq.write_table(table, tmp_path / "i.parquet", row_group_size=group)
    ask: dict[str, Any] = {"schema": Verdict, "client": provider, "labels": "string", "prompt_template": "Judge {t}"}
    report = llmframe.map_file(tmp_path / "i.parquet", tmp_path / "o.parquet", rows=part, exists="replace", **ask)
    assert report.rows == count
    assert pq.read_table(tmp_path / "o.parquet").equals(llmframe.map(table, **ask))


def test_equal_prompts_of_different_parts_are_asked_once(tmp_path: Path, provider: Provider):
    pq.write_table(pa.table({"t": ["row-1 ", "row-2 "] * 10}), tmp_path / "i.parquet")
    report = llmframe.map_file(tmp_path / "i.parquet", tmp_path / "o.parquet", "J {t}", Label, client=provider, rows=2)
    assert provider.requests == 2
    assert (report.rows, report.answered, report.requests) == (20, 20, 2)


def test_a_file_without_rows_gives_one_with_the_new_columns(tmp_path: Path, provider: Provider):
    pq.write_table(rows(0), tmp_path / "i.parquet")
    report = llmframe.map_file(tmp_path / "i.parquet", tmp_path / "o.parquet", "J {t}", Label, client=provider)
    out = pq.read_table(tmp_path / "o.parquet")
    assert (out.num_rows, out.schema.names, report.rows) == (0, ["id", "t", "response", "error"], 0)


def test_a_folder_gets_part_files_in_order(tmp_path: Path, source: Path, provider: Provider):
    llmframe.map_file(source, tmp_path / "out", "Judge {t}", Verdict, client=provider, rows=6)
    names = sorted(path.name for path in (tmp_path / "out").iterdir() if path.name[0] not in "._")
    assert names == [f"part-0000{number}.parquet" for number in range(4)]
    assert pq.read_table(tmp_path / "out")["id"].to_pylist() == list(range(20))


def test_the_first_request_goes_out_before_the_third_table_is_read(tmp_path: Path, provider: Provider):
    pq.write_table(rows(3000), tmp_path / "i.parquet")
    provider.hold()
    read: list[int] = []

    def seen(table: pa.Table) -> list[bool]:
        read.append(table.num_rows)
        return [True] * table.num_rows

    def run() -> None:
        with pytest.warns(LlmframeWarning):
            llmframe.map_file(
                tmp_path / "i.parquet", tmp_path / "o.parquet", "J {t}", Label, client=provider, rows=600, where=seen
            )

    thread = threading.Thread(target=run)
    thread.start()
    provider.wait_in_flight(1)
    assert read in ([0, 600], [0, 600, 600])  # the first call has a table without rows, before the run
    llmframe.cancel()
    thread.join()
    assert len(read) <= 3
    assert not (tmp_path / "o.parquet").exists()


def test_rows_that_fail_are_data_and_counted_once(tmp_path: Path, source: Path):
    with (
        Provider(answer=lambda prompt, _: Status(400) if "row-7 " in prompt else None) as provider,
        pytest.warns(LlmframeWarning, match="1 of 20 rows failed") as warned,
    ):
        report = llmframe.map_file(source, tmp_path / "o.parquet", "J {t}", Verdict, client=provider, rows=4)
    assert (report.state, dict(report.failed), report.answered) == ("done", {"bad_request": 1}, 19)
    assert len(warned) == 1
    assert llmframe.last_run().to_dict() == report.to_dict()
    errors = pq.read_table(tmp_path / "o.parquet")["error"].to_pylist()
    assert [row for row, error in enumerate(errors) if error is not None] == [7]


def test_nulls_are_skipped_and_where_chooses(tmp_path: Path, provider: Provider):
    pq.write_table(pa.table({"t": ["a", None, "b", "c"], "n": [1, 1, 1, 2]}), tmp_path / "i.parquet")
    ask: dict[str, Any] = {"schema": Label, "client": provider, "rows": 2, "exists": "replace"}
    for where in (pl.col("n") == 1, lambda table: [n == 1 for n in table["n"].to_pylist()]):
        with pytest.warns(LlmframeWarning, match="1 null"):
            report = llmframe.map_file(tmp_path / "i.parquet", tmp_path / "o.parquet", "J {t}", where=where, **ask)
        out = pq.read_table(tmp_path / "o.parquet").to_pydict()
        assert [value is not None for value in out["response"]] == [True, False, True, False]
        assert out["error"] == [None, "null: missing value in 't'", None, None]
        assert (report.not_asked, report.answered) == (1, 2)


def test_columns_are_replaced_in_place_and_others_keep_their_values(tmp_path: Path, provider: Provider):
    pq.write_table(pa.table({"response": ["old", "old"], "t": ["a", "b"], "error": ["e", "e"]}), tmp_path / "i.parquet")
    ask: dict[str, Any] = {"schema": str, "client": provider, "overwrite": True, "exists": "replace"}
    llmframe.map_file(tmp_path / "i.parquet", tmp_path / "o.parquet", "J {t}", where=pl.col("t") == "a", **ask)
    out = pq.read_table(tmp_path / "o.parquet").to_pydict()
    assert list(out) == ["response", "t", "error"]
    assert (out["response"][0] != "old", out["response"][1], out["error"]) == (True, "old", [None, "e"])
    with pytest.raises(UsageError, match="'response', which are string and would have to be int64"):
        llmframe.map_file(
            tmp_path / "i.parquet", tmp_path / "o.parquet", "J {t}", where=pl.col("t") == "a", **ask | {"schema": int}
        )


async def test_async_code_awaits_the_same(tmp_path: Path, source: Path, provider: Provider):
    report = await llmframe.amap_file(source, tmp_path / "o.parquet", "J {t}", Verdict, client=provider, rows=6)
    assert (report.answered, report.output) == (20, str(tmp_path / "o.parquet"))
    assert pq.read_table(tmp_path / "o.parquet")["echo"].to_pylist() == [f"row-{number}" for number in range(20)]


def test_progress_tells_of_all_parts_in_the_callers_thread(tmp_path: Path, source: Path, provider: Provider):
    seen: list[tuple[int, int]] = []
    llmframe.map_file(
        source,
        tmp_path / "o.parquet",
        "J {t}",
        Label,
        client=provider,
        rows=6,
        progress=lambda progress: seen.append((threading.get_ident(), progress.done)),
    )
    assert {thread for thread, _ in seen} == {threading.get_ident()}
    assert max(done for _, done in seen) == 20


def test_a_plan_reads_the_file_once_and_counts_equal_prompts_of_different_parts_once(
    tmp_path: Path, provider: Provider
):
    table = pa.table({"t": ["row-1 ", "row-2 ", None, "row-1 ", "row-3 "]})
    pq.write_table(table, tmp_path / "i.parquet")
    plan = llmframe.plan_file(tmp_path / "i.parquet", "J {t}", Label, client=provider, rows=2)
    whole = llmframe.plan(table, "J {t}", Label, client=provider)
    assert (plan.rows, plan.null_rows, plan.requests, plan.cached) == (5, 1, 3, 0)
    assert plan == whole
    assert provider.requests == 0


def test_a_lazy_query_streams_from_file_to_file_in_order(tmp_path: Path, source: Path, provider: Provider):
    provider.hold()
    lazy = pl.scan_parquet(source).llm.map("J {t}", Verdict, client=provider, labels="string")
    thread = threading.Thread(target=lambda: lazy.sink_parquet(tmp_path / "o.parquet", row_group_size=4))
    thread.start()
    provider.wait_in_flight(1)  # nothing has been collected
    provider.release()
    thread.join()
    out = pl.read_parquet(tmp_path / "o.parquet")
    assert out["id"].to_list() == list(range(20))
    assert out["echo"].to_list() == [f"row-{number}" for number in range(20)]
    lazy.sink_parquet(tmp_path / "again.parquet")
    assert provider.requests == 20
