from __future__ import annotations

import errno
import json
import signal
import warnings

import pytest
import typer

from llmframe.cli import exits
from llmframe.errors import LlmframeWarning, MissingExtraError, StoreError, UsageError
from llmframe.report import RunReport


def ended(error: BaseException | None, *, as_json: bool = False) -> int:
    try:
        with exits.told(as_json=as_json):
            if error is not None:
                raise error
    except typer.Exit as leaving:
        return leaving.exit_code
    return 0


@pytest.mark.parametrize(
    ("error", "line", "status"),
    [
        (None, "", 0),
        (UsageError("say this"), "error: say this\n", 2),
        (MissingExtraError("`pip install that`"), "error: `pip install that`\n", 2),
        (StoreError("another program has it", reason="locked"), "error: another program has it\n", 2),
        (StoreError("no room", reason="full"), "error: no room\n", 1),
        (FileNotFoundError(errno.ENOENT, "No such file", "a.csv"), "error: No such file: 'a.csv'\n", 2),
        (OSError(errno.ENOSPC, "No space left on device"), "error: No space left on device\n", 1),
        (OSError("odd"), "error: odd\n", 2),
        (KeyboardInterrupt(), "error: interrupted\n", 130),
    ],
    ids=lambda value: type(value).__name__,
)
def test_what_went_wrong_is_one_line_and_a_status(
    error: BaseException | None, line: str, status: int, capsys: pytest.CaptureFixture[str]
):
    assert ended(error) == status
    assert capsys.readouterr() == ("", line)


def test_under_json_the_line_stands_in_the_object_too(capsys: pytest.CaptureFixture[str]):
    assert ended(UsageError("say this"), as_json=True) == 2
    out, err = capsys.readouterr()
    assert json.loads(out) == {"error": "say this", "exit_code": 2}
    assert err == "error: say this\n"


def test_a_reader_that_has_seen_enough_is_no_error_of_ours():
    with pytest.raises(BrokenPipeError):
        ended(BrokenPipeError(errno.EPIPE, "Broken pipe"))


def test_what_nobody_foresaw_keeps_its_traceback():
    with pytest.raises(ZeroDivisionError):
        ended(ZeroDivisionError())


def test_sigterm_ends_a_command_as_an_interrupt_and_its_handler_goes(capsys: pytest.CaptureFixture[str]):
    before = signal.getsignal(signal.SIGTERM)
    with pytest.raises(typer.Exit) as leaving, exits.told():
        signal.raise_signal(signal.SIGTERM)
    assert leaving.value.exit_code == 143
    assert capsys.readouterr().err == "error: ended by SIGTERM\n"
    assert signal.getsignal(signal.SIGTERM) is before


def test_a_warning_is_one_line_without_its_place_in_the_code(capsys: pytest.CaptureFixture[str]):
    with exits.told():
        for _ in range(2):
            warnings.warn("3 of 10 rows failed", LlmframeWarning, stacklevel=1)
    assert capsys.readouterr() == ("", "warning: 3 of 10 rows failed\n" * 2)


def test_other_warnings_stay_what_they_are():
    with exits.told(), pytest.warns(UserWarning, match="somebody else's"):
        warnings.warn("somebody else's", UserWarning, stacklevel=1)


@pytest.mark.parametrize(
    ("failed", "status"), [({}, 0), ({"timeout": 2}, 3), ({"timeout": 2, "budget": 1}, 4), ({"budget": 0}, 0)]
)
def test_the_status_of_a_run_tells_a_budget_before_other_failures(failed: dict[str, int], status: int):
    assert exits.status_of(RunReport(model="m", rows=3, failed=failed)) == status


def test_a_run_that_stopped_before_its_last_row_is_not_complete():
    assert exits.status_of(RunReport(model="m", rows=3, answered=3, state="stopped")) == 3


def test_every_status_has_its_meaning():
    assert list(exits.MEANINGS) == [0, 1, 2, 3, 4, 130, 143]
    assert exits.meanings().splitlines()[4] == "      3  some rows failed; their error column says why"
