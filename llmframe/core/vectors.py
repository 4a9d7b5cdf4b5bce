"""Vectors as the bytes of their 32-bit floats."""

from __future__ import annotations

import math
import sys
from array import array
from collections.abc import Iterable, Sequence
from typing import Final

WIDTH: Final = 4
"""Bytes of a number."""


def vector_of(numbers: Iterable[float]) -> bytes:
    """Numbers as little-endian 32-bit floats, each rounded to the nearest; beyond 3.4e38 that is infinity.

    Examples
    --------
    >>> vector_of([1.0, -2.0]).hex()
    '0000803f000000c0'
    """
    return _little(array("f", numbers)).tobytes()


def numbers_of(vector: bytes) -> list[float]:
    """The numbers of a vector, each the double that is equal to it."""
    values: array[float] = array("f")
    values.frombytes(vector)
    return _little(values).tolist()


def vector_text(vector: bytes) -> str:
    """A vector as a JSON list, in as many digits as tell every 32-bit float from its neighbours (nine).

    NaN and the infinities are null, for JSON has none of them.

    Examples
    --------
    >>> vector_text(vector_of([0.5, -1e-20]))
    '[0.5,-9.99999968e-21]'
    """
    values = numbers_of(vector)
    if all(map(math.isfinite, values)):
        return "[" + ",".join(["%.9g"] * len(values)) % tuple(values) + "]"
    return "[" + ",".join(f"{value:.9g}" if math.isfinite(value) else "null" for value in values) + "]"


def joined(vectors: Sequence[bytes | None], *, size: int) -> bytes:
    """Vectors behind one another, zeros where one is null: what array libraries take as a matrix without a copy.

    Parameters
    ----------
    size
        Numbers of each vector.

    Raises
    ------
    ValueError
        If a vector has another size: all behind it would be shifted.
    """
    check_sizes(vectors, size=size)
    gap = bytes(size * WIDTH)
    return b"".join([gap if vector is None else vector for vector in vectors])


def check_sizes(vectors: Iterable[bytes | None], *, size: int) -> None:
    """Raise `ValueError` where a vector that isn't null has other than `size` numbers."""
    wrong = {len(vector) for vector in vectors if vector is not None} - {size * WIDTH}
    if wrong:
        raise ValueError(f"a vector of {wrong.pop()} bytes in a column of {size} numbers ({size * WIDTH} bytes)")


def _little(values: array[float]) -> array[float]:
    if sys.byteorder == "big":
        values.byteswap()
    return values
