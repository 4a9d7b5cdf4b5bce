"""A threshold above which answers stand without review, certified on rows whose right answer is known."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass
from typing import cast

from llmframe.errors import UsageError
from llmframe.frames import Frame, wrap
from llmframe.frames.derived import position_of
from llmframe.judge.columns import AnswerColumns, answer_columns, comparable, confidences, read, said_or_column
from llmframe.judge.gold_guards import spelt_otherwise, unequally_picked
from llmframe.judge.gold_rows import answered_column
from llmframe.report.selection import Selection
from llmframe.stats.certificate import percent
from llmframe.stats.guards import check_gold
from llmframe.stats.reliability import auroc
from llmframe.stats.risk_coverage import risk_coverage
from llmframe.stats.selective import certified_threshold, fewest_gold


def select(  # noqa: PLR0913 - the facts of a selection
    frame: object,
    gold: object,
    *,
    target_error: float = 0.05,
    delta: float = 0.1,
    random: bool | None = None,
    tuned: bool = False,
    field: str | None = None,
    confidence: str | None = None,
) -> Selection:
    """Find the confidence from which on answers are wrong at most as often as `target_error`.

    Parameters
    ----------
    frame
        What `map` or a preset gave with `confidence=...`, all rows of it. It is never changed.
    gold
        What is right: name of a column, or a value for each row; null where unknown.
    target_error
        Largest share of wrong answers among the rows that stand, in (0, 1).
    delta
        Probability that more of them are wrong all the same, over the draw of the gold rows, in (0, 1).
    random
        Whether the rows with gold are a random sample of all rows. It has to be said: nothing in a frame tells.
    tuned
        Whether anything was tuned on them: the prompt, its examples, the model, a calibration. Such gold is refused.
    field
        The column with the answers; `None`: the one whose values are the gold's.
    confidence
        The column with their confidences; `None`: the one beside the answers, calibrated or not.

    Returns
    -------
    Selection
        The threshold with its certificate, how many rows stand, and `keep(frame)` and `needs_review(frame)`. Where
        nothing can be certified its threshold is nan, all rows need review, and it says how much gold it would take.

    Raises
    ------
    UsageError
        If gold isn't a random sample or was tuned on, if there is too little of it for any certificate, if columns are
        missing or ambiguous, or a confidence isn't in [0, 1].
    MissingExtraError
        Without scipy or scikit-learn: `pip install 'llmframe[judge]'`.

    Notes
    -----
    Fixed-sequence testing with exact binomial bounds: `llmframe.stats.selective.certified_threshold`. The promise is
    about rows like those that the gold was drawn from, so another month's rows need gold of their own.
    """
    fewest = fewest_gold(target_error, delta)
    wrapped = wrap(frame)
    if wrapped.single:
        raise UsageError("`select` takes the frame that `map` gave, not a Series: it needs the confidence beside it")
    what = f"a threshold for an error of at most {percent(target_error)}"
    if all(value is None for value in comparable(said_or_column([wrapped], gold, argument="gold"))):
        # by such gold no column of answers can be found, which would be the wrong thing to complain about
        check_gold(random, n=0, least=fewest, tuned=tuned, probability=False, what=what)
    answers = _answers(wrapped, gold, field=field, confidence=confidence)
    usable = [at for at in answers.rows if answers.truth[at] is not None]
    check_gold(random, n=len(usable), least=fewest, tuned=tuned, probability=False, what=what)
    if unequally_picked(wrapped, usable):
        raise UsageError(
            f"{what} takes known answers of a random sample, and `pick_for_review` picked these with unequal "
            'probabilities; pick with `how="random"`, and label those'
        )
    sure = [cast("float", answers.sure[at]) for at in usable]
    right = [answers.values[at] == answers.truth[at] for at in usable]
    certificate = certified_threshold(sure, right, target_error=target_error, delta=delta)
    failed = sum(error is not None for error in answers.errors)
    return Selection(
        name=answers.columns.value,
        confidence=answers.confidence,
        error=answers.columns.error,
        n=len(wrapped),
        kept=sum(cast("float", answers.sure[at]) >= certificate.threshold for at in answers.rows),
        failed=failed,
        missing=len(wrapped) - failed - len(answers.rows),
        gold_rows=sum(value is not None for value in answers.truth),
        certificate=certificate,
        curve=risk_coverage(sure, right),
        auroc=auroc(sure, right),
        notes=answers.notes,
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class _Answers:
    """A run's cells by row; `rows` are those with an answer and a confidence."""

    columns: AnswerColumns
    confidence: str
    values: list[Hashable]
    errors: list[object]
    sure: list[float | None]
    truth: list[Hashable]
    rows: list[int]
    notes: tuple[str, ...]


def _answers(frame: Frame, gold: object, *, field: str | None, confidence: str | None) -> _Answers:
    truth = comparable(said_or_column([frame], gold, argument="gold"))
    gold_name = gold if isinstance(gold, str) else None
    columns = answer_columns(frame.names, answered_column(frame, truth, but=gold_name) if field is None else field)
    name = columns.shown if confidence is None else confidence
    if name is None:
        raise UsageError(
            f"the confidence of {columns.value!r} is missing, and there is nothing to put a threshold on; map with "
            '`confidence="logprobs"`, or "votes" or "stated" where the server tells no log-probabilities, or name a '
            "column: `confidence=...`"
        )
    position_of(name, frame.names)
    values, errors = comparable(read(frame, columns.value)), read(frame, columns.error)
    sure = confidences(read(frame, name), name)
    rows = [at for at, value in enumerate(values) if None not in (value, sure[at]) and errors[at] is None]
    if not rows:
        raise UsageError(f"no row has both an answer in {columns.value!r} and a confidence in {name!r}")
    notes: list[str] = []
    if name == columns.shown != columns.confidence:
        notes.append("the confidences are calibrated: none of these gold rows may have taught the calibration")
    known = {value for value in truth if value is not None}
    if known and not known & {values[at] for at in rows}:
        notes.append("no value of the gold is among the answers: is it spelt otherwise?")
    elif (pair := spelt_otherwise(known, {values[at] for at in rows})) is not None:
        notes.append(f"the gold has {pair[0]!r} where the answers have {pair[1]!r}, and they count as two labels")
    return _Answers(
        columns=columns,
        confidence=name,
        values=values,
        errors=errors,
        sure=sure,
        truth=truth,
        rows=rows,
        notes=tuple(notes),
    )
