from __future__ import annotations

import gc
import io
import threading
from functools import partial

import pyarrow as pa
import pyarrow.csv as arrow_csv
import pytest

from llmframe.frames.files import lending
from llmframe.frames.files.lending import lent

ROW = b"1,2\n"
BLOCK = 64 * ROW


class Slow(io.BytesIO):
    """A file whose second block comes when it may."""

    def __init__(self) -> None:
        super().__init__(b"a,b\n" + BLOCK * 4)
        self.may, self.is_asked = threading.Event(), threading.Event()

    def readinto(self, buffer, /) -> int:
        if self.tell() >= len(BLOCK):
            self.is_asked.set()
            self.may.wait()
        return super().readinto(buffer)


opened = partial(arrow_csv.open_csv, read_options=arrow_csv.ReadOptions(use_threads=False, block_size=len(BLOCK)))


def views() -> list[object]:
    return [each for each in gc.get_objects() if isinstance(each, lending._View)]


def test_what_is_read_is_the_file_which_stays_open():
    file = io.BytesIO(b"a,b\n" + ROW)
    with lent(file, opened) as readers:
        assert readers.pop().read_all().to_pylist() == [{"a": 1, "b": 2}]
    assert not file.closed
    assert views() == []


def test_nothing_of_what_is_read_is_pythons():
    """Its end needs Python, and may come in a thread of pyarrow's when there is none any more."""
    view = lending._View(io.BytesIO(b"12345"))
    first, rest = view.read_buffer(3), view.read_buffer(3)
    assert (first.to_pybytes(), rest.to_pybytes()) == (b"123", b"45")
    assert view.read_buffer(3).size == 0
    assert (first.parent, rest.parent) == (None, None)


def test_a_thread_that_still_reads_is_waited_for():
    file = Slow()
    threading.Timer(0.2, file.may.set).start()
    with lent(file, opened) as readers:
        assert file.is_asked.wait(10)
        del readers
    assert file.may.is_set()
    assert views() == []


def test_one_who_keeps_the_reader_is_not_waited_for_for_ever(monkeypatch):
    monkeypatch.setattr(lending, "LONGEST_WAIT", 0.01)
    with lent(io.BytesIO(b"a,b\n" + ROW), opened) as readers:
        kept = readers.pop()
    assert kept.read_all().to_pylist() == [{"a": 1, "b": 2}]


@pytest.mark.parametrize("before", [b"", BLOCK * 3])
def test_a_row_that_is_wrong_leaves_nobody_reading(before):
    file = io.BytesIO(b"a,b\n" + before + b"1\n")
    with pytest.raises(pa.ArrowInvalid), lent(file, opened) as readers:
        readers.pop().read_all()
    assert views() == []
