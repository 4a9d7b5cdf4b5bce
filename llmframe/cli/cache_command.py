"""`llmframe cache`: the answers that are kept between runs."""

from __future__ import annotations

import contextlib
import json
import math
import os
import sys
import time
from collections.abc import Generator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated, Any, TextIO

import typer
from rich.console import Console
from rich.table import Column, Table

from llmframe.cli import exits
from llmframe.cli.help_pages import HelpfulCommand, HelpfulGroup
from llmframe.cli.values import read_age, read_size
from llmframe.errors import UsageError
from llmframe.options import resolve_options
from llmframe.stores.base import Stored
from llmframe.stores.sqlite import SqliteStore, default_path

StorePath = Annotated[
    Path | None,
    typer.Option("--path", metavar="PATH", help="The file; LLMFRAME_CACHE, else the one in your cache folder."),
]
AsJson = Annotated[bool, typer.Option("--json", help="One JSON object on stdout.")]

cache_app = typer.Typer(
    cls=HelpfulGroup,
    no_args_is_help=True,
    help="Look at the answers that are kept between runs, export and remove them.\n\n"
    "Kept are replies with their model, tokens and time. Prompts and keys never are.",
)


@cache_app.command("info", cls=HelpfulCommand)
def info(*, path: StorePath = None, as_json: AsJson = False) -> None:
    """Tell where answers are kept, how many, and of which models."""
    with exits.told(as_json=as_json):
        where = store_path(path)
        if not where.exists():
            values: dict[str, Any] = {"path": str(where), "entries": 0, "bytes": 0, "models": []}
            _tell(values, [f"no answers are kept yet; they will be in {where}"], as_json=as_json)
            return
        with _open(where) as store:
            found = store.info()
        models = {name: (of.entries, of.input_tokens, of.output_tokens) for name, of in found.models.items()}
        values = {
            "path": str(found.path),
            "entries": found.entries,
            "bytes": found.bytes,
            "oldest": _time(found.oldest),
            "newest": _time(found.newest),
            "claims": found.claims,
            "jobs": found.jobs,
            "models": [
                {"model": name, "entries": entries, "input_tokens": sent, "output_tokens": got}
                for name, (entries, sent, got) in models.items()
            ],
        }
        lines = [f"path     {found.path}", f"answers  {found.entries:,} in {size_text(found.bytes)}"]
        if found.oldest is not None and found.newest is not None:
            lines.append(f"kept     from {_time(found.oldest)} to {_time(found.newest)}")
        if found.claims:
            lines.append(f"asked    {found.claims:,} requests at the moment, by running processes")
        if found.jobs:
            lines.append(f"jobs     {found.jobs:,} batch jobs that may still bring answers")
        _tell(values, lines, as_json=as_json)
        if models and not as_json:
            numbers = [Column(name, justify="right") for name in ("answers", "tokens in", "tokens out")]
            table = Table(Column("model", overflow="fold"), *numbers, box=None, pad_edge=False)
            for name, counts in models.items():
                table.add_row(name or "not told", *(f"{count:,}" for count in counts))
            Console(highlight=False).print("", table)


@cache_app.command("prune", cls=HelpfulCommand)
def prune(
    *,
    path: StorePath = None,
    older_than: Annotated[
        str | None, typer.Option(metavar="AGE", help="Remove answers kept longer ago, such as 30d, 12h, 8w.")
    ] = None,
    max_size: Annotated[
        str | None, typer.Option(metavar="SIZE", help="Then remove the oldest until the file is no larger: 2GB.")
    ] = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only tell how many that would be.")] = False,
    as_json: AsJson = False,
) -> None:
    """Remove old answers, and shrink the file."""
    with exits.told(as_json=as_json):
        age = None if older_than is None else read_age(older_than)
        most = None if max_size is None else read_size(max_size)
        if age is None and most is None:
            raise UsageError("say what to remove: --older-than 30d, --max-size 2GB, or both")
        where = store_path(path)
        with _there(where) as store:
            removed = _would_remove(store, age, most) if dry_run else store.prune(older_than=age, max_bytes=most)
            left = store.info()
        values = {"path": str(where), "removed": removed, "dry_run": dry_run}
        if dry_run:
            lines = [f"would remove about {removed:,} of {left.entries:,} answers ({size_text(left.bytes)})"]
        else:
            lines = [f"removed {removed:,} answers; {left.entries:,} are left ({size_text(left.bytes)})"]
        _tell({**values, "entries": left.entries, "bytes": left.bytes}, lines, as_json=as_json)


@cache_app.command("export", cls=HelpfulCommand)
def export(
    *,
    path: StorePath = None,
    output: Annotated[
        Path | None, typer.Option("--output", "-o", metavar="OUT", help="A new file; without it, stdout.")
    ] = None,
) -> None:
    """Write every kept answer as a line of JSON: key, reply, model, tokens, time."""
    with exits.told(), _there(store_path(path)) as store, _written(output) as file:
        count = 0
        for key, entry in store.entries():
            file.write(json.dumps(answer_line(key, entry), ensure_ascii=False) + "\n")
            count += 1
        file.flush()
        if output is not None:
            exits.say(f"wrote {count:,} answers to {output}")


@cache_app.command("clear", cls=HelpfulCommand)
def clear(
    *,
    path: StorePath = None,
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Don't ask.")] = False,
) -> None:
    """Remove every kept answer, after asking: what was paid for would be paid again."""
    with exits.told(), _there(store_path(path)) as store:
        entries = store.info().entries
        if not yes and not _agreed(f"remove {entries:,} answers from {store.path}?"):
            exits.say("nothing was removed")
            raise typer.Exit(exits.BROKEN)
        exits.say(f"removed {store.clear():,} answers")
        jobs = store.info().jobs
        if jobs:
            exits.say(f"kept the track of {jobs:,} batch jobs that may still bring answers")


def answer_line(key: bytes, entry: Stored) -> dict[str, object]:
    """A kept answer in plain values; the key is the fingerprint that `llm_meta` tells."""
    return {
        "key": key.hex(),
        "reply": entry.text,
        "model": entry.model,
        "finish_reason": entry.finish_reason,
        "input_tokens": entry.usage.input_tokens,
        "output_tokens": entry.usage.output_tokens,
        "cached_tokens": entry.usage.cached_tokens,
        "kept": _time(entry.created),
    }


def store_path(said: Path | None, *, option: str = "--path") -> Path:
    """The file that keeps answers: as said by `option`, else by the environment, else the usual one."""
    if said is not None:
        return said.expanduser()
    cache = resolve_options({}).cache
    if cache is False:
        raise UsageError(f"LLMFRAME_CACHE is off: nothing is kept; name a file by {option}")
    return Path(cache).expanduser() if isinstance(cache, (str, os.PathLike)) and cache != "refresh" else default_path()


def size_text(size: int) -> str:
    """`"640 B"`, `"51.2 kB"`, `"1.3 GB"`.

    Examples
    --------
    >>> size_text(640), size_text(51_200), size_text(1_340_000_000)
    ('640 B', '51.2 kB', '1.3 GB')
    """
    amount = float(size)
    for unit in ("B", "kB", "MB"):
        if amount < 1000:  # noqa: PLR2004 - the step from a unit to the next
            return f"{amount:.0f} {unit}" if unit == "B" else f"{amount:.1f} {unit}"
        amount /= 1000
    return f"{amount:,.1f} GB"


@contextmanager
def _there(path: Path) -> Generator[SqliteStore]:
    """The store at `path`, which isn't made where there is none."""
    if not path.exists():
        raise UsageError(f"no answers are kept in {str(path)!r}: there is no such file")
    with _open(path) as store:
        yield store


@contextmanager
def _open(path: Path) -> Generator[SqliteStore]:
    with contextlib.closing(SqliteStore(path)) as store:
        yield store


@contextmanager
def _written(output: Path | None) -> Generator[TextIO]:
    if output is None:
        yield sys.stdout
        return
    with output.open("x", encoding="utf-8") as file:
        yield file


def _would_remove(store: SqliteStore, age: float | None, most: int | None) -> int:
    """How many answers pruning would remove; by size about, as if all were of one."""
    entries, size = store.info().entries, store.info().bytes
    before = -math.inf if age is None else time.time() - age
    old = sum(entry.created < before for _, entry in store.entries()) if age is not None else 0
    left = size * (entries - old) / entries if entries else 0.0
    return old if most is None or left <= most else old + math.ceil((entries - old) * (left - most) / left)


def _agreed(question: str) -> bool:
    if not sys.stdin.isatty():
        raise UsageError("nobody is there to be asked: say --yes to remove every kept answer")
    return typer.confirm(question, err=True)


def _time(seconds: float | None) -> str | None:
    return None if seconds is None else datetime.fromtimestamp(seconds, UTC).isoformat(timespec="seconds")


def _tell(values: dict[str, Any], lines: list[str], *, as_json: bool) -> None:
    typer.echo(json.dumps(values) if as_json else "\n".join(lines))
