"""Which options the beginning of a value can still become."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from llmframe.core.jsontext import folded
from llmframe.core.label_texts import label_texts

SENTIMENT = ("positive", "negative", "neutral")


def possible(options: tuple[object, ...], text: str | bytes, *, plain: bool = False) -> list[object]:
    data = text.encode() if isinstance(text, str) else text
    return [options[place] for place in label_texts(options, plain=plain).possible(data)]


@pytest.mark.parametrize(
    ("text", "left"),
    [
        ("", ["positive", "negative", "neutral"]),
        (" \n", ["positive", "negative", "neutral"]),
        ('"', ["positive", "negative", "neutral"]),
        ('"p', ["positive"]),
        ('"ne', ["negative", "neutral"]),
        ('"neu', ["neutral"]),
        ('"positive"', ["positive"]),
        ('"positive"}', ["positive"]),
        ('"positive",\n"a', ["positive"]),
        ('"positive"\n```', ["positive"]),
        # no such option
        ('"x', []),
        ('"positively', []),
        ('"positi"', []),
        ('"positive"x', []),
        ("positive", []),
        ("null", []),
        ('"\\u00zz', []),
        ('"\\x"', []),
    ],
)
def test_options_are_told_by_their_beginning(text, left):
    assert possible(SENTIMENT, text) == left


@pytest.mark.parametrize("text", ['" Pos', '"POSITIVE', '"\\nposi', '" positive .', '"Positive."', '" pOsItIvE "'])
def test_blanks_case_and_a_full_stop_fold(text):
    assert possible(SENTIMENT, text) == ["positive"]


@pytest.mark.parametrize(
    ("text", "left"),
    [
        ('"U', ["US"]),
        ('"u', ["us"]),
        ('"Us', []),
        ('" US', []),
        ('"US"', ["US"]),
        ('"US."', []),
        ('"F', ["fr"]),  # nothing else folds to it
    ],
)
def test_options_that_folding_would_make_one_are_told_apart_to_the_letter(text, left):
    assert possible(("US", "us", "fr"), text) == left


@pytest.mark.parametrize(
    ("text", "left"),
    [
        ('"bad', ["bad", "badly", "not bad"][:2]),
        ('"bad"', ["bad"]),
        ('"bad.', ["bad"]),
        ('"badl', ["badly"]),
        ('"not', ["not bad"]),
        ('" not ba', ["not bad"]),
    ],
)
def test_an_option_that_holds_another_is_told_by_what_follows(text, left):
    assert possible(("bad", "badly", "not bad"), text) == left


@pytest.mark.parametrize(
    ("text", "left"),
    [
        ("1", [1, 10]),
        (" 1", [1, 10]),
        ("1}", [1]),
        ("1 ,", [1]),
        ("1\n```", [1]),
        ("10", [10]),
        ("11", []),
        ("1.", []),
        ("t", [True]),
        ("true", [True]),
        ("truex", []),
        ("n", [None]),
        ('"1', ["1"]),
        ('"n', []),
        ("-", [-1]),
    ],
)
def test_numbers_and_words_end_where_json_ends_them(text, left):
    assert possible((1, 10, True, None, "1", -1), text) == left


def test_one_and_true_are_two_options_in_any_order():
    assert possible((True,), "t") == [True]
    assert possible((1,), "t") == []
    assert possible((1,), "1") == [1]


@pytest.mark.parametrize(
    ("text", "left"),
    [
        ("bad", ["bad", "badly"]),
        ("Bad.", ["bad"]),
        ("bad\n```", ["bad"]),
        ('"badl', ["badly"]),
        ("1", ["1"]),
        ("US\n", ["US"]),
        ("us", ["us"]),
        ("a\\", ["a\\b"]),
        ("n", [None]),
    ],
)
def test_one_value_may_stand_without_quotes(text, left):
    assert possible(("bad", "badly", "1", "US", "us", "a\\b", None), text, plain=True) == left


def test_a_character_may_be_cut_anywhere():
    options = ("é", "ê", "😀", 'say "hi"', "a/b\\")  # é is c3 a9, ê is c3 aa
    assert possible(options, b'"\xc3') == ["é", "ê"]
    assert possible(options, b'"\xc3\xaa') == ["ê"]
    assert possible(options, b'"\xf0\x9f') == ["😀"]
    assert possible(options, '"\\u00') == ["é", "ê"]
    assert possible(options, '"\\u00E9') == ["é"]
    assert possible(options, '"\\ud83d\\u') == ["😀"]
    assert possible(options, '"\\ud83d\\ude00"') == ["😀"]
    assert possible(options, '"say \\') == ['say "hi"']
    assert possible(options, '"say \\"h') == ['say "hi"']
    assert possible(options, '"say "') == []
    assert possible(options, '"a\\/b\\') == ["a/b\\"]
    assert possible(options, '"a/b\\\\"') == ["a/b\\"]


@pytest.mark.parametrize(
    ("label", "cut"), [("0\r", '"0\\'), ("0\x1f", '"0\\u001f'), ("0\xa0.", '"0\\u00'), ("\t0", '"\\')]
)
def test_blanks_of_an_options_own_may_be_cut_within_their_escape(label, cut):
    assert possible((label, "1"), cut) == [label]


def test_an_empty_text_may_be_an_option():
    assert possible(("", "a"), '"') == ["", "a"]
    assert possible(("", "a"), '""') == [""]


def test_no_option_is_still_possible_where_several_would_fold_to_the_text():
    assert possible(("Yes", "yes"), '"YES"') == []


LABELS = st.lists(
    st.text(max_size=4) | st.sampled_from(["a", "A", "ab", "é", "a.", " a", "1"]), min_size=1, unique=True
)


@given(LABELS, st.data(), st.booleans())
def test_a_label_is_possible_at_each_of_its_bytes_and_alone_at_its_end(labels, data, ascii_only):
    label = data.draw(st.sampled_from(labels))
    text = json.dumps(label, ensure_ascii=ascii_only).encode("utf-8", "surrogatepass")
    texts = label_texts(labels)
    at = data.draw(st.integers(0, len(text)))
    assert labels.index(label) in texts.possible(text[:at])
    assert texts.possible(text) == (labels.index(label),)


@given(LABELS, st.data())
def test_a_whole_text_is_taken_for_the_option_that_the_reader_takes_it_for(labels, data):
    said = data.draw(st.sampled_from(labels)) + data.draw(st.sampled_from(["", ".", " ", "x"]))
    said = data.draw(st.sampled_from([said, said.upper(), said.lower(), f" {said}"]))
    read = folded(said, {"enum": labels}, {})
    expected = [labels.index(read)] if read in labels else []
    assert list(label_texts(labels).possible(json.dumps(said).encode())) == expected
