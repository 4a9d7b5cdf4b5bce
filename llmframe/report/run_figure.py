"""A matplotlib figure that a notebook shows by itself.

IPython knows how to show a figure only once pyplot has been imported, which nobody needs for a run's picture.
"""

from __future__ import annotations

import io
from typing import Any

from matplotlib.figure import Figure


class RunFigure(Figure):
    """A `Figure`, unknown to pyplot, with the picture that notebooks ask for."""

    def _repr_png_(self) -> bytes:
        figure: Any = self  # matplotlib's own hints leave most keywords unknown
        picture = io.BytesIO()
        figure.savefig(picture, format="png")
        return picture.getvalue()
