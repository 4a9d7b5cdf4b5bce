"""Files that an address means."""

from __future__ import annotations

import pytest

from llmframe.errors import UsageError
from llmframe.frames.files.listing import in_order, listed
from llmframe.frames.files.local_storage import LocalStorage
from llmframe.frames.files.ports import FileInfo

STORAGE = LocalStorage()


@pytest.fixture
def folder(tmp_path):
    def make(*names):
        for name in names:
            path = tmp_path / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(b"")
        return tmp_path

    return make


def names(path, format_=None):
    return [file.name for file in listed(STORAGE, str(path), format_).files]


def test_one_file_is_itself(folder):
    assert names(folder("a.csv", "b.csv") / "a.csv") == ["a.csv"]


def test_a_folder_is_its_files_in_natural_order(folder):
    assert names(folder("p-10.csv", "p-9.csv", "p-1.csv")) == ["p-1.csv", "p-9.csv", "p-10.csv"]


def test_hidden_and_marking_files_are_left_out(folder):
    files = ("a.csv", ".b.csv", "_c.csv", "_SUCCESS", ".work/d.csv", "_temporary/e.csv", "README.md")
    assert names(folder(*files)) == ["a.csv"]


def test_partitions_are_walked(folder):
    found = names(folder("y=2024/m=2/a.csv", "y=2024/m=10/a.csv", "y=2023/m=1/a.csv"))
    assert found == ["y=2023/m=1/a.csv", "y=2024/m=2/a.csv", "y=2024/m=10/a.csv"]


def test_a_subfolder_that_is_no_partition_is_an_error_that_offers_a_pattern(folder):
    with pytest.raises(UsageError, match=r"subfolder 'old' that isn't a partition.*\*\*"):
        listed(STORAGE, str(folder("a.csv", "old/b.csv")), None)


def test_a_pattern_is_what_it_matches(folder):
    place = folder("a-1.csv", "a-2.csv", "b.csv", "sub/a-3.csv", "_a-4.csv")
    assert names(place / "a-*.csv") == ["a-1.csv", "a-2.csv"]
    assert names(place / "*.csv") == ["a-1.csv", "a-2.csv", "b.csv"]
    assert names(place / "**" / "a-*.csv") == ["a-1.csv", "a-2.csv", "sub/a-3.csv"]
    assert names(place / "_a*.csv") == ["_a-4.csv"]


def test_a_name_with_brackets_is_taken_as_it_stands_when_there_is_such_a_file(folder):
    assert names(folder("a[1].csv", "a1.csv") / "a[1].csv") == ["a[1].csv"]


def test_several_formats_are_an_error_that_names_a_file_of_each(folder):
    place = folder("a.csv", "b.parquet")
    with pytest.raises(UsageError, match=r"'a.csv' is csv, 'b.parquet' is parquet"):
        listed(STORAGE, str(place), None)
    assert names(place, "parquet") == ["b.parquet"]


def test_files_without_an_extension_are_read_when_the_format_is_said(folder):
    assert names(folder("part-0", "part-1"), "jsonl") == ["part-0", "part-1"]


@pytest.mark.parametrize(
    ("asked", "message"),
    [
        ("", "no files of a known format"),
        ("x*.csv", r"no file matches '.*x\*\.csv'"),
        ("reviws.csv", r"no file or folder at '.*reviws\.csv'; did you mean 'reviews\.txt'"),
    ],
)
def test_nothing_to_read_is_an_error_that_names_what_was_looked_for(folder, asked, message):
    with pytest.raises(UsageError, match=message):
        listed(STORAGE, str(folder("reviews.txt") / asked), None)


def test_a_folder_with_a_delta_log_is_a_delta_table_and_nothing_else(folder):
    place = folder("t/_delta_log/0.json", "t/a.parquet") / "t"
    assert listed(STORAGE, str(place), None).format == "delta"
    with pytest.raises(UsageError, match="is a Delta table"):
        listed(STORAGE, str(place), "parquet")


def test_numbers_of_any_length_have_an_order():
    files = [FileInfo(name, name, 0) for name in ("9" * 30, "1", "a1b", "a", "²")]
    assert in_order(files)[0].name == "1"
