from __future__ import annotations

import gzip
import json

import pytest

from llmframe.errors import UsageError
from llmframe.frames.files import jsonl_reader
from llmframe.frames.files.sources import open_source


def made(tmp_path, content: str | bytes, name: str = "a.jsonl"):
    path = tmp_path / name
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return path


def read(path):
    return [row for table in open_source(path).tables(1000, 2**30) for row in table.to_pylist()]


def test_a_field_of_the_last_line_has_its_column(tmp_path, monkeypatch):
    monkeypatch.setattr(jsonl_reader, "BATCH_ROWS", 2)
    rows = read(made(tmp_path, '{"a":1}\n{"a":2}\n{"a":null}\n{"a":4,"b":"x"}\n'))
    assert rows == [{"a": 1, "b": None}, {"a": 2, "b": None}, {"a": None, "b": None}, {"a": 4, "b": "x"}]


def test_types_are_found_over_all_lines_of_all_files(tmp_path):
    made(tmp_path, '{"n":1,"list":[1]}\n', "a.jsonl")
    made(tmp_path, '{"n":2.5,"list":[{"k":"v"}]}\n', "b.ndjson")
    source = open_source(tmp_path)
    assert [(field.name, str(field.type)) for field in source.schema] == [
        ("n", "double"),
        ("list", "list<item: string>"),
    ]
    assert read(tmp_path) == [{"n": 1.0, "list": ["1"]}, {"n": 2.5, "list": ['{"k":"v"}']}]


def test_nested_objects_and_lists_keep_their_types(tmp_path):
    rows = [{"o": {"k": [1, 2], "t": "ü"}}, {"o": {"k": [], "t": None}}, {"o": None}]
    path = made(tmp_path, "\n".join(json.dumps(row) for row in rows))
    assert read(path) == rows


def test_what_fits_no_type_is_json_text(tmp_path):
    path = made(tmp_path, '{"v":1,"big":1}\n{"v":"x","big":9223372036854775808}\n{"v":{"k":1.50},"big":null}\n')
    assert read(path) == [
        {"v": "1", "big": "1"},
        {"v": '"x"', "big": "9223372036854775808"},
        {"v": '{"k":1.5}', "big": None},
    ]


def test_blank_lines_and_a_byte_order_mark_are_no_rows(tmp_path):
    source = open_source(made(tmp_path, b'\xef\xbb\xbf{"a":1}\r\n\n  \r\n{"a":2}'))
    assert source.rows == 2
    assert [table.to_pydict() for table in source.tables(9, 2**20)] == [{"a": [1, 2]}]


def test_lines_may_be_compressed(tmp_path):
    assert read(made(tmp_path, gzip.compress(b'{"a":1}\n'), "a.jsonl.gz")) == [{"a": 1}]


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        (b'{"a": secret', "isn't JSON"),
        (b'["secret"]', "isn't a JSON object but a list"),
        (b'"secret"', "isn't a JSON object but a single value"),
        (b'{"a": "secret\xe9"}', "isn't UTF-8 text"),
        (b'{"a": "secret\\ud800"}', "half a surrogate pair"),
    ],
)
def test_a_bad_line_is_named_by_file_and_number_and_not_quoted(tmp_path, line, reason):
    with pytest.raises(UsageError, match=r"a\.jsonl': line 3 ") as caught:
        open_source(made(tmp_path, b'{"a":"x"}\n\n' + line + b"\n"))
    assert reason in str(caught.value)
    assert "secret" not in str(caught.value)


def test_a_file_cut_short_by_its_compression_is_named(tmp_path):
    whole = gzip.compress(b'{"a":1}\n' * 500)
    with pytest.raises(UsageError, match=r"a\.jsonl\.gz' can't be read"):
        open_source(made(tmp_path, whole[:-9], "a.jsonl.gz"))


@pytest.mark.parametrize("line", [b'{"a":"text"}', b'{"a":{"k":"text"}}'])
def test_a_file_that_changes_after_its_types_were_found_is_told(tmp_path, line):
    path = made(tmp_path, '{"a":{"k":1}}\n')
    source = open_source(path)
    path.write_bytes(line)
    with pytest.raises(UsageError, match=r"a\.jsonl' has changed while it was read"):
        list(source.tables(9, 2**20))


def test_keys_without_end_are_data(tmp_path):
    content = "".join(json.dumps({f"k{n}": 1}) + "\n" for n in range(1001))
    with pytest.raises(UsageError, match="more than 1000 different keys"):
        open_source(made(tmp_path, content))
    nested = "".join(json.dumps({"by_id": {f"k{n}": n}}) + "\n" for n in range(1001))
    assert read(made(tmp_path, nested))[1000] == {"by_id": '{"k1000":1000}'}
