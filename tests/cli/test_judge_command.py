"""A judge's card on the command line: what it exits with is what CI needs."""

from __future__ import annotations

import csv
import json
import random
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from llmframe.cli.judge_command import read_gates
from llmframe.cli.main import app
from llmframe.errors import UsageError

ASK = ["--pred", "label", "--gold", "human"]


def llmframe(*arguments: str) -> Result:
    return CliRunner().invoke(app, ["judge", *arguments], env={"COLUMNS": "80"})


def written(name: str, *, good: float, n: int = 100) -> None:
    source = random.Random(2)
    with Path(name).open("w", newline="") as file:
        table = csv.writer(file)
        table.writerow(["id", "human", "label", "confidence", "error"])
        for number in range(n):
            human = source.choice(["yes", "no"])
            label = human if source.random() < good else {"yes": "no", "no": "yes"}[human]
            table.writerow([number, human, label, f"{source.uniform(0.6, 1):.2f}", ""])


@pytest.fixture(autouse=True)
def files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    written("good.csv", good=0.97)
    written("bad.csv", good=0.7)


def test_a_good_judge_passes_its_gate_and_the_card_is_told():
    result = llmframe("good.csv", *ASK, "--min", "kappa.low=0.6", "--max", "failed=0")
    assert result.exit_code == 0, result.output
    assert result.stdout.startswith("llmframe report card · label against human · 100 rows\n")
    assert "Cohen's kappa" in result.stdout
    assert result.stderr == ""


def test_a_bad_judge_exits_5_with_the_reason():
    result = llmframe("bad.csv", *ASK, "--min", "kappa.low=0.6", "--quiet")
    assert result.exit_code == 5
    assert result.stdout == ""
    assert result.stderr.startswith("gate: kappa.low is 0.")
    assert result.stderr.endswith(", less than 0.6\n")


def test_a_number_that_is_unknown_breaks_its_gate():
    Path("one.csv").write_text("label,human\nyes,yes\nyes,yes\n")
    result = llmframe("one.csv", *ASK, "--min", "kappa=0", "--quiet")
    assert result.exit_code == 5
    assert result.stderr.startswith("gate: kappa is unknown (all have one and the same label")


def test_json_is_one_object_of_flat_keys_with_the_broken_gates():
    result = llmframe("bad.csv", *ASK, "--json", "--min", "kappa.low=0.6")
    told = json.loads(result.stdout)
    assert result.exit_code == told["exit_code"] == 5
    assert told["broken"][0].startswith("kappa.low is")
    assert told["rows"] == 100
    assert 0 < told["ece"] < 1
    assert told["output"] is None


@pytest.mark.parametrize(
    ("name", "begin"), [("card.html", "<!doctype html>"), ("card.md", "# llmframe"), ("card.json", "{")]
)
def test_the_card_is_written_in_the_form_of_its_name_also_when_a_gate_breaks(name: str, begin: str):
    result = llmframe("bad.csv", *ASK, "-o", name, "--min", "accuracy=1")
    assert result.exit_code == 5
    assert Path(name).read_text(encoding="utf-8").startswith(begin)
    assert f"wrote {name}" in result.stderr


def test_a_card_that_is_there_is_replaced_only_when_that_is_said():
    Path("card.md").write_text("mine")
    refused = llmframe("good.csv", *ASK, "-o", "card.md")
    assert refused.exit_code == 2
    assert "--exists replace" in refused.stderr
    assert Path("card.md").read_text() == "mine"
    assert llmframe("good.csv", *ASK, "-o", "card.md", "--exists", "replace", "--quiet").exit_code == 0
    assert Path("card.md").read_text() != "mine"


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ([*ASK, "--min", "kapa.low=0.6"], "did you mean 'kappa.low'"),
        ([*ASK, "--min", "kappa.low"], "--min must be a key of the card and a number"),
        ([*ASK, "--max", "ece=small"], "--max must be a key of the card and a number"),
        ([*ASK, "--min", "kappa=0.5", "--min", "kappa=0.6"], "twice"),
        ([*ASK, "-o", "card.pdf"], "ends in none of .html, .md, .json"),
        (["--pred", "lable", "--gold", "human"], "did you mean 'label'"),
        (["--pred", "label"], "--gold wasn't named"),
        (["--gold", "human"], "--pred wasn't named"),
        ([*ASK, "--scale", "interval"], "takes numbers"),
    ],
    ids=["key", "no number", "word", "twice", "end", "pred", "no gold", "no pred", "scale"],
)
def test_wrong_use_exits_2_with_its_remedy_and_writes_nothing(arguments: list[str], words: str):
    result = llmframe("good.csv", *arguments)
    assert result.exit_code == 2, result.output
    assert words in result.stderr
    assert not list(Path().glob("card.*"))


def test_without_an_input_it_says_how_to_begin():
    assert "llmframe judge answers.parquet" in llmframe(*ASK).stderr


def test_levels_of_csv_are_ordinal_and_several_people_are_taken_together():
    source = random.Random(1)
    lines = ["level,h1,h2,doc"]
    for number in range(60):
        level = source.randint(2, 4)
        lines.append(f"{level},{level + source.choice([-1, 0, 1])},{level},{number // 2}")
    Path("levels.csv").write_text("\n".join(lines) + "\n")
    arguments = ["levels.csv", "--pred", "level", "--gold", "h1", "--gold", "h2", "--group", "doc", "--json"]
    told = json.loads(llmframe(*arguments).stdout)
    assert told["clusters"] == 30
    assert told["kappa_quadratic"] > 0.5
    assert told["alpha.humans"] > 0
    labels = [part for level in "12345" for part in ("--label", level)]
    assert "recall.5" in json.loads(llmframe(*arguments, "--scale", "ordinal", *labels).stdout)


def test_levels_that_are_texts_take_their_order():
    Path("words.csv").write_text("label,human\n" + "low,low\nmid,high\nhigh,high\nlow,mid\n" * 10)
    order = ["--scale", "ordinal", "--label", "low", "--label", "mid", "--label", "high"]
    told = json.loads(llmframe("words.csv", *ASK, *order, "--json").stdout)
    # of four rows one is a step too low, one a step too low as well
    assert told["bias"] == -0.5
    assert told["mae"] == 0.5


def test_a_gate_may_be_about_a_label_with_an_equals_sign():
    assert read_gates(["recall.a=b=0.5", " kappa = -1 "], "--min") == {"recall.a=b": 0.5, "kappa": -1.0}
    with pytest.raises(UsageError, match="got '=3'"):
        read_gates(["=3"], "--max")


def test_what_an_answer_says_cant_steer_the_terminal():
    Path("evil.csv").write_text("label,human\n\x1b[31myes,yes\nno,no\n" * 1)
    result = llmframe("evil.csv", *ASK)
    assert "\x1b" not in result.stdout
    assert "\\x1b[31myes" in result.stdout
