"""Formats by the names of files."""

from __future__ import annotations

import pytest

from llmframe.errors import UsageError
from llmframe.frames.files.formats import FORMATS, Named, checked_format, format_of, named, usual_extension


@pytest.mark.parametrize(
    ("name", "format_", "compression"),
    [
        ("a.parquet", "parquet", None),
        ("a.pq", "parquet", None),
        ("A.CSV", "csv", None),
        ("a.csv.gz", "csv", "gzip"),
        ("a.tsv.zst", "tsv", "zstd"),
        ("a.jsonl.bz2", "jsonl", "bz2"),
        ("a.ndjson.xz", "jsonl", "xz"),
        ("a.arrow", "ipc", None),
        ("a.arrows", "ipc", None),
        ("a.feather", "ipc", None),
        ("a.b.csv", "csv", None),
        ("a", None, None),
        ("a.txt", None, None),
    ],
)
def test_a_name_tells_format_and_compression(name, format_, compression):
    assert (named(name).format, named(name).compression) == (format_, compression)


def test_only_text_is_compressed_around():
    assert named("a.parquet.gz").format is None


def test_an_unknown_name_is_an_error_that_lists_the_extensions():
    with pytest.raises(UsageError, match=r"'r/x\.dat' doesn't tell a format; known extensions: \.parquet, .*format="):
        format_of("r/x.dat", "x.dat", None)


def test_json_is_told_how_lines_are_asked_for():
    with pytest.raises(UsageError, match="format='jsonl'"):
        format_of("x.json", "x.json", None)
    assert format_of("x.json", "x.json", "jsonl") == "jsonl"


def test_a_word_that_is_no_format_is_an_error_with_the_nearest():
    with pytest.raises(UsageError, match=r"format='parket'.*did you mean 'parquet'"):
        checked_format("parket")
    assert checked_format(None) is None


@pytest.mark.parametrize("format_", [each for each in FORMATS if each != "delta"])
def test_our_own_extension_of_a_format_is_read_as_that_format(format_):
    extension = usual_extension(format_)
    assert named("part-00000" + extension) == Named(format_, None, extension)
