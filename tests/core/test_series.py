"""A run over time, as plain values."""

from __future__ import annotations

import dataclasses
import json

from llmframe.core.series import Series


def test_a_series_is_plain_lists_for_json():
    series = Series(width=0.25, sent=(1, 2), limit=(8, 9))
    values = json.loads(json.dumps(series.to_dict()))
    assert set(values) == {field.name for field in dataclasses.fields(Series)}
    assert (values["width"], values["sent"], values["limit"], values["tokens"]) == (0.25, [1, 2], [8, 9], [])
