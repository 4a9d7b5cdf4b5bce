"""CSV and JSON lines as bytes."""

from __future__ import annotations

import csv
import io
import json

import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as st

from llmframe.frames.files import text_sink
from llmframe.frames.files.text_sink import CsvSink, JsonlSink

TABLE = pa.table({"n": [1, 2, 3], "s": ["a", None, ""]})


def written(table, **options):
    file = io.BytesIO()
    sink = CsvSink(file, table.schema, **{"delimiter": ","} | options)
    sink.write(table)
    sink.close()
    return file.getvalue().decode()


def test_null_is_an_empty_cell_and_empty_text_has_quotes():
    assert written(TABLE) == 'n,s\n1,a\n2,\n3,""\n'


def test_quotes_stand_only_where_they_have_to():
    table = pa.table({"s": ["plain", "a,b", 'say "x"', "two\nlines", " blank", "semi;colon"]})
    assert written(table) == 's\nplain\n"a,b"\n"say ""x"""\n"two\nlines"\n" blank"\nsemi;colon\n'


def test_tabs_separate_cells_of_tsv():
    assert written(pa.table({"a": ["x\ty", "p,q"]}), delimiter="\t") == 'a\n"x\ty"\np,q\n'


def test_a_safe_file_has_no_formula_in_any_text_column_nor_in_a_name():
    table = pa.table({"=n": [-1, 2], "s": ["=1", "-5"], "t": [["=x"], None]})
    assert written(table, safe=True) == '"\'=n","s","t"\n-1,"\'=1","[""=x""]"\n2,"-5",\n'


def test_a_table_without_rows_leaves_the_header():
    assert written(TABLE.slice(0, 0)) == "n,s\n"


def test_slices_and_chunks_are_written_from_where_they_begin(monkeypatch):
    monkeypatch.setattr(text_sink, "WRITE_ROWS", 2)
    table = pa.concat_tables([TABLE, TABLE]).slice(1, 4)
    assert written(table) == 'n,s\n2,\n3,""\n1,a\n2,\n'


@given(
    st.lists(
        st.lists(st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\x00")), min_size=2, max_size=2)
    )
)
def test_pythons_own_reader_gives_the_cells_back(rows):
    table = pa.table({"a": pa.array([row[0] for row in rows], pa.string()), "b": pa.array([row[1] for row in rows])})
    table = table.cast(pa.schema([("a", pa.string()), ("b", pa.string())]))
    read = list(csv.reader(io.StringIO(written(table), newline="")))
    assert read == [["a", "b"], *rows]


def test_json_lines_are_compact_objects_with_nulls():
    file = io.BytesIO()
    sink = JsonlSink(file, TABLE.schema)
    sink.write(TABLE)
    sink.close()
    assert file.getvalue() == b'{"n":1,"s":"a"}\n{"n":2,"s":null}\n{"n":3,"s":""}\n'


@given(st.lists(st.dictionaries(st.sampled_from("ab"), st.none() | st.integers(-9, 9)), max_size=5))
def test_a_json_line_is_one_line_that_says_its_row(rows):
    schema = pa.schema([("a", pa.int64()), ("b", pa.int64())])
    file = io.BytesIO()
    JsonlSink(file, schema).write(pa.Table.from_pylist(rows, schema))
    assert [json.loads(line) for line in file.getvalue().splitlines()] == [
        {"a": row.get("a"), "b": row.get("b")} for row in rows
    ]
