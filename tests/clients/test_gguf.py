"""GGUF headers, written and read."""

from __future__ import annotations

import io
import struct

import pytest

from llmframe.clients.gguf import Tensor, header, write

VALUES = {
    "general.architecture": "bert",
    "general.name": "größe",
    "bert.block_count": 6,
    "bert.eps": 0.5,
    "bert.causal": False,
    "bert.sizes": [1, -2],
    "bert.words": ["a", ""],
    "bert.pooling_type": 1,
    "tokenizer.ggml.tokens": ["a", "b"],
    "tokenizer.ggml.eos_token_id": 7,
}


def written(values, tensors=(), source=b""):
    file = io.BytesIO()
    write(file, values, tensors, io.BytesIO(source))
    return file.getvalue()


def test_a_header_is_read_up_to_its_tokenizer_without_lists(tmp_path):
    (tmp_path / "m.gguf").write_bytes(written(VALUES))
    assert header(tmp_path / "m.gguf") == {
        "general.architecture": "bert",
        "general.name": "größe",
        "bert.block_count": 6,
        "bert.eps": 0.5,
        "bert.causal": False,
        "bert.pooling_type": 1,
    }


def test_the_bytes_are_those_of_the_format():
    """llama.cpp reads these: magic, version 3, one tensor, one value; the tensor's data at a multiple of 32."""
    source = struct.pack("<7f", 9, 1, 2, 3, 4, 5, 6)
    data = written({"k": 5}, [Tensor(name="t", shape=(2, 3), start=4, length=24)], source)
    head = (
        b"GGUF" + struct.pack("<IQQ", 3, 1, 1)
        + struct.pack("<Q1sII", 1, b"k", 4, 5)  # type 4: an unsigned number of 32 bits
        + struct.pack("<Q1sIQQIQ", 1, b"t", 2, 3, 2, 0, 0)  # innermost dimension first; type 0: 32-bit floats; offset 0
    )  # fmt: skip
    assert data[: len(head)] == head
    start = -(-len(head) // 32) * 32
    assert data[len(head) : start] == bytes(start - len(head))
    assert struct.unpack("<6f", data[start : start + 24]) == (1, 2, 3, 4, 5, 6)
    assert len(data) % 32 == 0


def test_the_second_tensor_begins_behind_the_firsts_gap():
    source = struct.pack("<2f", 1, 2)
    tensors = [
        Tensor(name="a", shape=(1,), start=0, length=4),
        Tensor(name="b", shape=(1,), start=4, length=4),
    ]
    data = written({}, tensors, source)
    assert struct.unpack("<f", data[-32:-28]) == (2,)
    assert struct.unpack("<f", data[-64:-60]) == (1,)
    assert struct.pack("<Q1sIQIQ", 1, b"b", 1, 1, 0, 32) in data


@pytest.mark.parametrize("length", [0, 3, 4, 10, 40, 70, 100])
def test_half_a_header_says_nothing(tmp_path, length):
    (tmp_path / "m.gguf").write_bytes(written(VALUES)[:length])
    assert header(tmp_path / "m.gguf") == {}


def test_a_header_of_an_unknown_kind_of_value_says_nothing(tmp_path):
    data = b"GGUF" + struct.pack("<IQQ", 3, 0, 1) + struct.pack("<Q1sI", 1, b"k", 99)
    (tmp_path / "m.gguf").write_bytes(data)
    assert header(tmp_path / "m.gguf") == {}
