from __future__ import annotations

import pytest
from typer.testing import CliRunner

from llmframe.cli.demo import accuracy_lines
from llmframe.cli.main import app
from llmframe.testing import Provider, Status


def labelled(pairs: list[tuple[str, str | None]]) -> list[dict[str, object]]:
    return [{"human": human, "label": label, "error": None if label else "timeout: x"} for human, label in pairs]


def test_accuracy_counts_answered_rows_beside_the_commonest_label():
    rows = labelled([("positive", "positive"), ("positive", "negative"), ("negative", "negative"), ("positive", None)])
    assert accuracy_lines(rows) == [
        "the model: 2 of 3 answered rows right (67%)",
        "always 'positive': 3 of 4 rows right (75%)",
    ]


def test_without_an_answer_only_the_baseline_is_told():
    assert accuracy_lines(labelled([("positive", None), ("negative", None)])) == [
        "always 'positive': 1 of 2 rows right (50%)"
    ]


def test_it_labels_compares_and_reports(monkeypatch: pytest.MonkeyPatch):
    with Provider() as provider:
        monkeypatch.setenv("OPENAI_BASE_URL", provider.base_url)
        monkeypatch.setenv("OPENAI_API_KEY", provider.api_key)
        result = CliRunner().invoke(app, ["demo", "--rows", "10", "--model", "openai/simulated"])
        assert provider.requests == 10
    assert result.exit_code == 0, result.output
    for word in ("human", "answered rows right", "of 10 rows right (50%)", "answered rows/s", "requests"):
        assert word in result.output


@pytest.mark.filterwarnings("ignore::llmframe.LlmframeWarning")
def test_failed_rows_show_in_the_exit_code(monkeypatch: pytest.MonkeyPatch):
    with Provider() as provider:
        provider.always(Status(400, message="no"))
        monkeypatch.setenv("OPENAI_BASE_URL", provider.base_url)
        monkeypatch.setenv("OPENAI_API_KEY", provider.api_key)
        result = CliRunner().invoke(app, ["demo", "--rows", "4", "--model", "openai/simulated"])
    assert result.exit_code == 3
    assert "bad_request" in result.output


def test_a_model_that_cannot_be_is_one_line_and_exit_2():
    result = CliRunner().invoke(app, ["demo", "--rows", "4", "--model", "local/nonsense"])
    assert result.exit_code == 2
    assert "nonsense" in result.stderr
    assert "Traceback" not in result.output


@pytest.mark.local_model
def test_the_embedded_model_labels_real_reviews():
    result = CliRunner().invoke(app, ["demo", "--rows", "6"])
    assert result.exit_code == 0, result.output
    assert "of 6 answered rows right" in result.output
