"""The figure that notebooks show."""

from __future__ import annotations

import pickle

from IPython.core.formatters import DisplayFormatter

from llmframe.core.series import Series
from llmframe.report.run_picture import draw

PNG = b"\x89PNG"
ONE_REQUEST = Series(
    width=1.0,
    seconds=1.0,
    sent=(1,),
    answered=(1,),
    tokens=(0,),
    rate_limited=(0,),
    faults=(0,),
    in_flight=(1,),
    limit=(8,),
)
NOTHING_SENT = Series(
    width=1.0,
    seconds=1.0,
    sent=(0,),
    answered=(0,),
    tokens=(0,),
    rate_limited=(0,),
    faults=(0,),
    in_flight=(0,),
    limit=(0,),
)


def test_a_notebook_shows_the_picture_though_nobody_imported_pyplot():
    for series in (ONE_REQUEST, NOTHING_SENT):
        shown, _ = DisplayFormatter().format(draw(series, limits=(), title="a run"))
        assert shown["image/png"].startswith(PNG)


def test_a_picture_pickles():
    figure = pickle.loads(pickle.dumps(draw(ONE_REQUEST, limits=(), title="a run")))  # noqa: S301 - pickled a moment ago
    assert figure._repr_png_().startswith(PNG)
