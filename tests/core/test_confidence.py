"""Confidences from hand-made token streams."""

from __future__ import annotations

import itertools
import json
import math
from collections.abc import Mapping, Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from llmframe.core.confidence import token_scores
from llmframe.core.scores import Score, Target
from llmframe.core.tokens import Token

SENTIMENT = ("positive", "negative", "neutral")


def token(text: str | bytes, p: float = 1.0, top: Mapping[str | bytes, float] | None = None) -> Token:
    """A token by probabilities; `top` without an entry means that nothing else was told."""
    listed = {text: p} if top is None else top
    return Token(encoded(text), log(p), tuple((encoded(each), log(share)) for each, share in listed.items()))


def encoded(text: str | bytes) -> bytes:
    return text if isinstance(text, bytes) else text.encode()


def log(p: float) -> float:
    return math.log(p) if p > 0 else -math.inf


def score(
    tokens: Sequence[Token],
    value: object,
    options: Sequence[object] = SENTIMENT,
    *,
    key: str | None = "label",
    text: str | None = None,
) -> Score:
    said = b"".join(each.text for each in tokens).decode() if text is None else text
    (found,) = token_scores(said, tokens, [Target("column", key, tuple(options))], [value])
    return found


def shares(found: Score, options: Sequence[object] = SENTIMENT) -> dict[object, float]:
    assert found.source == "logprobs"
    assert found.confidence in found.probabilities
    assert math.fsum(found.probabilities) == pytest.approx(1)
    return dict(zip(map(repr, options), found.probabilities, strict=True))


def closely(expected: dict[object, float], **more: float) -> object:
    return pytest.approx({repr(key): share for key, share in expected.items()} | more)


# Where the label's tokens begin and end.


@pytest.mark.parametrize(
    "before", [('{"', "label", '":"'), ('{"label":"',), ('{"', "label", '":', ' "'), ('{"label', '": "')]
)
@pytest.mark.parametrize("after", [('"}',), ('"', "}"), ('"\n', "}\n")])
def test_a_label_of_one_token_has_its_share_of_what_the_labels_have(before, after):
    # M = .5 + .3 + .1 = .9 (the rest is no label); .5 / .9 = 5/9, 3/9, 1/9
    top = {"positive": 0.5, "negative": 0.3, "neutral": 0.1, "great": 0.06}
    found = score([*map(token, before), token("positive", 0.5, top), *map(token, after)], "positive")
    assert shares(found) == closely({"positive": 5 / 9, "negative": 3 / 9, "neutral": 1 / 9})
    assert found.confidence == pytest.approx(5 / 9)
    assert found.mass == pytest.approx(0.9)


def test_a_label_with_its_quotes_glued_on_either_side_is_read_without_them():
    # Only what begins with `":"` counts: .5, .25 and .15 of M = .9. `":"great"}` is no label.
    top = {'":"positive"}': 0.5, '":"negative"}': 0.25, '":"neu': 0.15, '":"great"}': 0.05, '":': 0.05}
    found = score([token('{"label'), token('":"positive"}', 0.5, top)], "positive")
    assert shares(found) == closely({"positive": 50 / 90, "negative": 25 / 90, "neutral": 15 / 90})
    assert found.mass == pytest.approx(0.9)


def test_a_blank_before_a_glued_quote_makes_no_other_label():
    top = {' "positive': 0.5, '"positive': 0.2, '\n "negative': 0.2, ' "': 0.1}
    found = score([token('{"label":'), token(' "positive', 0.5, top), token('"}')], "positive")
    # ` "` alone may become any of them, the emitted one too: lost
    assert shares(found) == closely({"positive": 7 / 9, "negative": 2 / 9, "neutral": 0})
    assert found.mass == pytest.approx(0.9)


def test_leading_blanks_case_and_a_full_stop_are_the_same_label():
    # .4 + .2 + .1 = .7 for positive, .2 for negative
    top = {" Positive": 0.4, "positive": 0.2, "POS": 0.1, " negative": 0.2}
    found = score([token('{"label": "'), token(" Positive", 0.4, top), token(".", 0.5), token('"}')], "positive")
    assert shares(found) == closely({"positive": 7 / 9, "negative": 2 / 9, "neutral": 0})
    assert found.mass == pytest.approx(0.9)


def test_labels_that_folding_would_make_one_are_apart():
    options = ("US", "us")
    found = score(
        [token('{"label": "'), token("US", 0.6, {"US": 0.6, "us": 0.3, " US": 0.05}), token('"}')], "US", options
    )
    assert shares(found, options) == closely({"US": 6 / 9, "us": 3 / 9})
    assert found.mass == pytest.approx(0.9)


@pytest.mark.parametrize(
    "before",
    ['{"text": "positive", "label": "', '{"positive": 1, "label": "', '{"a": "\\"label\\": \\"positive\\"", "label":"'],
)
def test_the_labels_text_earlier_in_the_reply_is_not_the_label(before):
    decoy = {"positive": 0.99, "negative": 0.01}
    head, tail = before.split("positive")
    tokens = [
        token(head),
        token("positive", 0.99, decoy),
        token(tail),
        token("positive", 0.6, {"positive": 0.6, "negative": 0.4}),
        token('"}'),
    ]
    assert score(tokens, "positive").confidence == pytest.approx(0.6)


# Labels over several tokens.


def test_a_label_split_over_tokens_counts_by_its_first_part_when_no_other_begins_so():
    top = {"pos": 0.6, "p": 0.1, "neg": 0.2, "neutr": 0.1}
    found = score([token('{"label":"'), token("pos", 0.6, top), token("itive", 0.9), token('"}')], "positive")
    assert shares(found) == closely({"positive": 0.7, "negative": 0.2, "neutral": 0.1})


def test_a_beginning_that_labels_share_is_divided_by_the_next_token():
    # ne .7, then gative .6 and utral .4: negative .42, neutral .28, positive .3
    tokens = [
        token('{"label":"'),
        token("ne", 0.7, {"ne": 0.7, "pos": 0.3}),
        token("gative", 0.6, {"gative": 0.6, "utral": 0.4}),
        token('"}'),
    ]
    found = score(tokens, "negative")
    assert shares(found) == closely({"positive": 0.3, "negative": 0.42, "neutral": 0.28})
    assert found.mass == pytest.approx(1)


def test_a_shared_beginning_is_divided_over_more_than_one_token():
    # n .9 x e .9 x (g .5, u .4): negative .405, neutral .324; positive .1; M = .829
    tokens = [
        token('{"label":"'),
        token("n", 0.9, {"n": 0.9, "p": 0.1}),
        token("e", 0.9, {"e": 0.9, "o": 0.1}),
        token("u", 0.4, {"g": 0.5, "u": 0.4, "w": 0.1}),
        token("tral", 0.3),
        token('"}'),
    ]
    found = score(tokens, "neutral")
    assert shares(found) == closely({"positive": 0.1 / 0.829, "negative": 0.405 / 0.829, "neutral": 0.324 / 0.829})
    assert found.mass == pytest.approx(0.829)


def test_a_beginning_shared_with_the_emitted_label_that_was_not_chosen_is_lost():
    # `n` can't be followed: M = .6 + .3; the lost .1 is no label's
    top = {"neg": 0.6, "n": 0.1, "positive": 0.3}
    found = score([token('{"label":"'), token("neg", 0.6, top), token("ative", 1), token('"}')], "negative")
    assert shares(found) == closely({"positive": 3 / 9, "negative": 6 / 9, "neutral": 0})
    assert found.mass == pytest.approx(0.9)
    # more of it makes the rest say too little
    top = {"neg": 0.5, "n": 0.3, "positive": 0.2}
    found = score([token('{"label":"'), token("neg", 0.5, top), token("ative"), token('"}')], "negative")
    assert found == Score(None, "low_label_mass", (), pytest.approx(0.7))


def test_a_beginning_shared_by_other_labels_is_theirs_together():
    # the emitted label's share is exact: .5 of 1; `ne` .3 is divided as neg .15 and neu .05 are, 3 to 1
    top = {"positive": 0.5, "ne": 0.3, "neg": 0.15, "neu": 0.05}
    found = score([token('{"label":"'), token("positive", 0.5, top), token('"}')], "positive")
    assert shares(found) == closely({"positive": 0.5, "negative": 0.375, "neutral": 0.125})
    # with nothing else to go by, in halves
    found = score([token('{"label":"'), token("positive", 0.6, {"positive": 0.6, "ne": 0.4}), token('"}')], "positive")
    assert shares(found) == closely({"positive": 0.6, "negative": 0.2, "neutral": 0.2})
    assert found.mass == pytest.approx(1)


def test_a_label_that_another_begins_with_is_told_by_the_closing_quote():
    # bad .8, then `"` .7 and ly .3: bad .56, badly .24; good .2
    options = ("good", "bad", "badly")
    tokens = [
        token('{"label":"'),
        token("bad", 0.8, {"bad": 0.8, "good": 0.2}),
        token('"}', 0.7, {'"}': 0.7, "ly": 0.3}),
    ]
    assert shares(score(tokens, "bad", options), options) == closely({"good": 0.2, "bad": 0.56, "badly": 0.24})


def test_a_label_that_ends_with_another_is_told_by_its_beginning():
    options = ("bad", "not bad")
    tokens = [token('{"label":"'), token("not", 0.6, {"not": 0.6, "bad": 0.4}), token(" bad"), token('"}')]
    assert shares(score(tokens, "not bad", options), options) == closely({"bad": 0.4, "not bad": 0.6})


def test_tokens_of_one_byte_each_give_the_same():
    # `p` .5 and `n` .5, of that .4 negative and .6 neutral: told at the third byte
    said = [token(each) for each in '{"label":"']
    said += [token("n", 0.5, {"n": 0.5, "p": 0.5}), token("e"), token("u", 0.6, {"g": 0.4, "u": 0.6})]
    said += [token(each) for each in 'tral"}']
    assert shares(score(said, "neutral")) == closely({"positive": 0.5, "negative": 0.2, "neutral": 0.3})


# Characters.


def test_a_character_may_be_split_between_tokens():
    # é is c3 a9, è is c3 a8: both begin with c3 .7, then a9 .6 and a8 .4; a .3
    options = ("é", "è", "a")
    tokens = [
        token('{"label":"'),
        token(b"\xc3", 0.7, {b"\xc3": 0.7, "a": 0.3}),
        token(b"\xa9", 0.6, {b"\xa9": 0.6, b"\xa8": 0.4}),
        token('"}'),
    ]
    assert shares(score(tokens, "é", options), options) == closely({"é": 0.42, "è": 0.28, "a": 0.3})


def test_escaped_characters_are_the_same_label():
    options = ("café", 'say "hi"', "😀")
    top = {"caf": 0.4, "say ": 0.3, "\\ud83d": 0.2, "😀": 0.1}
    tokens = [token('{"label":"'), token("caf", 0.4, top), token("\\u00"), token("e9"), token('"}')]
    assert shares(score(tokens, "café", options), options) == closely({"café": 0.4, 'say "hi"': 0.3, "😀": 0.3})
    tokens = [token('{"label":"'), token("say ", 0.3, top), token('\\"hi\\"'), token('"}')]
    assert score(tokens, 'say "hi"', options).confidence == pytest.approx(0.3)
    tokens = [token('{"label":"'), token("\\ud83d", 0.2, top), token("\\ude00"), token('"}')]
    assert score(tokens, "😀", options).confidence == pytest.approx(0.3)


# Numbers, words and null.


def test_a_number_that_another_begins_with_is_told_by_what_follows():
    # 1 .6, then } .75 and 0 .25: 1 has .45, 10 has .15; 2 has .4
    options = (1, 2, 10)
    tokens = [token('{"label":'), token(" 1", 0.6, {" 1": 0.6, "2": 0.4}), token("}", 0.75, {"}": 0.75, "0": 0.25})]
    assert shares(score(tokens, 1, options), options) == closely({1: 0.45, 2: 0.4, 10: 0.15})
    tokens = [token('{"label": '), token("10", 0.6, {"10": 0.6, "2": 0.3, "10,": 0.1}), token("}")]
    assert shares(score(tokens, 10, options), options) == closely({1: 0, 2: 0.3, 10: 0.7})


def test_a_boolean_is_no_number():
    options = (True, False)
    tokens = [token('{"label":'), token(" true", 0.8, {" true": 0.8, "false": 0.1, " 1": 0.1}), token("}")]
    found = score(tokens, True, options)
    assert shares(found, options) == closely({True: 8 / 9, False: 1 / 9})
    assert score(tokens, 1, options).source == "unlocated"


def test_null_among_labels_is_weighed_where_the_key_ends():
    # Emitted `":"` .8, then positive .75: .6, negative .2. `":` .2 may become any of them: lost, null's too.
    options = ("positive", "negative", None)
    tokens = [
        token('{"'),
        token("label"),
        token('":"', 0.8, {'":"': 0.8, '":': 0.2}),
        token("positive", 0.75, {"positive": 0.75, "negative": 0.25}),
        token('"}'),
    ]
    found = score(tokens, "positive", options)
    assert shares(found, options) == closely({"positive": 0.75, "negative": 0.25, None: 0})
    assert found.mass == pytest.approx(0.8)
    # Emitted `":` .6, then null .9 and ` "` .1: null .54; `":"` .4 and .06 are the labels', in halves
    tokens = [
        token('{"'),
        token("label"),
        token('":', 0.6, {'":"': 0.4, '":': 0.6}),
        token("null", 0.9, {"null": 0.9, ' "': 0.1}),
        token("}"),
    ]
    assert shares(score(tokens, None, options), options) == closely({"positive": 0.23, "negative": 0.23, None: 0.54})


def test_null_is_weighed_beside_a_quote_of_its_own_token():
    # ` "` .7, of that positive .9 and negative .1; ` null` .2 and `null` .1
    options = ("positive", "negative", None)
    tokens = [
        token('{"label'),
        token('":'),
        token(' "', 0.7, {' "': 0.7, " null": 0.2, "null": 0.1}),
        token("positive", 0.9, {"positive": 0.9, "negative": 0.1}),
        token('"}'),
    ]
    assert shares(score(tokens, "positive", options), options) == closely(
        {"positive": 0.63, "negative": 0.07, None: 0.3}
    )


def test_labels_and_numbers_may_be_mixed():
    options = ("1", 1, 12)
    tokens = [token('{"label":'), token(' "', 0.4, {' "': 0.4, " 1": 0.6}), token("1"), token('"}')]
    # ` 1` may become 1 and 12: both are not the emitted one
    assert shares(score(tokens, "1", options), options) == closely({"1": 0.4, 1: 0.3, 12: 0.3})


# One value without an object.


@pytest.mark.parametrize("before", ["", "\n", "```\n"])
@pytest.mark.parametrize("after", ["", "\n", "\n```"])
def test_a_bare_label_is_read_as_one_in_an_object(before, after):
    after = after if before.startswith("`") == after.endswith("`") else ""
    tokens = [token(before), token("pos", 0.6, {"pos": 0.6, "ne": 0.4}), token("itive"), token(after or "<end>")]
    text = before + "positive" + after
    if before.startswith("`") and not after:
        text += "\n```"
        tokens[-1] = token("\n```")
    assert score(tokens, "positive", text=text).confidence == pytest.approx(0.6)


def test_a_blank_before_a_bare_label_makes_no_other_label():
    tokens = [token(" positive", 0.5, {" positive": 0.5, "positive": 0.2, " negative": 0.3})]
    assert shares(score(tokens, "positive")) == closely({"positive": 0.7, "negative": 0.3, "neutral": 0})
    assert score(tokens, "positive", text="positive").confidence == pytest.approx(0.7)


def test_a_bare_label_that_another_begins_with_is_told_by_what_follows():
    options = ("good", "bad", "badly")
    top = {"bad": 0.8, "good": 0.2}
    # told by the next token: bad .8 x .7
    tokens = [token("bad", 0.8, top), token("\n", 0.7, {"\n": 0.7, "ly": 0.3})]
    assert shares(score(tokens, "bad", options), options) == closely({"good": 0.2, "bad": 0.56, "badly": 0.24})
    # where nothing more is told, the chosen one has what it could be
    assert shares(score(tokens[:1], "bad", options), options) == closely({"good": 0.2, "bad": 0.8, "badly": 0})


def test_a_quoted_value_without_an_object_is_read_between_its_quotes():
    tokens = [token('"'), token("positive", 0.6, {"positive": 0.6, "negative": 0.4}), token('"')]
    assert score(tokens, "positive").confidence == pytest.approx(0.6)
    tokens = [token("7", 0.6, {"7": 0.6, "5": 0.4}), token("")]
    assert score(tokens, 7, (5, 7)).confidence == pytest.approx(0.6)
    assert score(tokens, "7", ("5", "7")).confidence == pytest.approx(0.6)


# What the lists hold.


def test_an_emitted_token_missing_from_its_list_is_added_once():
    top = {"negative": 0.7, "neutral": 0.05}
    found = score([token('{"label":"'), token("positive", 0.2, top), token('"}')], "positive")
    assert shares(found) == closely({"positive": 0.2 / 0.95, "negative": 0.7 / 0.95, "neutral": 0.05 / 0.95})
    top |= {"positive": 0.2}
    again = score([token('{"label":"'), token("positive", 0.2, top), token('"}')], "positive")
    assert again.probabilities == pytest.approx(found.probabilities)


def test_two_tokens_of_the_same_bytes_both_count():
    top = ((b"positive", log(0.4)), (b"negative", log(0.3)), (b"positive", log(0.2)), (b"negative", log(0.1)))
    found = score([token('{"label":"'), Token(b"positive", log(0.4), top), token('"}')], "positive")
    assert shares(found) == closely({"positive": 0.6, "negative": 0.4, "neutral": 0})


def test_probabilities_from_before_the_grammar_say_too_little():
    # the label that was forced has .0016 of the model's own probability, no other is in the list
    top = {"The": 0.5, "I": 0.3, "positive": 0.0016}
    found = score([token('{"label":"'), token("positive", 0.0016, top), token('"}')], "positive")
    assert found == Score(None, "low_label_mass", (), pytest.approx(0.0016))


def test_without_alternatives_only_what_is_all_but_certain_has_a_confidence():
    found = score([token('{"label":"'), token("positive", 0.9), token('"}')], "positive")
    assert found == Score(None, "no_logprobs", (), pytest.approx(0.9))
    # below the floor, too: nobody knows what the other labels had
    found = score([token('{"label":"'), token("positive", 0.6, {"positive": 0.6}), token('"}')], "positive")
    assert found == Score(None, "no_logprobs", (), pytest.approx(0.6))
    assert shares(score([token('{"label":"'), token("positive", 0.999), token('"}')], "positive")) == closely(
        {"positive": 1, "negative": 0, "neutral": 0}
    )
    assert score([token('{"label":"'), token("a", 0.9), token('"}')], "a", ("a",)).confidence == 1


def test_the_least_mass_that_says_something_is_eight_tenths():
    for p, source in ((0.4, "low_label_mass"), (0.5, "logprobs")):
        found = score(
            [token('{"label":"'), token("positive", p, {"positive": p, "negative": 0.35}), token('"}')], "positive"
        )
        assert found.source == source
        assert found.mass == pytest.approx(p + 0.35)


def test_a_mass_is_at_most_1():
    top = {"positive": 0.7, "negative": 0.300001}
    found = score([token('{"label":"'), token("positive", 0.7, top), token('"}')], "positive")
    assert found.mass == 1
    shares(found)


@pytest.mark.parametrize("nothing", [-math.inf, -9999.0, -1000.5])
def test_minus_infinity_and_what_servers_write_for_it_is_no_probability(nothing):
    top = ((b"positive", log(0.9)), (b"negative", nothing))
    found = score([token('{"label":"'), Token(b"positive", log(0.9), top), token('"}')], "positive")
    assert shares(found) == closely({"positive": 1, "negative": 0, "neutral": 0})
    # a chosen one of no probability is the least sure of all
    top = ((b"positive", log(0.95)), (b"neutral", log(0.05)))
    found = score([token('{"label":"'), Token(b"negative", nothing, top), token('"}')], "negative")
    assert found.confidence == 0
    assert score([Token(b"a b", nothing)], "a b", (), key=None).confidence == 0


def test_nan_is_no_probability_that_could_be_counted():
    for top in ((), ((b"positive", math.nan), (b"negative", -1.0))):
        assert (
            score([token('{"label":"'), Token(b"positive", math.nan, top), token('"}')], "positive").source
            == "no_logprobs"
        )
    top = ((b"positive", log(0.9)), (b"negative", math.nan))
    assert (
        score([token('{"label":"'), Token(b"positive", log(0.9), top), token('"}')], "positive").source == "no_logprobs"
    )
    assert score([Token(b"a", math.nan)], "a", (), key=None).source == "no_logprobs"


# Free values.


HEALTH = [
    ('{"', -0.006),
    ("category", 0.0),
    ('":"', -0.2),
    ("health", -0.168),
    (" and", 0.0),
    (" wellness", 0.0),
    ('"}', 0.0),
]


def test_a_free_value_has_the_product_of_its_own_tokens():
    # The example of the package llm-structured-confidence 0.1: exp(-.168) = .8454; with the token `":"`, which only
    # borders on the value, it would be exp(-.2 - .168) = .6921.
    tokens = [Token(text.encode(), logprob) for text, logprob in HEALTH]
    found = score(tokens, "health and wellness", (), key="category")
    assert found == Score(pytest.approx(0.8454, abs=5e-5), "logprobs")


@pytest.mark.parametrize(
    ("parts", "expected"),
    [
        ([('{"label": ', 0.1), ("4", 0.5), (".5", 0.5), ("}", 0.1)], 0.25),
        ([('{"label": ["', 0.1), ("a", 0.5), ('"]}', 0.1)], 0.5),
        ([('{"label": ', 0.1), ('["', 0.5), ("a", 0.5), ('"]', 0.5), ("}", 0.1)], 0.125),
        ([('{"label": "a', 0.1), ("b", 0.5), ('c"}', 0.1)], 0.5),
        ([('{"label": ', 0.1), ("null", 0.5), ("}", 0.1)], 0.5),
    ],
)
def test_tokens_with_structure_are_no_part_of_a_free_value(parts, expected):
    assert score([token(*part) for part in parts], None, ()).confidence == pytest.approx(expected)


def test_a_free_value_without_a_token_of_its_own_is_not_located():
    assert score([token('{"label": "a"}')], "a", ()) == Score(None, "unlocated")


def test_free_text_has_the_product_of_all_its_tokens():
    tokens = [token("Hello", 0.5), token(" you", 0.5), token("", 0.1)]
    assert score(tokens, "Hello you", (), key=None).confidence == pytest.approx(0.25)


def test_a_bare_free_value_is_read_as_one_in_an_object():
    assert score([token("Hel", 0.5), token("lo", 0.5), token("\n", 0.5)], "Hello", ()).confidence == pytest.approx(0.25)


# Several fields, and what isn't there.


def test_each_target_has_its_score():
    text = '{"a": "x", "b": 2, "c": "free"}'
    tokens = [
        token('{"a": "'),
        token("x", 0.9, {"x": 0.9, "y": 0.1}),
        token('", "b": '),
        token("2", 0.7, {"2": 0.7, "1": 0.3}),
        token(', "c": "'),
        token("free", 0.5),
        token('"}'),
    ]
    targets = [Target("a", "a", ("x", "y")), Target("b", "b", (1, 2)), Target("c", "c"), Target("d", "d", ("x", "y"))]
    found = token_scores(text, tokens, targets, ["x", 2, "free", "x"])
    assert [each.confidence for each in found] == [pytest.approx(0.9), pytest.approx(0.7), pytest.approx(0.5), None]
    assert found[3] == Score(None, "unlocated")


def test_a_field_may_stand_under_its_own_name_instead_of_its_key():
    tokens = [token('{"column": "'), token("positive", 0.6, {"positive": 0.6, "negative": 0.4}), token('"}')]
    assert score(tokens, "positive", key="Label!").confidence == pytest.approx(0.6)


@pytest.mark.parametrize("tokens", [None, []])
def test_no_tokens_are_no_logprobs(tokens):
    targets = [Target("a", "a", ("x", "y")), Target("b", "b")]
    assert token_scores('{"a": "x", "b": ""}', tokens, targets, ["x", ""]) == (Score(None, "no_logprobs"),) * 2


def test_tokens_around_the_text_are_passed_over():
    inner = [token('{"label":"'), token("positive", 0.6, {"positive": 0.6, "negative": 0.4}), token('"}')]
    text = '{"label":"positive"}'
    assert score(
        [token("<think> positive"), token("\n\n"), *inner, token("<end>"), token("")], "positive", text=text
    ) == (score(inner, "positive"))


@pytest.mark.parametrize(
    ("said", "value", "options"),
    [
        ('{"label":"negative"}', "positive", SENTIMENT),  # other tokens than the text's
        ('{"label":"positive"}{"label":"positive"}', "positive", SENTIMENT),  # twice
        ('{"label":"positive"}', "great", SENTIMENT),  # a value that isn't an option
        ('{"label":"positive"}', "negative", SENTIMENT),  # a validator made another one of it
        ('{"label":"positive"}', "x", ("x", "y")),
        ('{"label":"positive"}', None, ("x", "positively")),
    ],
)
def test_a_label_that_the_tokens_do_not_show_is_not_located(said, value, options):
    assert score([token(said)], value, options, text='{"label":"positive"}') == Score(None, "unlocated")


# Laws.


@st.composite
def replies(draw):
    """A label drawn by known probabilities, and its reply cut into tokens at any bytes, each with its true list.

    Every list holds whatever would have differed from the chosen token, with the probability it has after what came
    before; other labels' tokens are cut anywhere behind the first byte in which they differ.
    """
    ascii_only = draw(st.booleans())
    # é may be escaped, too: a list's lone backslash could be its beginning where nothing else is escaped
    letters = 'abé😀"\\' if ascii_only else "abé😀"
    labels = draw(st.lists(st.text(letters, max_size=5), min_size=2, max_size=5, unique=True))
    weights = draw(st.lists(st.integers(1, 9), min_size=len(labels), max_size=len(labels)))
    outside = draw(st.sampled_from([0.0, 0.1, 0.5]))
    place = draw(st.integers(0, len(labels) - 1))
    head = b'{"label": '
    texts = [head + json.dumps(label, ensure_ascii=ascii_only).encode() + b"}" for label in labels]
    chosen, value = texts[place], len(head) + 1
    # a list is only needed from the first token that reaches into the label
    cuts = sorted(draw(st.sets(st.integers(1, len(chosen) - 1))) | {0, len(chosen)})
    tokens: list[Token] = []
    for start, end in itertools.pairwise(cuts):
        own = chosen[start:end]
        here = {n: w for n, w in enumerate(weights) if texts[n][:start] == chosen[:start]}
        parts: dict[bytes, float] = {}
        for n, weight in here.items():
            rest = texts[n][start:]
            if rest.startswith(own):
                rest = own
            else:
                differs = next(at for at in range(len(rest)) if rest[at] != own[at])
                rest = rest[: draw(st.integers(differs + 1, len(rest)))]
            parts[rest] = parts.get(rest, 0.0) + weight / sum(here.values())
        if start <= value < end or start == value:
            parts = {part: share * (1 - outside) for part, share in parts.items()} | {
                own[: max(0, value - start)] + b"#": outside
            }
        shuffled = draw(st.permutations(list(parts.items())))
        tokens.append(Token(own, log(parts[own]), tuple((part, log(share)) for part, share in shuffled if share > 0)))
    return labels, [weight / sum(weights) for weight in weights], outside, place, tokens


@given(replies())
def test_the_labels_share_is_the_same_however_the_reply_is_cut_into_tokens(reply):
    labels, probabilities, outside, place, tokens = reply
    found = score(tokens, labels[place], labels)
    assert found.mass == pytest.approx(1 - outside)
    if outside > 0.2:
        assert found.source == "low_label_mass"
    else:
        assert found.confidence == pytest.approx(probabilities[place])
        assert math.fsum(found.probabilities) == pytest.approx(1)


@given(
    st.lists(st.tuples(st.sampled_from(["a", "ab", " A", "b", '"', "x", "", 'a"}']), st.floats(-20, 0)), max_size=8),
    st.sampled_from(["a", "b", "ab"]),
    st.floats(-20, 0),
)
def test_whatever_the_list_holds_the_shares_add_up_to_1_or_there_are_none(top, label, own):
    listed = tuple((text.encode(), logprob) for text, logprob in top)
    found = score([token('{"label":"'), Token(label.encode(), own, listed), token('"}')], label, ("a", "b", "ab"))
    if found.confidence is None:
        assert found.probabilities == ()
        assert found.source in {"low_label_mass", "no_logprobs"}
    else:
        assert math.fsum(found.probabilities) == pytest.approx(1)
        assert found.confidence == found.probabilities[("a", "b", "ab").index(label)]
    assert found.mass is not None
    assert 0 <= found.mass <= 1
