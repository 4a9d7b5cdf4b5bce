from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from llmframe.cli import values
from llmframe.errors import UsageError


def test_a_parameter_is_json_and_else_text():
    said = ["temperature=0", "seed=7", 'stop=["a", "b"]', "service_tier=flex", "user=a=b", "store=true"]
    assert values.read_params(said) == {
        "temperature": 0,
        "seed": 7,
        "stop": ["a", "b"],
        "service_tier": "flex",
        "user": "a=b",
        "store": True,
    }


def test_a_type_is_text_even_where_it_looks_like_json():
    assert values.read_types(["id=int64", "flag=null"]) == {"id": "int64", "flag": "null"}


@pytest.mark.parametrize(
    ("text", "budget"),
    [
        ("5", 5.0),
        ("$2.50", 2.5),
        ("usd=5", {"usd": 5.0}),
        (
            "usd=0.5, calls=1000,tokens=1e6,seconds=90.5",
            {"usd": 0.5, "calls": 1000, "tokens": 1_000_000, "seconds": 90.5},
        ),
    ],
)
def test_a_budget_is_dollars_or_limits_by_name(text: str, budget: object):
    read = values.read_budget(text)
    assert read == budget
    whole = [read[name] for name in ("calls", "tokens") if name in read] if isinstance(read, dict) else []
    assert all(isinstance(count, int) for count in whole)


@pytest.mark.parametrize(
    ("text", "named"),
    [
        ("five", "usd=5"),
        ("0", "usd=5"),
        ("nan", "usd=5"),
        ("dollars=5", "usd"),
        ("usd=", "usd=5"),
        ("usd=1,usd=2", "twice"),
    ],
)
def test_what_is_no_budget_is_refused_with_an_example(text: str, named: str):
    with pytest.raises(UsageError, match=named):
        values.read_budget(text)


@pytest.mark.parametrize("text", ["temperature", "=1", ""])
def test_a_parameter_without_a_name_or_a_value_is_refused(text: str):
    with pytest.raises(UsageError, match="--param must be name=value such as temperature=0"):
        values.read_params([text])


def test_the_words_of_the_cache_are_no_paths():
    assert [values.read_cache(text) for text in ("off", "OFF", "on", "refresh", "./off", "a/b.sqlite")] == [
        False,
        False,
        True,
        "refresh",
        "./off",
        "a/b.sqlite",
    ]


def test_prices_are_tables_by_model(tmp_path: Path):
    path = tmp_path / "prices.toml"
    path.write_text('["my/model"]\ninput = 0.15\noutput = 1\n[plain]\ninput=1\noutput=2\ncached=0.5\n')
    assert values.read_prices(path) == {
        "my/model": {"input": 0.15, "output": 1},
        "plain": {"input": 1, "output": 2, "cached": 0.5},
    }


@pytest.mark.parametrize(
    ("text", "told"),
    [("[m]\ninput = 1\n", "lacks 'output'"), ("a = ", "isn't TOML"), ("[m]\ninputs=1\noutput=1", "did you mean")],
)
def test_a_wrong_table_of_prices_is_told_with_its_file(tmp_path: Path, text: str, told: str):
    path = tmp_path / "prices.toml"
    path.write_text(text)
    with pytest.raises(UsageError, match=told) as caught:
        values.read_prices(path)
    assert "prices.toml" in str(caught.value)


def test_a_table_of_prices_that_is_not_there_is_told(tmp_path: Path):
    with pytest.raises(UsageError, match="can't be read: No such file"):
        values.read_prices(tmp_path / "prices.toml")


def test_ages_and_sizes_have_units():
    # 30 days of 86,400 s; 1.5 * 10**9; 2 * 2**20
    assert values.read_age("30d") == 2_592_000
    assert [values.read_age(text) for text in ("90s", "1.5m", "2h", "1w")] == [90, 90, 7200, 604_800]
    assert [values.read_size(text) for text in ("1.5GB", "2MiB", "12 kB", "7b")] == [
        1_500_000_000,
        2_097_152,
        12_000,
        7,
    ]


@pytest.mark.parametrize(
    ("read", "text"),
    [
        (values.read_age, "30"),
        (values.read_age, "old"),
        (values.read_age, "-1d"),
        (values.read_size, "2"),
        (values.read_size, "GB"),
    ],
)
def test_an_age_or_a_size_without_its_unit_is_refused(read: Callable[[str], object], text: str):
    with pytest.raises(UsageError, match="must be a number and a unit"):
        read(text)
