"""Reading what a judge is measured on: the columns that are needed, numbers of CSV as numbers."""

from __future__ import annotations

from pathlib import Path

import polars as pl
import pytest

from llmframe.cli.judged_file import as_numbers, judged_rows
from llmframe.errors import UsageError

META = '{"model": "m", "source": "live", "fingerprint": "1"}'


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def test_only_the_needed_columns_are_read_in_their_order():
    Path("in.csv").write_text(
        "text,human,label,confidence,error,lang\nhello,yes,no,0.9,,en\nhi,,yes,0.5,timeout: x,de\n"
    )
    rows = judged_rows("in.csv", pred="label", gold=["human"], beside=["lang"])
    assert rows == [
        {"human": "yes", "label": "no", "confidence": 0.9, "error": None, "lang": "en"},
        {"human": None, "label": "yes", "confidence": 0.5, "error": "timeout: x", "lang": "de"},
    ]


def test_answers_and_gold_of_csv_are_numbers_where_all_of_both_are():
    Path("in.csv").write_text("level,h1,h2,sure\n1,2,,.5\n3,3,4,1\n")
    rows = judged_rows("in.csv", pred="level", gold=["h1", "h2"], confidence="sure")
    assert rows[0] == {"level": 1.0, "h1": 2.0, "h2": None, "sure": 0.5}
    Path("mixed.csv").write_text("level,human\n1,2\n3,none\n")
    assert judged_rows("mixed.csv", pred="level", gold=["human"])[0] == {"level": "1", "human": "2"}


def test_a_column_whose_type_is_said_stays_as_it_is():
    Path("in.csv").write_text("zip,human\n01,1\n")
    rows = judged_rows("in.csv", pred="zip", gold=["human"], types={"zip": "string"})
    assert rows == [{"zip": "01", "human": "1"}]


def test_what_rows_took_is_read_from_text():
    text = META.replace('"', '""')
    Path("in.csv").write_text(f'label,human,error,llm_meta\nyes,yes,,"{text}"\nno,no,,broken\n')
    rows = judged_rows("in.csv", pred="label", gold=["human"])
    assert [row["llm_meta"] for row in rows] == [{"model": "m", "source": "live", "fingerprint": "1"}, None]


@pytest.mark.parametrize("suffix", ["parquet", "jsonl", "csv", "arrow"])
def test_every_format_gives_the_same_rows(suffix: str):
    frame = pl.DataFrame({"label": ["yes", None], "human": ["no", "no"], "confidence": [0.75, None]})
    write = {"parquet": "write_parquet", "jsonl": "write_ndjson", "csv": "write_csv", "arrow": "write_ipc"}[suffix]
    getattr(frame, write)(f"in.{suffix}")
    assert judged_rows(f"in.{suffix}", pred="label", gold=["human"]) == frame.to_dicts()


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"pred": "lable", "gold": ["human"]}, "did you mean 'label'"),
        ({"pred": "label", "gold": ["humann"]}, "did you mean 'human'"),
        ({"pred": "label", "gold": ["human"], "beside": ["lang"]}, "lang"),
        ({"pred": "label", "gold": ["human"], "confidence": "sure"}, "sure"),
    ],
    ids=["pred", "gold", "by", "confidence"],
)
def test_a_column_that_is_not_there_is_told(options: dict[str, object], words: str):
    Path("in.csv").write_text("label,human\nyes,no\n")
    with pytest.raises(UsageError, match=words):
        judged_rows("in.csv", **options)


def test_a_file_without_rows_has_nothing_to_judge():
    Path("in.csv").write_text("label,human\n")
    with pytest.raises(UsageError, match=r"'in\.csv' has no rows"):
        judged_rows("in.csv", pred="label", gold=["human"])


@pytest.mark.parametrize("word", ["nan", "inf", "1_000", "", "1,5", "yes"])
def test_words_that_only_look_like_numbers_are_texts(word: str):
    assert as_numbers([word]) is None
