"""Sources and targets as their callers use them, on this machine, in memory and in S3."""

from __future__ import annotations

from uuid import uuid4

import pyarrow as pa
import pytest

from llmframe.errors import StoreError
from llmframe.frames.files import Source, Target, open_source, open_target
from llmframe.frames.files.openings import storage_of

TABLE = pa.table({"id": [1, 2, 3], "text": ["a", None, "007"]}).replace_schema_metadata({"kept": "yes"})
ANSWERS = TABLE.append_column("label", pa.array(["x", "y", "x"]).dictionary_encode())


@pytest.fixture(params=["local", "memory", "s3"])
def place(request, tmp_path):
    """An address under which nothing stands."""
    if request.param == "local":
        return str(tmp_path)
    return f"memory://{uuid4().hex}" if request.param == "memory" else request.getfixturevalue("s3")


def run(target: Target, tables) -> None:
    """What a run does with its target."""
    names = []
    for number, table in enumerate(tables):
        names.append(target.part_name(number))
        target.write_part(names[-1], table)
        target.write_state({"done": number + 1})
    target.publish(names, ANSWERS.schema, token="run")
    target.clean()


def rows(source: Source, **options):
    return [row for table in source.tables(2, 10**6, **options) for row in table.to_pylist()]


@pytest.mark.parametrize("name", ["x.parquet", "x.arrow", "x.jsonl", "x.jsonl.gz"])
def test_what_a_run_writes_is_read_back_in_order(place, name):
    target = open_target(f"{place}/{name}")
    assert target.occupied() is None
    run(target, [ANSWERS, ANSWERS])
    source = open_source(f"{place}/{name}")
    assert rows(source) == ANSWERS.to_pylist() * 2
    assert rows(source, start=4) == ANSWERS.to_pylist()[1:]
    assert target.occupied() is not None


def test_the_parts_of_a_file_leave_nothing_behind(place):
    run(open_target(f"{place}/x.csv"), [ANSWERS])
    assert [name.rpartition("/")[2] for name in open_source(f"{place}/*").files] == ["x.csv"]


def test_a_second_run_finds_what_the_first_has_finished(place):
    first = open_target(f"{place}/x.parquet")
    size = first.write_part(first.part_name(0), ANSWERS)
    first.write_state({"done": 1})
    second = open_target(f"{place}/x.parquet")
    assert second.parts() == {first.part_name(0): size}
    assert second.read_state() == {"done": 1}


def test_the_parts_of_a_folder_are_its_files(place):
    run(open_target(f"{place}/out/", fallback="jsonl"), [ANSWERS, ANSWERS])
    source = open_source(f"{place}/out")
    assert [name.rpartition("/")[2] for name in source.files] == ["part-00000.jsonl", "part-00001.jsonl"]
    assert rows(source) == ANSWERS.to_pylist() * 2
    again = open_target(f"{place}/out", fallback="jsonl")
    assert again.occupied() is None
    again.remove_part(again.part_name(0))
    assert list(open_target(f"{place}/out/", format="jsonl").parts()) == ["part-00001.jsonl"]


def test_a_file_of_somebody_elses_in_a_folder_is_told(place):
    storage, folder = storage_of(f"{place}/out")
    storage.make_folder(folder)
    with storage.writer(storage.join(folder, "notes.csv"), through=storage.join(folder, "temporary")) as file:
        file.write(b"a")
    assert open_target(f"{place}/out/").occupied() == "a folder with 1 other file ('notes.csv')"


def test_an_unchanged_source_keeps_its_identity_and_a_changed_one_doesnt(place):
    run(open_target(f"{place}/x.csv"), [ANSWERS])
    before = open_source(f"{place}/x.csv").identity
    assert open_source(f"{place}/x.csv").identity == before
    target = open_target(f"{place}/x.csv")
    target.write_part(target.part_name(0), ANSWERS.slice(1))
    target.publish([target.part_name(0)], ANSWERS.schema, mode="replace")
    assert open_source(f"{place}/x.csv").identity != before


def test_an_output_without_rows_has_its_columns(place):
    run(open_target(f"{place}/x.parquet"), [])
    source = open_source(f"{place}/x.parquet")
    assert source.names == ["id", "text", "label"]
    assert source.schema.metadata == {b"kept": b"yes"}
    assert rows(source) == []


@pytest.mark.parametrize("where", ["local", "s3"])
def test_a_delta_table_gets_one_commit_however_often_it_is_published(where, request, tmp_path):
    place = f"{tmp_path if where == 'local' else request.getfixturevalue('s3')}/table"
    run(open_target(place, format="delta"), [ANSWERS, ANSWERS])
    again = open_target(place)
    again.write_part(again.part_name(0), ANSWERS)
    again.publish([again.part_name(0)], ANSWERS.schema, mode="append", token="run")
    assert again.occupied() == "a Delta table (version 0)"
    source = open_source(place)
    assert source.format == "delta"
    assert rows(source) == ANSWERS.to_pylist() * 2


def test_a_bucket_that_is_absent_is_an_error_that_names_the_place(s3):
    target = open_target("s3://bucket-that-nobody-made/x.csv")
    with pytest.raises(StoreError, match=r"'s3://bucket-that-nobody-made/.* can't be written") as caught:
        target.write_state({})
    assert caught.value.reason == "io"


def test_json_lines_come_back_as_they_were_beside_the_answers(tmp_path):
    lines = [
        '{"id":123456789012345678901,"b":1,"a":{"x":[1,{"y":null}],"é":"ü"}}',
        '{"id":"seven","a":{"x":[],"é":"\\n"},"extra":[1,"two",null]}',
        '{"id":null,"b":2,"a":{"x":[{"y":3}],"é":""}}',
    ]
    (tmp_path / "in.jsonl").write_text("\n\n".join(lines))
    source = open_source(tmp_path / "in.jsonl")
    [table] = source.tables(10, 10**6)
    target = open_target(tmp_path / "out.jsonl")
    target.write_part(target.part_name(0), table)
    target.publish([target.part_name(0)], source.schema)
    assert (tmp_path / "out.jsonl").read_text().splitlines() == lines
