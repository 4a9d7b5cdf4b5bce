"""Estimates from frames of any library: corrected, by group, of differences, and refused where nothing follows."""

from __future__ import annotations

import math
from typing import Any

from llmframe.judge.estimating import estimate
from llmframe.stats.ppi import ppi_difference, ppi_mean
from llmframe.stats.rogan_gladen import rogan_gladen
from llmframe.stats.weighted_gold import weighted_mean
from tests.contracts.kinds import Kind

ANSWERS = (["yes", "yes", "yes", "no", "no"] * 40)[:199]
PEOPLE = ["yes", "yes", "no", "no", "no"] * 24 + [None] * 79
DATA = {
    "label": [*ANSWERS, None],
    "error": [None] * 199 + ["timeout: 30 s"],
    "human": [*PEOPLE, "yes"],
    "shop": (["a", "b"] * 100)[:200],
    "score": [float(at % 5) for at in range(200)],
    "truth": [float((at + 1) % 5) if at < 120 else None for at in range(200)],
}


def of(label: str, cells: list[Any]) -> list[float]:
    return [float(cell == label) for cell in cells]


def test_a_share_is_corrected_on_every_kind_of_frame(any_kind: Kind):
    found = estimate(any_kind.make(DATA), "label", "human", label="yes", random=True)
    plain = ppi_mean(of("yes", PEOPLE[:120]), of("yes", ANSWERS[:120]), of("yes", ANSWERS[120:]), bounds=(0, 1))
    assert found.found == plain
    assert (found.method, found.rows, found.known, found.unanswered) == ("ppi++", 200, 120, 1)
    assert found.of == "share of 'yes'"


def test_a_mean_of_scores_is_corrected(library: Kind):
    found = estimate(library.make(DATA), "score", "truth", random=True)
    assert found.found == ppi_mean(DATA["truth"][:120], DATA["score"][:120], DATA["score"][120:])
    assert found.of == "mean of 'score'"


def test_gold_can_be_given_beside_the_frame(library: Kind):
    frame = library.make({name: DATA[name] for name in ("label", "error")})
    found = estimate(frame, "label", DATA["human"], label="yes", random=True)
    assert found.value == estimate(library.make(DATA), "label", "human", label="yes", random=True).value
    assert found.gold == ("gold",)


def test_each_group_has_an_estimate_of_its_own(library: Kind):
    found = estimate(library.make(DATA), "label", "human", label="yes", random=True, by="shop")
    rows = range(0, 199, 2)
    plain = ppi_mean(
        [of("yes", PEOPLE)[at] for at in rows if at < 120],
        [of("yes", ANSWERS)[at] for at in rows if at < 120],
        [of("yes", ANSWERS)[at] for at in rows if at >= 120],
        bounds=(0, 1),
    )
    assert found["a"].found == plain
    assert list(found.groups) == ["a", "b"]


def test_a_group_without_known_answers_is_nan_and_no_error(library: Kind):
    place = ["known"] * 120 + ["other"] * 80
    found = estimate(library.make(DATA), "score", "truth", random=True, by=place)
    assert math.isnan(found["other"].value)
    assert "no known answer" in found["other"].estimate.reason


def test_two_systems_are_compared_by_row(library: Kind):
    data = DATA | {"better": [min(4.0, each + 1) for each in DATA["score"]]}
    data["best"] = [None if each is None else min(4.0, each + 0.5) for each in DATA["truth"]]
    found = estimate(library.make(data), ("score", "better"), ("truth", "best"), random=True)
    plain = ppi_difference(
        (data["truth"][:120], data["best"][:120]),
        (data["score"][:120], data["better"][:120]),
        (data["score"][120:], data["better"][120:]),
    )
    assert found.found == plain
    assert found.of == "mean of 'better' less 'score'"


def test_rows_of_a_cluster_count_once(library: Kind):
    clusters = [at // 4 for at in range(200)]
    found = estimate(library.make(DATA), "score", "truth", random=True, cluster=clusters)
    plain = ppi_mean(
        DATA["truth"][:120],
        DATA["score"][:120],
        DATA["score"][120:],
        clusters=clusters[:120],
        rest_clusters=clusters[120:],
    )
    assert found.found == plain
    assert found.found.n == 30


def test_unequal_probabilities_weigh_the_known_answers(library: Kind):
    chance = [0.9 if at % 2 else 0.3 for at in range(200)]
    found = estimate(library.make(DATA | {"p": chance}), "score", "truth", probability="p")
    gold = [math.nan if each is None else each for each in DATA["truth"]]
    assert found.method == "weighted"
    assert found.found == weighted_mean(DATA["score"], gold, chance)


def test_equal_probabilities_are_a_random_sample(library: Kind):
    data = DATA | {"p": [0.6 if at < 120 else None for at in range(200)]}
    found = estimate(library.make(data), "score", "truth", probability="p")
    assert found == estimate(library.make(DATA), "score", "truth", random=True)


def test_error_rates_correct_known_answers_that_were_picked_by_class(library: Kind):
    frame = library.make(DATA)
    found = estimate(frame, "label", "human", label="yes", method="rogan_gladen")
    known, said = ([each == "yes" for each in side[:120]] for side in (PEOPLE, ANSWERS))
    assert found.found == rogan_gladen(known, said, [each == "yes" for each in ANSWERS])
    other = estimate(frame, "label", "human", label="yes", method="rogan_gladen", apart=True)
    assert other.found == rogan_gladen(known, said, [each == "yes" for each in ANSWERS[120:]])


def test_gold_alone_and_the_judge_alone_can_be_asked_for(library: Kind):
    frame = library.make(DATA)
    corrected = estimate(frame, "label", "human", label="yes", random=True)
    assert estimate(frame, "label", "human", label="yes", random=True, method="gold").estimate == corrected.found.gold
    naive = estimate(frame, "label", "human", label="yes", method="naive")
    assert naive.value == corrected.found.naive.value
    assert "knows nothing of its errors" in naive.notes[0]
