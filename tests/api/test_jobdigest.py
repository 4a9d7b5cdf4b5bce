"""What makes a job another one."""

from __future__ import annotations

from importlib import import_module
from pathlib import Path
from typing import Any, Literal

import polars as pl
import pytest

from llmframe.api.arguments import arguments
from llmframe.api.jobdigest import job_digest
from llmframe.api.prepared import asking
from llmframe.options import UNSET
from llmframe.testing import Provider

MODEL = """
from pydantic import BaseModel, field_validator

class Verdict(BaseModel):
    label: str

    @field_validator("label")
    @classmethod
    def known(cls, value):
        return {body}
"""


def digest(
    prompt: object = "J {t}", schema: object = str, *, files: dict[str, object] | None = None, **options: Any
) -> str | None:
    ask = asking(
        arguments(prompt, schema, {"model": "m", "base_url": "http://localhost/v1", "api_key": "k", **options})
    )
    return job_digest(ask, ask.client(sends=False), files or {})


def test_it_is_64_hex_digits_and_the_same_every_time():
    found = digest()
    assert found is not None
    assert len(bytes.fromhex(found)) == 32
    assert digest() == found


@pytest.mark.parametrize(
    "change",
    [
        {"prompt": "K {t}"},
        {"prompt": [{"role": "user", "content": "J {t}"}]},
        {"schema": int},
        {"schema": Literal["a", "b"]},
        {"system": "Be brief."},
        {"examples": [({"t": "x"}, "y")]},
        {"model": "n"},
        {"base_url": "http://localhost/v2"},
        {"params": {"temperature": 0}},
        {"prefix": "x_"},
        {"into": "answer"},
        {"meta": True},
        {"on_null": "render"},
        {"where": pl.col("n") > 1},
        {"cache": "refresh"},
        {"files": {"target": "csv"}},
    ],
)
def test_what_changes_the_output_changes_it(change: dict[str, Any]):
    assert digest(**change) not in (None, digest())


@pytest.mark.parametrize(
    "change",
    [{"api_key": "other"}, {"timeout": 5}, {"max_concurrency": 3}, {"budget": {"calls": 1}}, {"progress": False}],
)
def test_what_doesnt_leaves_it(change: dict[str, Any]):
    assert digest(**change) == digest()


@pytest.mark.parametrize("change", [{"prompt": lambda row: row["t"]}, {"where": lambda table: [True]}])
def test_a_function_has_none(change: dict[str, Any]):
    assert digest(**change) is None


def test_a_changed_validator_is_another_job(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """The wire schema is the same, so finished parts would be taken for what today's validator lets through."""
    monkeypatch.syspath_prepend(tmp_path)
    for name, body in (("first", "value"), ("same", "value"), ("other", "value.lower()")):
        (tmp_path / f"verdict_{name}.py").write_text(MODEL.format(body=body))
    first, same, other = (
        digest(schema=import_module(f"verdict_{name}").Verdict) for name in ("first", "same", "other")
    )
    assert first == same
    assert first != other


def test_two_simulated_providers_are_two_models():
    with Provider() as one, Provider() as other:
        here: dict[str, Any] = {"model": UNSET, "base_url": UNSET, "api_key": UNSET}
        assert digest(client=one, **here) != digest(client=other, **here)
