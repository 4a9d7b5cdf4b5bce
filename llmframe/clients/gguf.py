"""GGUF files: what a header says, and how one is written."""

from __future__ import annotations

import struct
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO, Final

MAGIC: Final = b"GGUF"
VERSION: Final = 3
ALIGNMENT: Final = 32
"""Every tensor begins at a multiple of so many bytes; the format's default."""

FLOAT32: Final = 0
"""The tensor type of 32-bit floats."""

_FORMATS: Final = {0: "B", 1: "b", 2: "H", 3: "h", 4: "I", 5: "i", 6: "f", 7: "?", 10: "Q", 11: "q", 12: "d"}
"""Value types of a fixed size, by the letters of `struct`."""
_UINT32, _INT32, _SINGLE, _BOOL, _STRING, _ARRAY = 4, 5, 6, 7, 8, 9

Value = str | bool | int | float | Sequence[str] | Sequence[int]


@dataclass(frozen=True, slots=True, kw_only=True)
class Tensor:
    """A tensor of 32-bit floats as it lies in another file.

    Attributes
    ----------
    name
        As llama.cpp knows it.
    shape
        Outermost dimension first.
    start, length
        Bytes in the other file, little-endian.
    """

    name: str
    shape: tuple[int, ...]
    start: int
    length: int


def header(path: Path) -> dict[str, object]:
    """Names and values of a GGUF file's header up to its tokenizer; lists are left out.

    Returns
    -------
    dict
        Empty where the file has no header that can be read: whoever loads it has the better message.
    """
    found: dict[str, object] = {}
    try:
        with path.open("rb") as file:
            if file.read(4) != MAGIC:
                return {}
            _, _, count = _numbers(file, "IQQ")
            for _ in range(count):
                name = _text(file)
                if name.startswith("tokenizer."):  # hundreds of thousands of texts, and what comes after is about files
                    break
                (kind,) = _numbers(file, "I")
                if kind == _ARRAY:
                    _pass_array(file)
                else:
                    found[name] = _value(file, kind)
    except (struct.error, KeyError, UnicodeDecodeError, OverflowError):
        return {}
    return found


def write(file: BinaryIO, values: Mapping[str, Value], tensors: Iterable[Tensor], source: BinaryIO) -> None:
    """Write a GGUF file: header values in their order, then tensors, copied out of `source`.

    The same arguments give the same bytes.
    """
    listed = list(tensors)
    out = bytearray(MAGIC + struct.pack("<IQQ", VERSION, len(listed), len(values)))
    for name, value in values.items():
        out += _packed_text(name) + _packed(value)
    offset = 0
    for tensor in listed:
        dimensions = tensor.shape[::-1]  # GGUF names the innermost first
        out += _packed_text(tensor.name) + struct.pack(f"<I{len(dimensions)}QIQ", len(dimensions), *dimensions, 0, 0)
        out[-12:] = struct.pack("<IQ", FLOAT32, offset)
        offset += tensor.length + _gap(tensor.length)
    file.write(out + bytes(_gap(len(out))))
    for tensor in listed:
        source.seek(tensor.start)
        file.write(source.read(tensor.length) + bytes(_gap(tensor.length)))


def _gap(length: int) -> int:
    return -length % ALIGNMENT


def _packed(value: Value) -> bytes:
    match value:
        case bool():
            return struct.pack("<I?", _BOOL, value)
        case int():
            return struct.pack("<II", _UINT32, value)
        case float():
            return struct.pack("<If", _SINGLE, value)
        case str():
            return struct.pack("<I", _STRING) + _packed_text(value)
        case _:
            items = list(value)
            inner = _STRING if items and isinstance(items[0], str) else _INT32
            body = b"".join(_packed_text(item) if isinstance(item, str) else struct.pack("<i", item) for item in items)
            return struct.pack("<IIQ", _ARRAY, inner, len(items)) + body


def _packed_text(text: str) -> bytes:
    data = text.encode()
    return struct.pack("<Q", len(data)) + data


def _numbers(file: BinaryIO, codes: str) -> tuple[int, ...]:
    return struct.unpack("<" + codes, file.read(struct.calcsize("<" + codes)))


def _text(file: BinaryIO) -> str:
    (length,) = _numbers(file, "Q")
    data = file.read(length)
    if len(data) != length:
        raise struct.error("the file ends inside a text")
    return data.decode()


def _value(file: BinaryIO, kind: int) -> object:
    return _text(file) if kind == _STRING else _numbers(file, _FORMATS[kind])[0]


def _pass_array(file: BinaryIO) -> None:
    inner, count = _numbers(file, "IQ")
    if inner in (_STRING, _ARRAY):
        for _ in range(count):
            if inner == _STRING:
                _text(file)
            else:
                _pass_array(file)
    else:
        file.seek(struct.calcsize("<" + _FORMATS[inner]) * count, 1)
