"""A user's frame as it stands now, whatever is done to the object afterwards."""

from __future__ import annotations

import copy
import sys
from typing import Any, cast


def held(native: object) -> object:
    """A copy that later changes to `native` don't reach; values aren't copied where the library needn't.

    Parameters
    ----------
    native
        What `wrap` takes. Anything else comes back as it is, for `wrap` to refuse.
    """
    if isinstance(native, list):
        rows = cast("list[object]", native)
        return [dict(cast("dict[Any, Any]", row)) if isinstance(row, dict) else row for row in rows]
    library = type(native).__module__.partition(".")[0]
    found = cast("Any", native)
    if library == "polars" and type(native).__name__ in ("DataFrame", "Series"):
        return copy.copy(found)
    pandas = cast("Any", sys.modules.get("pandas"))
    if pandas is None or not isinstance(native, (pandas.DataFrame, pandas.Series)):
        return native
    # from pandas 3 on a shallow copy is written apart from its source
    out = found.copy(deep=int(pandas.__version__.partition(".")[0]) < 3)  # noqa: PLR2004
    out.index = found.index  # the copy's is another object
    return out
