"""The options of `map` and `plan`, held against `use()`, the job file and each other."""

from __future__ import annotations

import inspect
from typing import Any, get_type_hints

import typer.main

from llmframe.cli.asked import OF_THE_COMMAND, OF_THE_OUTPUT
from llmframe.cli.job import OPTIONS
from llmframe.cli.main import app
from llmframe.cli.map_command import map_command
from llmframe.cli.plan_command import plan_command
from llmframe.options import SENDING_OPTIONS

FLAGS = {"as_json", "quiet"}


def options(command: Any) -> dict[str, inspect.Parameter]:
    return dict(inspect.signature(command).parameters)


def test_every_sending_option_can_be_said_but_the_key_and_a_client():
    assert set(SENDING_OPTIONS) - {"api_key", "client"} <= set(options(map_command))
    assert not {"api_key", "client"} & set(options(map_command))


def test_a_job_file_may_say_what_the_line_may():
    assert set(OPTIONS) == set(options(map_command)) - OF_THE_COMMAND


def test_a_plan_takes_the_options_of_a_map_but_those_about_its_output():
    assert set(options(map_command)) - set(options(plan_command)) == OF_THE_OUTPUT | {"quiet"}
    ours, theirs = get_type_hints(map_command, include_extras=True), get_type_hints(plan_command, include_extras=True)
    assert {name: ours[name] for name in theirs} == theirs


def test_nothing_has_a_default_of_its_own():
    said = {name: parameter.default for name, parameter in options(map_command).items()}
    assert {name for name, default in said.items() if default is not None} == FLAGS


def test_an_option_is_spelt_as_it_is_in_python():
    command = typer.main.get_command(app).commands["map"]
    spelt = {param.name: param.opts[0] for param in command.params if param.param_type_name == "option"}
    differ = {name: option for name, option in spelt.items() if option != "--" + name.replace("_", "-")}
    assert differ == {"params": "--param", "types": "--type", "roots": "--root", "as_json": "--json"}
