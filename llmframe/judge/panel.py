"""Several models as judges of the same rows, and their vote.

A panel of small models of different families is often nearer to people's labels than one large model, and cheaper
(Verga et al. 2024, arXiv 2404.18796). Each judge answers on its own; what it said stands in its columns
(`<judge>_label`, `<judge>_error`, …). The panel's columns follow:

- the verdict: by `vote="majority"` what most judges said; by `"weighted"` judges count by how often they are right on
  rows of known label (`gold=`), no row by its own; by `"dawid_skene"` labels and judges' confusions are estimated
  together from the votes alone, by three judges or more;
- `confidence`: by majority the winner's part of the votes, else its posterior probability, which is too sure where
  judges err together;
- `confidence_source`: `"panel"`; or `"tie"` and `"no_valid_votes"`, with neither verdict nor confidence;
- `votes`: how many judges gave a valid answer;
- `error`: null when one did, else the first judge's with its name.

A failure is no vote. Rows outside `where` have nulls throughout.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import chain
from typing import Any, cast, get_args

from llmframe.api.arguments import lazy_kind, one_of
from llmframe.core.columns import ColumnType
from llmframe.core.scores import SOURCES
from llmframe.errors import UsageError, did_you_mean
from llmframe.frames import wrap
from llmframe.frames.derived import derive, names_of
from llmframe.judge.ballots import Ballot, Vote, ballots_of, decided, first_error, mean
from llmframe.judge.judges import Models, judges_of
from llmframe.judge.task import Ask, Task
from llmframe.options import UNSET
from llmframe.stats.dawid_skene import MIN_JUDGES
from llmframe.stats.panels import enough_gold


def panelled(  # noqa: PLR0913 - a panel's facts
    task: Task,
    models: Models | None,
    *,
    frame: object,
    options: Mapping[str, object],
    vote: Vote | None = None,
    gold: str | None = None,
) -> Task:
    """The task put to several models, and their vote; `task` itself when `models` is `None`.

    Parameters
    ----------
    task
        What one model would be asked. Its `finish` runs once a judge, with the judge's prefix, and must leave every
        row in its place: what drops or multiplies rows comes after the panel.
    models
        Names of models: a judge is named by the last part of its model's, `"openai/gpt-4o-mini"` is `gpt_4o_mini`. Or
        for each judge's name a model, or its sending options (`{"model": …, "base_url": …}`).
    frame
        The rows to be judged.
    options
        The call's own options.
    vote
        `"majority"`, also when `None`; `"weighted"`; `"dawid_skene"`.
    gold
        Name of a column of known verdicts, null where unknown, for `vote="weighted"`; at least 10 of them.

    Raises
    ------
    UsageError
        Before anything is sent, for whatever can't work.
    """
    if models is None:
        if vote is not None or gold is not None:
            word = "vote" if vote is not None else "gold"
            raise UsageError(f"`{word}` is for a panel of judges; name them: `models=[...]`")
        return task
    _refuse(options)
    judges = judges_of(models)
    ballots = ballots_of(task, options)
    known = _checked_vote(vote or "majority", gold, frame, ballots, judges=len(judges))
    asks = tuple(put_to(ask, judge, own, options) for judge, own in judges.items() for ask in task.asks)
    own = [name for ballot in ballots for name in _names(ballot, ballots)]
    own += [*(["score"] if "score" in task.columns else []), *(_own(name, ballots) for name in ("votes", "error"))]
    said = (*task.columns, *(ballot.name for ballot in ballots), _own("error", ballots))
    theirs = {f"{judge}_{name}" for judge in judges for name in said}
    plain = options.get("labels") == "string"

    def finish(out: Any, prefix: str) -> Any:
        for judge in judges:
            out = task.finish(out, f"{prefix}{judge}_")
        return _voted(
            out,
            prefix,
            tuple(judges),
            ballots,
            vote=vote or "majority",
            gold=known,
            plain=plain,
            replace=bool(options.get("overwrite")),
        )

    return replace(
        task,
        asks=asks,
        verdict_type=ballots[0].type if task.verdict else None,
        columns=(*sorted(theirs), *own),
        finish=finish,
    )


def _refuse(options: Mapping[str, object]) -> None:
    if options.get("model", UNSET) not in (UNSET, None):
        raise UsageError("`model` and `models` are both said; leave one out")
    if options.get("into") is not None:
        raise UsageError("`into` has no place for several judges' columns; leave it out, name them by `prefix=`")


def put_to(ask: Ask, judge: str, said: Mapping[str, object], options: Mapping[str, object]) -> Ask:
    """One of the task's questions to one judge."""
    merged = {**ask.options, **said}
    if "params" in said:
        everyone = ask.options.get("params", options.get("params", UNSET))
        shared = dict(cast("Mapping[str, object]", everyone)) if isinstance(everyone, Mapping) else {}
        merged["params"] = {**shared, **cast("Mapping[str, object]", said["params"])}
    return replace(ask, prefix=f"{judge}_{ask.prefix}", options=merged)


def _checked_vote(vote: object, gold: object, frame: object, ballots: Sequence[Ballot], *, judges: int) -> str | None:
    """Name of the column of known labels; raises `UsageError` where the vote can't be taken."""
    one_of("vote", vote, get_args(Vote))
    names = names_of(frame)
    if (gold is not None) != (vote == "weighted"):
        raise UsageError(
            '`vote="weighted"` needs `gold=`, the name of a column with known labels'
            if gold is None
            else f'`gold` is for `vote="weighted"`, got `vote={vote!r}`'
        )
    if vote == "majority":
        return None
    if lazy_kind(frame) is not None:
        raise UsageError(f"`vote={vote!r}` looks at all rows at once: `.collect()` first, or take the majority")
    if len(ballots) > 1 or ballots[0].several:
        raise UsageError(f"`vote={vote!r}` decides on one label a row; for several fields or labels take the majority")
    if not (ballots[0].labels or ballots[0].few):
        raise UsageError(f"`vote={vote!r}` needs a verdict of few known labels; for open values take the majority")
    if vote == "dawid_skene" and judges < MIN_JUDGES:
        raise UsageError(f"`vote={vote!r}` needs at least {MIN_JUDGES} models, got {judges}")
    if gold is not None and names:
        _check_gold(gold, frame, names, ballots[0])
    return cast("str | None", gold)


def _check_gold(gold: object, frame: object, names: Sequence[str], ballot: Ballot) -> None:
    if not isinstance(gold, str) or gold not in names:
        near = did_you_mean(gold, names) if isinstance(gold, str) else ""
        raise UsageError(f"`gold` is the name of a column with known labels, got {gold!r}{near}; columns: {names}")
    table = wrap(frame)
    [cells] = table.cells([names.index(gold)], 0, len(table))
    known = [cell for cell in cells if cell is not None]
    if len(table):
        enough_gold(len(known))
    strange = sum(label not in ballot.labels for label in known) if ballot.labels else 0
    if strange:
        raise UsageError(
            f"{strange:,} of {len(known):,} known labels in {gold!r} are none of {', '.join(map(repr, ballot.labels))}"
        )


def _names(ballot: Ballot, ballots: Sequence[Ballot]) -> tuple[str, str, str]:
    """Names, without prefix, of a field's verdict, confidence and where that comes from."""
    before = "" if len(ballots) == 1 else f"{ballot.name}_"
    return ballot.name, _own(f"{before}confidence", ballots), _own(f"{before}confidence_source", ballots)


def _own(name: str, ballots: Sequence[Ballot]) -> str:
    """A column of ours, which makes way for a field of its name."""
    return f"llm_{name}" if any(name == ballot.name for ballot in ballots) else name


def _voted(  # noqa: PLR0913 - a vote's facts
    frame: Any,
    prefix: str,
    judges: tuple[str, ...],
    ballots: Sequence[Ballot],
    *,
    vote: Vote,
    gold: str | None,
    plain: bool,
    replace: bool,
) -> Any:
    """`frame` with the panel's own columns at its end."""
    names = names_of(frame)
    theirs = [f"{prefix}{judge}_" for judge in judges]
    scored = all(f"{each}score" in names for each in theirs) and "score" not in [ballot.name for ballot in ballots]
    groups = [[each + _own("error", ballots) for each in theirs], [f"{each}confidence_source" for each in theirs]]
    groups[1] = [name for name in groups[1] if name in names]
    groups += [[f"{each}{ballot.name}" for each in theirs] for ballot in ballots]
    groups += [[f"{each}score" for each in theirs] if scored else [], [gold] if gold is not None else []]
    word = ColumnType("string") if plain else ColumnType("enum", labels=SOURCES)
    outputs: list[tuple[str, ColumnType]] = []
    for ballot in ballots:
        name, confidence, source = _names(ballot, ballots)
        outputs += [(name, ballot.type), *([("score", ColumnType("float"))] if scored else [])]
        outputs += [(confidence, ColumnType("float")), (source, word)]
    outputs += [(_own("votes", ballots), ColumnType("int")), (_own("error", ballots), ColumnType("string"))]

    def count(cells: list[list[object]]) -> list[list[object]]:
        parts = iter(cells)
        errors, sources, *fields = ([next(parts) for _ in group] for group in groups)
        *fields, scores, known = fields
        told = list(zip(*errors, *sources, *chain.from_iterable(fields), strict=True))
        asked = [any(cell is not None for cell in row) for row in told]
        made: list[list[object]] = []
        averages: list[object] = [mean(row) for row in zip(*scores, strict=True)]
        votes: list[object] = [
            sum(error is None for error in row) if each else None
            for row, each in zip(zip(*errors, strict=True), asked, strict=True)
        ]
        for ballot, field in zip(ballots, fields, strict=True):
            found = decided(ballot, field, errors, asked, vote=vote, gold=known[0] if known else ())
            made += [found.verdicts, *([averages] if scored else [])]
            made += [found.confidences, found.sources]
            votes = votes if len(ballots) > 1 else found.votes
        return [*made, votes, [first_error(row, judges) for row in zip(*errors, strict=True)]]

    named = [(prefix + name, type_) for name, type_ in outputs]
    return derive(frame, [name for group in groups for name in group], named, count, replace=replace)
