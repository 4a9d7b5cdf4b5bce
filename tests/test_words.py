"""What an argument that no verb has was meant to be."""

from __future__ import annotations

import pytest

from llmframe.errors import UsageError
from llmframe.words import SYNONYMS, refuse_unknown

KNOWN = ("prompt_template", "budget", "prices")


@pytest.mark.parametrize(
    ("name", "meant"), [("max_cost", "budget"), ("pricing", "prices"), ("promt_template", "prompt")]
)
def test_another_librarys_word_or_a_typing_error_names_the_right_one(name: str, meant: str):
    with pytest.raises(UsageError, match=rf"`map` has no argument '{name}'; did you mean '{meant}"):
        refuse_unknown({name: 1}, KNOWN, verb="map")


def test_a_synonym_of_what_the_verb_has_not_is_no_advice():
    assert SYNONYMS["workers"] == "max_concurrency"
    with pytest.raises(UsageError, match="`map` has no argument 'workers'; arguments: prompt_template, budget, prices"):
        refuse_unknown({"workers": 1}, KNOWN, verb="map")


def test_a_providers_word_is_shown_where_it_belongs_and_a_value_of_its_own_is_not():
    with pytest.raises(UsageError, match=r'params=\{"seed": 3\}'):
        refuse_unknown({"seed": 3}, KNOWN, verb="map")
    with pytest.raises(UsageError, match=r'params=\{"metadata": \.\.\.\}'):
        refuse_unknown({"metadata": {"user": "secret"}}, KNOWN, verb="map")
