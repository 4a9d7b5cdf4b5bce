"""What pictures are drawn on: 600 px wide, unknown to pyplot, whole inside HTML."""

from __future__ import annotations

import base64
import struct
import subprocess
import sys

import pytest

from llmframe.report.pictures.canvas import data_address, empty_figure, new_figure, png, shortened


def pixels(picture: bytes) -> tuple[int, int]:
    """Width and height in the header of a PNG."""
    assert picture.startswith(b"\x89PNG\r\n\x1a\n")
    return struct.unpack(">II", picture[16:24])


def test_a_picture_is_600_px_wide_and_twice_that_inside_html():
    figure = new_figure(3.0)
    assert pixels(png(figure)) == (600, 300)
    head, data = data_address(figure).split(",", 1)
    assert head == "data:image/png;base64"
    assert pixels(base64.b64decode(data)) == (1200, 600)


def test_an_empty_figure_says_why():
    assert empty_figure("no row")._repr_png_().startswith(b"\x89PNG")
    assert [text.get_text() for text in empty_figure("no row").texts] == ["no row"]


@pytest.mark.parametrize(
    ("text", "short"),
    [
        ("two\n lines", "two lines"),
        ("a rather long label number 12", "a rather long …mber 12"),
        ("$5 or $6", r"\$5 or \$6"),
        (3, "3"),
    ],
)
def test_a_label_is_one_short_line_and_no_formula(text: object, short: str):
    assert shortened(text) == short


def test_drawing_imports_no_pyplot():
    code = (
        "import sys\nfrom llmframe.report.pictures.forest_plot import ForestRow, forest_plot\n"
        "forest_plot([ForestRow(name='a', value=0.5)])\nassert 'matplotlib.pyplot' not in sys.modules"
    )
    subprocess.run([sys.executable, "-c", code], check=True)
