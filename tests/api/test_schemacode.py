"""What of a schema's code can judge a reply otherwise."""

from __future__ import annotations

import subprocess
import sys
from importlib import import_module
from itertools import count
from pathlib import Path
from typing import Any, Literal

import pytest

from llmframe.api.schemacode import code_of
from llmframe.core.schema_text import parse_schema

_numbers = count()

BY_A_HELPER = """
from pydantic import BaseModel, field_validator

KNOWN = {known}

def known(value):
    if value not in KNOWN:
        raise ValueError("unknown")
    return value

class Verdict(BaseModel):
    label: str

    @field_validator("label")
    @classmethod
    def check(cls, value):
        return known(value)
"""

BY_A_CLOSURE = """
from typing import Annotated
from pydantic import AfterValidator, BaseModel

def at_most(limit):
    def check(value):
        assert len(value) <= limit
        return value
    return check

class Verdict(BaseModel):
    labels: list[Annotated[str, AfterValidator(at_most({limit}))]]
"""

BY_ANOTHER_MODULE = """
import {rules} as rules
from pydantic import BaseModel, model_validator

class Verdict(BaseModel):
    label: str

    @model_validator(mode="after")
    def check(self):
        return rules.fits(self)
"""

BY_A_PATTERN = """
import re
from dataclasses import dataclass
from typing import Annotated
from pydantic import AfterValidator

FORM = re.compile({form!r})

def formed(value):
    assert FORM.match(value)
    return value

@dataclass
class Verdict:
    code: Annotated[str, AfterValidator(formed)]
"""

BY_A_PARTIAL = """
from functools import partial
from typing import Annotated
from pydantic import AfterValidator

def below(value, *, limit):
    assert value < limit
    return value

Verdict = Annotated[int, AfterValidator(partial(below, limit={limit}))]
"""


@pytest.fixture
def schema(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    """A function: text of a module to the schema `Verdict` in it, which stands in another module each time."""
    monkeypatch.syspath_prepend(tmp_path)

    def made(text: str) -> Any:
        return import_module(_module(tmp_path, text)).Verdict

    return made


def _module(folder: Path, text: str) -> str:
    name = f"schemacode_{next(_numbers)}"
    (folder / f"{name}.py").write_text(text)
    return name


@pytest.mark.parametrize(
    ("first", "other"),
    [
        (BY_A_HELPER.format(known=["a"]), BY_A_HELPER.format(known=["a", "b"])),
        (BY_A_CLOSURE.format(limit=3), BY_A_CLOSURE.format(limit=4)),
        (BY_A_PATTERN.format(form="[a-z]"), BY_A_PATTERN.format(form="[0-9]")),
        (BY_A_PARTIAL.format(limit=3), BY_A_PARTIAL.format(limit=4)),
    ],
    ids=["helper", "closure", "pattern", "partial"],
)
def test_what_a_validator_goes_by_is_a_part_of_it(schema: Any, first: str, other: str):
    assert code_of(schema(first)) == code_of(schema(first)) != code_of(schema(other))


def test_so_is_what_it_calls_in_another_module_of_the_users(schema: Any, tmp_path: Path):
    bodies = ("verdict", "verdict", "verdict.model_copy()")
    rules = [_module(tmp_path, f"def fits(verdict):\n    return {body}\n") for body in bodies]
    first, same, other = (
        [text.replace(name, "rules") for text in code_of(schema(BY_ANOTHER_MODULE.format(rules=name)))]
        for name in rules
    )
    assert first == same != other


@pytest.mark.parametrize("plain", [str, Literal["a", "b"], ["a", "b"], list[int], parse_schema("label: a|b")])
def test_without_code_of_the_users_there_is_none(plain: object):
    assert [text for text in code_of(plain) if "def " in text or "class " in text] == []


def test_code_of_installed_packages_is_left_out(schema: Any):
    text = "import pandas as pd\n" + BY_A_HELPER.format(known=[]).replace("value not in KNOWN", "pd.isna(value)")
    assert len(code_of(schema(text))) < 10


def test_the_environment_of_a_process_is_left_out(schema: Any, monkeypatch: pytest.MonkeyPatch):
    text = BY_A_HELPER.format(known=[]).replace("value not in KNOWN", 'value in os.environ["PATH"]')
    verdict = schema(f"import os\n{text}")
    before = code_of(verdict)
    monkeypatch.setenv("LLMFRAME_TESTED", "another")
    assert code_of(verdict) == before


def test_a_set_is_the_same_in_every_process(tmp_path: Path):
    """Texts are hashed otherwise in each process, and with them a set's order changes."""
    name = _module(tmp_path, BY_A_HELPER.format(known=set("abcdefgh")))
    program = f"from llmframe.api.schemacode import code_of; import {name}; print(code_of({name}.Verdict))"
    told = {
        subprocess.run(
            [sys.executable, "-c", program],
            env={"PYTHONPATH": str(tmp_path), "PYTHONHASHSEED": seed},
            capture_output=True,
            check=True,
        ).stdout
        for seed in ("1", "2", "3")
    }
    assert len(told) == 1
