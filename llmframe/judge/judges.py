"""Who judges: names and models of a panel."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Final, cast

from llmframe.errors import UsageError, did_you_mean
from llmframe.options import SENDING_OPTIONS

Models = Sequence[str] | Mapping[str, str | Mapping[str, object]]

PANEL: Final = 2
"""Fewest judges."""

SHARED: Final = ("budget", "cache")
"""Sending options that all judges of a call have in common."""


def judges_of(models: object, *, word: str = "judge", of: str = "panel") -> dict[str, dict[str, object]]:
    """Each judge's sending options by its name.

    Parameters
    ----------
    models
        A list of models' names; or a dict of judges' names, each with a model's name or its sending options.
    word, of
        What errors call a judge, and all of them.

    Raises
    ------
    UsageError
        For fewer than two judges, the same one twice, or what is none.
    """
    judges: dict[str, dict[str, object]] = {}
    if isinstance(models, Mapping):
        for name, said in cast("Mapping[object, object]", models).items():
            if not isinstance(name, str) or not name:
                raise UsageError(f"a {word}'s name is text that columns begin with, got {name!r}")
            judges[name] = _said(name, said, word=word)
    elif isinstance(models, Sequence) and not isinstance(models, str):
        for model in cast("Sequence[object]", models):
            short = judge_name(model) if isinstance(model, str) else "judge"
            name, number = short, 2
            while name in judges:
                name, number = f"{short}_{number}", number + 1
            judges[name] = _said(name, model, word=word)
    else:
        raise UsageError(f"`models` is a list of models, or a dict of {word}s' names and models, got {models!r}")
    if len(judges) < PANEL:
        raise UsageError(f"a {of} has at least {PANEL} {word}s, got {len(judges)}; one model is named by `model=`")
    said = list(judges.items())
    for place, (name, each) in enumerate(said):
        twin = next((other for other, options in said[:place] if options == each), None)
        if twin is not None:
            raise UsageError(
                f"{word}s {twin!r} and {name!r} are the same model {each.get('model')!r}, and equal calls are made "
                "once: name another model, or give one of them `params` of its own"
            )
    return judges


def _said(name: str, said: object, *, word: str) -> dict[str, object]:
    if isinstance(said, str) and said:
        return {"model": said}
    if not isinstance(said, Mapping):
        raise UsageError(f"{word} {name!r} is a model's name or a dict of sending options, got {said!r}")
    options = dict(cast("Mapping[str, object]", said))
    allowed = [option for option in SENDING_OPTIONS if option not in SHARED]
    for option in options:
        if option in SHARED:
            raise UsageError(f"`{option}` is said once for all {word}s, not for {name!r}")
        if option not in allowed:
            raise UsageError(f"{word} {name!r} has an unknown option {option!r}{did_you_mean(option, allowed)}")
    return options


def judge_name(model: str) -> str:
    """A short name for a model that columns can begin with: `"openai/gpt-4o-mini"` is `"gpt_4o_mini"`."""
    last = re.split(r"[/\\]", model.rstrip("/\\"))[-1]
    return re.sub(r"[^0-9a-z]+", "_", last.lower()).strip("_") or "judge"
