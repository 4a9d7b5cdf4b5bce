from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from llmframe.testing.multipart import read_form


def form(data: bytes, *, filename: str = "a.jsonl") -> bytes:
    head = f'--mark\r\nContent-Disposition: form-data; name="file"; filename="{filename}"\r\nContent-Type: x/y\r\n\r\n'
    field = b'--mark\r\nContent-Disposition: form-data; name="purpose"\r\n\r\nbatch\r\n'
    return field + head.encode() + data + b"\r\n--mark--\r\n"


@given(st.binary().filter(lambda data: b"\r\n--mark" not in data))
def test_a_file_comes_out_as_it_went_in(data: bytes):
    parts = read_form(form(data, filename="é.jsonl"), "multipart/form-data; boundary=mark")
    assert (parts["file"].data, parts["file"].filename) == (data, "é.jsonl")
    assert (parts["purpose"].data, parts["purpose"].filename) == (b"batch", None)


def test_a_boundary_may_be_quoted():
    assert read_form(form(b"x"), 'multipart/form-data; boundary="mark"').keys() == {"file", "purpose"}


def test_a_form_that_breaks_off_has_the_parts_before():
    assert read_form(form(b"x" * 100)[:-60], "multipart/form-data; boundary=mark").keys() == {"purpose"}


@pytest.mark.parametrize("content_type", ["", "application/json", "multipart/form-data", "text/plain; boundary=mark"])
def test_anything_else_is_no_form(content_type: str):
    with pytest.raises(ValueError, match="multipart/form-data"):
        read_form(form(b"x"), content_type)
