"""Agreement of a frame: which numbers on which scale, rows left out beside them, groups and people."""

from __future__ import annotations

import json
import math

import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn.metrics import cohen_kappa_score

import llmframe
from llmframe.errors import UsageError

RANDOM = np.random.default_rng(12)
N = 200
TRUE = RANDOM.integers(1, 6, N)
SCORES = np.clip(TRUE + RANDOM.integers(-1, 2, N), 1, 5)
GOOD = np.where(TRUE > 2, "good", "bad")
SAID = np.where(RANDOM.random(N) < 0.85, GOOD, "good")


def labels(**more):
    columns = {"text": [f"text {at}" for at in range(N)], "human": GOOD, "label": SAID, **more}
    return pd.DataFrame(columns | {"error": [None] * N})


@pytest.mark.parametrize("kind", ["pandas", "polars", "arrow", "records"])
def test_kappa_is_scikit_learns_whatever_the_frame(kind):
    frame = pl.from_pandas(labels())
    frame = {"pandas": labels(), "polars": frame, "arrow": frame.to_arrow(), "records": frame.to_dicts()}[kind]
    found = llmframe.agreement(frame, "label", "human")
    assert found.kappa.value == pytest.approx(cohen_kappa_score(GOOD, SAID))
    assert found.kappa.low < found.kappa.value < found.kappa.high
    assert (found.n, found.rows, found.clusters, found.scale) == (N, N, N, "nominal")
    assert found.alpha.value == pytest.approx(found.kappa.value, abs=0.01)


def test_rows_without_gold_or_answer_are_counted_beside():
    frame = labels()
    frame.loc[:9, "human"] = None
    frame.loc[5:14, ["label", "error"]] = [None, "timeout: late"]
    frame.loc[15:16, "label"] = None
    found = llmframe.agreement(frame, "label", "human")
    # of 190 with gold 5 failed (10-14) and 2 have nothing (15, 16)
    assert (found.without_gold, found.failed, found.missing, found.n) == (10, 5, 2, 183)
    assert found.accuracy.n == 183
    assert found.accuracy.value == pytest.approx((GOOD[17:] == SAID[17:]).mean())
    assert "left out: 5 failed, 2 without an answer, 10 without gold" in repr(found)


def test_each_scale_has_its_numbers():
    nominal = llmframe.agreement(labels(), "label", "human")
    assert "ac1" in nominal.estimates
    assert "bias" not in nominal.estimates
    assert nominal.bias.reason == "not told on this scale"
    frame = pd.DataFrame({"human": TRUE, "score": SCORES, "mean": SCORES + 0.25})
    ordinal = llmframe.agreement(frame, "score", "human")
    assert {"kappa", "kappa_quadratic", "tau_b", "bias"} <= set(ordinal.estimates)
    assert ordinal.labels == (1, 2, 3, 4, 5)
    interval = llmframe.agreement(frame, "mean", "human")
    assert {"ccc", "icc", "pearson", "lower_limit", "bias"} <= set(interval.estimates)
    assert "kappa" not in interval.estimates
    assert interval.bias.value == pytest.approx((SCORES + 0.25 - TRUE).mean())
    assert llmframe.agreement(frame, "score", "human", scale="nominal").scale == "nominal"


def test_by_gives_one_for_each_value_with_the_same_labels():
    frame = labels(lang=["de", "en"] * (N // 2))
    found = llmframe.agreement(frame, "label", "human", by="lang")
    assert list(found.groups) == ["de", "en"]
    assert found["de"].n == found["en"].n == N // 2
    assert found["de"].kappa.value == pytest.approx(cohen_kappa_score(GOOD[::2], SAID[::2]))
    assert found["de"].labels == found.labels
    assert not found["de"].groups
    with pytest.raises(UsageError, match=r"no group is 'dee'; did you mean 'de'\?.*groups: \['de', 'en'\]"):
        found["dee"]
    with pytest.raises(UsageError, match="`by="):
        llmframe.agreement(frame, "label", "human")["de"]


def test_a_group_without_gold_is_unknown_and_no_error():
    frame = labels(lang=["de"] * (N - 3) + ["en"] * 3)
    frame.loc[N - 3 :, "human"] = None
    found = llmframe.agreement(frame, "label", "human", by="lang")["en"]
    assert (found.n, found.without_gold) == (0, 3)
    assert math.isnan(found.kappa.value)
    assert found.kappa.reason == "no item has both"


def test_rows_of_a_group_are_drawn_together():
    frame = pd.concat([labels(doc=range(N))] * 4)
    alone = llmframe.agreement(frame, "label", "human")
    together = llmframe.agreement(frame, "label", "human", group="doc")
    assert together.clusters == N
    assert together.kappa.value == alone.kappa.value
    assert (together.kappa.high - together.kappa.low) / (alone.kappa.high - alone.kappa.low) == pytest.approx(
        2, rel=0.15
    )


def test_few_groups_are_noted():
    found = llmframe.agreement(labels(doc=[at % 6 for at in range(N)]), "label", "human", group="doc")
    assert found.notes == ("only 6 items or clusters: the interval is likely too narrow; take 15 or more",)
    assert found.kappa.reason == found.notes[0]


def test_a_skewed_gold_explains_a_low_kappa():
    # 90 yes-yes, 4 yes-no, 5 no-yes, 1 no-no: kappa .13 at an accuracy of .91
    frame = pd.DataFrame({"human": ["y"] * 94 + ["n"] * 6, "label": ["y"] * 90 + ["n"] * 4 + ["y"] * 5 + ["n"]})
    found = llmframe.agreement(frame, "label", "human")
    assert found.notes == (
        "kappa is low beside the accuracy because 94 % of the gold is one label: look at ac1 and recall",
    )


def test_answers_spelt_otherwise_are_noted():
    found = llmframe.agreement(labels(), [text.upper() for text in SAID], "human")
    assert found.accuracy.value == 0.0
    assert found.notes == ("no answer is any of the gold's labels: are they spelt otherwise?",)
    assert found.pred == "answers"


def test_people_are_a_ceiling_beside_the_judge():
    random = np.random.default_rng(13)
    people = {f"h{at}": np.clip(TRUE + random.integers(-1, 2, N), 1, 5) for at in range(3)}
    frame = pd.DataFrame(people | {"score": random.integers(1, 6, N)})
    found = llmframe.agreement(frame, "score", list(people))
    assert found.humans.raters == 3
    assert found.humans.change.high < 0
    assert found.humans.humans.low > found.humans.with_judge.high
    lists = pl.DataFrame({"all": np.stack(list(people.values()), axis=1).tolist(), "score": frame["score"].to_numpy()})
    assert llmframe.agreement(lists, "score", "all").humans == found.humans
    assert "against 3 people" in repr(found)


def test_a_margin_asks_whether_the_judge_can_replace_a_person():
    random = np.random.default_rng(14)
    people = {f"h{at}": np.clip(TRUE + random.integers(-1, 2, N), 1, 5) for at in range(3)}
    frame = pd.DataFrame(people | {"exact": TRUE, "random": random.integers(1, 6, N)})
    assert llmframe.agreement(frame, "exact", list(people)).alt_test is None
    assert llmframe.agreement(frame, "exact", list(people), margin=0.1).alt_test.passed
    found = llmframe.agreement(frame, "random", list(people), margin=0.1)
    assert not found.alt_test.passed
    assert "alternative annotator test: not passed, won against 0 of 3 people, margin 0.1" in repr(found)
    assert json.loads(found.to_json())["alt_test"]["winning_rate"] == 0.0
    names = np.array(["poor", "weak", "fair", "good", "best"])
    texts = frame.map(lambda level: names[level - 1])
    levels = {"scale": "ordinal", "labels": names.tolist()}
    ordered = llmframe.agreement(texts, "random", list(people), margin=0.1, **levels)
    assert ordered.alt_test.advantage == pytest.approx(found.alt_test.advantage)
    with pytest.raises(UsageError, match="each in a column of their own"):
        llmframe.agreement(frame, "exact", "h0", margin=0.1)


def test_tied_votes_are_no_gold_and_are_noted():
    frame = pd.DataFrame({"h1": list("aabb"), "h2": list("abbb"), "label": list("abbb")})
    found = llmframe.agreement(frame, "label", ["h1", "h2"])
    assert (found.n, found.without_gold) == (3, 1)
    assert "1 row has no gold because people's votes are tied" in found.notes


def test_ordered_texts_are_ordinal_by_their_labels():
    names = np.array(["poor", "weak", "fair", "good", "best"])
    frame = pd.DataFrame({"human": names[TRUE - 1], "label": names[SCORES - 1]})
    found = llmframe.agreement(frame, "label", "human", scale="ordinal", labels=names.tolist())
    numbers = llmframe.agreement(pd.DataFrame({"human": TRUE, "label": SCORES}), "label", "human")
    assert found.kappa_quadratic.value == pytest.approx(numbers.kappa_quadratic.value)
    assert found.alpha.value == pytest.approx(numbers.alpha.value)
    assert found.bias.value == pytest.approx(numbers.bias.value)
    with pytest.raises(UsageError, match="no order of their own"):
        llmframe.agreement(frame, "label", "human", scale="ordinal")


@pytest.mark.parametrize("n", [0, 1, 2])
def test_none_one_and_two_rows_are_no_error(n):
    frame = labels().head(n)
    found = llmframe.agreement(frame, "label", "human")
    assert found.n == n
    assert json.loads(found.to_json())["n"] == n
    assert repr(found)


def test_too_many_labels_leave_the_accuracy():
    texts = [f"text {at}" for at in range(600)]
    found = llmframe.agreement(pd.DataFrame({"a": texts, "b": texts}), "a", "b")
    assert found.accuracy.value == 1.0
    assert math.isnan(found.kappa.value)
    assert math.isnan(found.alpha.value)


def test_a_frame_is_never_changed():
    frame = labels()
    before = frame.copy()
    llmframe.agreement(frame, "label", "human", by="text")
    pd.testing.assert_frame_equal(frame, before)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"pred": "lable"}, "there is no column 'lable'; did you mean 'label'"),
        ({"gold": "humna"}, "`gold` names no column: 'humna'; did you mean 'human'"),
        ({"by": "lang"}, "`by` names no column: 'lang'"),
        ({"scale": "ordnal"}, "`scale` is one of .* got 'ordnal'; did you mean 'ordinal'"),
        ({"scale": "interval"}, '`scale="interval"` takes numbers'),
        ({"labels": ["good"]}, r"is none of the labels \['good'\]"),
        ({"draws": 0}, "`draws`"),
        ({"frame": labels()["label"]}, "not a Series"),
    ],
)
def test_an_argument_that_cannot_be_used_is_named(change, words):
    options = {"frame": labels(), "pred": "label", "gold": "human"} | change
    with pytest.raises(UsageError, match=words):
        llmframe.agreement(options.pop("frame"), options.pop("pred"), options.pop("gold"), **options)


def test_gold_of_one_label_only_is_told_with_what_to_do():
    frame = pd.DataFrame({"label": ["a", "b"] * 10, "human": ["a"] * 20})
    assert any(
        "all gold is 'a'" in note and "label rows of those too" in note
        for note in llmframe.agreement(frame, "label", "human").notes
    )
