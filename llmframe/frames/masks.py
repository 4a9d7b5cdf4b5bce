"""`where` as one bool a row, as far as no dataframe library is needed."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from llmframe.errors import UsageError

_ACCEPTED = "`where` takes a boolean mask with one entry a row, or a function of the frame that returns one"


def mask_of(where: Any, *, rows: int) -> list[bool]:
    """A list, tuple or array of booleans as one bool a row; null (`None`, NA, NaN) is False.

    Raises
    ------
    UsageError
        If `where` is anything else, has another length or holds anything but booleans.
    """
    values = _entries(where)
    if len(values) != rows:
        raise UsageError(f"`where` has {len(values)} entries, the frame has {rows} rows; give one boolean a row")
    mask: list[bool] = []
    for value in values:
        if value is True or value is False:
            mask.append(value)
        elif _is_null(value):
            mask.append(False)
        elif type(value).__name__ in {"bool", "bool_"}:  # numpy's own
            mask.append(bool(value))
        else:
            raise not_boolean(where, type(value).__name__)
    return mask


def not_boolean(where: object, held: str) -> UsageError:
    """The error for a mask whose entries are of a type named `held`."""
    return UsageError(
        f"{_ACCEPTED}; got a {_described(where)} of {held}; compare first, for instance `where=lambda df: df['x'] > 0`"
    )


def not_a_mask(where: object, *, also: str = "") -> UsageError:
    """The error for a `where` of the wrong kind; `also` names what this frame takes besides."""
    return UsageError(f"{_ACCEPTED}{also}; got a {_described(where)}")


def _entries(where: Any) -> Sequence[Any]:
    if isinstance(where, list | tuple):
        return list(where)  # pyright: ignore[reportUnknownArgumentType] - checked one by one
    convert = getattr(where, "tolist", None) or getattr(where, "to_pylist", None)
    if convert is None or getattr(where, "ndim", 1) != 1:
        raise not_a_mask(where)
    return convert()


def _is_null(value: Any) -> bool:
    if value is None or type(value).__name__ in {"NAType", "NaTType"}:
        return True
    return isinstance(value, float) and value != value  # noqa: PLR0124 - NaN


def _described(value: object) -> str:
    """The type's name with its library, `pandas.Series` or `str`."""
    root = type(value).__module__.partition(".")[0]
    return type(value).__name__ if root == "builtins" else f"{root}.{type(value).__name__}"
