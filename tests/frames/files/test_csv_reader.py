from __future__ import annotations

import bz2
import gzip
import lzma

import pytest

from llmframe.errors import UsageError
from llmframe.frames.files import csv_reader
from llmframe.frames.files.sources import open_source


def read(path, **options):
    return [row for table in open_source(path, **options).tables(1000, 2**30) for row in table.to_pylist()]


def made(tmp_path, content: str | bytes, name: str = "a.csv"):
    path = tmp_path / name
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return path


def test_cells_stay_as_they_stand(tmp_path):
    path = made(tmp_path, "id,price,flag,day\n007,1.10,true,2024-01-01\n 8,1e3,NaN,NULL\n")
    assert read(path) == [
        {"id": "007", "price": "1.10", "flag": "true", "day": "2024-01-01"},
        {"id": " 8", "price": "1e3", "flag": "NaN", "day": "NULL"},
    ]


def test_an_empty_cell_is_null_and_one_in_quotes_is_empty_text(tmp_path):
    assert read(made(tmp_path, 'a,b\n,""\n')) == [{"a": None, "b": ""}]


def test_quotes_hold_line_breaks_delimiters_and_quotes(tmp_path):
    assert read(made(tmp_path, 'a,b\r\n"x\ny","1,""2"""\r\n')) == [{"a": "x\ny", "b": '1,"2"'}]


def test_a_byte_order_mark_and_blank_lines_are_no_content(tmp_path):
    assert read(made(tmp_path, b"\xef\xbb\xbf\n\na,b\n1,2\n\n3,4\n")) == [{"a": "1", "b": "2"}, {"a": "3", "b": "4"}]


def test_names_in_quotes_may_have_line_breaks(tmp_path):
    assert read(made(tmp_path, '"a\nz",b\n1,2\n')) == [{"a\nz": "1", "b": "2"}]


def test_tabs_are_between_the_cells_of_tsv(tmp_path):
    assert read(made(tmp_path, "a\tb\n1,5\t2\n", "a.tsv")) == [{"a": "1,5", "b": "2"}]


@pytest.mark.parametrize(("end", "compress"), [(".gz", gzip.compress), (".bz2", bz2.compress), (".xz", lzma.compress)])
def test_files_may_be_compressed(tmp_path, end, compress):
    assert read(made(tmp_path, compress(b"a\n1\n") + compress(b"2\n"), f"a.csv{end}")) == [{"a": "1"}, {"a": "2"}]


def test_a_name_that_stands_twice_is_refused(tmp_path):
    with pytest.raises(UsageError, match=r"a\.csv' has two columns named 'x'"):
        open_source(made(tmp_path, "x,y,x\n1,2,3\n"))


def test_a_row_with_another_number_of_cells_is_named_by_file_and_line(tmp_path):
    with pytest.raises(UsageError, match=r"a\.csv': line 3 .* has 3 cells, the header has 2") as caught:
        read(made(tmp_path, "a,b\n1,2\nsecret,4,5\n"))
    assert "secret" not in str(caught.value)


def test_text_of_another_encoding_names_the_column(tmp_path):
    with pytest.raises(UsageError, match=r"a\.csv' isn't UTF-8 text \(column 'b'\)"):
        read(made(tmp_path, b"a,b\n1,\xe9\n"))
    with pytest.raises(UsageError, match=r"isn't UTF-8 text \(its header\)"):
        read(made(tmp_path, b"a,\xe9\n1,2\n"))


def test_an_empty_file_has_no_columns(tmp_path):
    with pytest.raises(UsageError, match=r"a\.csv' is empty"):
        open_source(made(tmp_path, "\n"))


def test_a_header_alone_has_no_rows(tmp_path):
    for content in ("a,b", "a,b\n", "a,b\r\n\r\n\n", "\ufeffa,b"):
        assert read(made(tmp_path, content)) == []


def test_a_quote_that_is_never_closed_is_told(tmp_path, monkeypatch):
    monkeypatch.setattr(csv_reader, "BLOCK_BYTES", 2**10)
    path = made(tmp_path, 'a,b\n1,"' + "x" * 5000 + "\n")
    with pytest.raises(UsageError, match="a double quote that is never closed") as caught:
        read(path)
    assert "xxx" not in str(caught.value)


@pytest.mark.parametrize("compress", [bytes, gzip.compress])
@pytest.mark.parametrize("end", ['"x\n2,y\n', '"x', '"x\r\n', '"x ""y', '"2,y\n\n'])
def test_a_file_that_ends_within_a_cell_is_refused(tmp_path, end, compress):
    """Its rows after the quote would be one cell of one row."""
    path = made(tmp_path, compress(f"a,b\n1,{end}".encode()), f"a.csv{'.gz' if compress is gzip.compress else ''}")
    with pytest.raises(UsageError, match=r"ends within a cell: a double quote is never closed"):
        read(path)


@pytest.mark.parametrize(
    ("end", "cell"),
    [
        ('"x\ny"', "x\ny"),
        ('"x\n"\r\n\n', "x\n"),
        ('5" wide', '5" wide'),
        ('""', ""),
        ("", None),
        ('"x""y"', 'x"y'),
        ('"x"y', "xy"),
    ],
)
def test_one_that_doesnt_is_read(tmp_path, end, cell):
    assert read(made(tmp_path, f"a,b\n1,{end}")) == [{"a": "1", "b": cell}]


def test_types_are_checked_cell_by_cell(tmp_path):
    path = made(tmp_path, 'n,text\n1,a\n,b\n"",c\nsecret,d\n')
    with pytest.raises(UsageError, match=r"a\.csv': row 4 .* column 'n' isn't int64") as caught:
        read(path, types={"n": "int"})
    assert "secret" not in str(caught.value)
    assert [row["n"] for row in read(made(tmp_path, 'n,text\n1,a\n,b\n"",c\n'), types={"n": "int"})] == [1, None, None]


def test_rows_are_counted_over_blocks(tmp_path, monkeypatch):
    monkeypatch.setattr(csv_reader, "BLOCK_BYTES", 64)
    path = made(tmp_path, "n,text\n" + "1,aaaaaaaa\n" * 20 + "x,b\n")
    with pytest.raises(UsageError, match=r"row 21 "):
        read(path, types={"n": "int"})
