"""Text files compressed as a whole."""

from __future__ import annotations

import io

import pytest

from llmframe.frames.files.compression import compressed, decompressed

KINDS = [None, "gzip", "zstd", "bz2", "xz"]
TEXT = b"one\ntwo\n" * 5000


def packed(content, kind):
    file = io.BytesIO()
    with compressed(file, kind) as stream:
        stream.write(content)
    assert not file.closed
    return file.getvalue()


@pytest.mark.parametrize("kind", KINDS)
def test_what_is_packed_comes_out_line_by_line(kind):
    with decompressed(io.BytesIO(packed(TEXT, kind)), kind) as stream:
        assert list(stream) == [b"one\n", b"two\n"] * 5000


@pytest.mark.parametrize("kind", KINDS)
def test_packed_files_may_follow_each_other(kind):
    with decompressed(io.BytesIO(packed(b"a\n", kind) + packed(b"b\n", kind)), kind) as stream:
        assert stream.read() == b"a\nb\n"


@pytest.mark.parametrize("kind", KINDS)
def test_equal_content_is_packed_to_equal_bytes(kind):
    assert packed(TEXT, kind) == packed(TEXT, kind)


@pytest.mark.parametrize("kind", KINDS)
def test_the_file_is_closed_after_reading(kind):
    file = io.BytesIO(packed(b"a", kind))
    with decompressed(file, kind):
        pass
    assert file.closed


@pytest.mark.parametrize("kind", ["gzip", "zstd", "bz2", "xz"])
def test_a_file_that_is_cut_short_is_an_error(kind):
    with pytest.raises((OSError, EOFError)), decompressed(io.BytesIO(packed(TEXT, kind)[:-6]), kind) as stream:
        stream.read()
