"""Labels to choose from: checked, as a type, and as a prompt says them."""

from __future__ import annotations

import inspect
import json
from collections.abc import Mapping
from enum import Enum
from typing import Annotated, Any, Literal, cast, get_args, get_origin

from pydantic import AfterValidator

from llmframe.core.cells import CellError, checked_text
from llmframe.core.jsontext import bare_label
from llmframe.errors import UsageError, did_you_mean

_FEWEST = 2


def label_texts(labels: object) -> tuple[str, ...]:
    """The labels' texts in their declared order.

    Parameters
    ----------
    labels
        A list or tuple of texts, a `Literal[...]` of texts, or an Enum whose values are texts.

    Raises
    ------
    UsageError
        If they are anything else, fewer than two, empty, or can't be told apart: an answer is read whatever its case,
        blanks around it or a final full stop.
    """
    texts: list[str] = []
    for label in _members(labels):
        if not isinstance(label, str):
            raise UsageError(
                f"`labels` holds {label!r}, which is no text; write {str(label)!r}, or ask for other values by "
                f"`llmframe.map(..., schema=Literal[...])`"
            )
        text = str.__str__(label)
        if not bare_label(text):
            raise UsageError(f"`labels` holds {text!r}, which has nothing to answer with; give every label a word")
        try:
            checked_text(text)
        except CellError as error:
            raise UsageError(f"`labels` holds {text!r}, which can't be sent: {error.detail}") from None
        texts.append(text)
    seen: dict[str, str] = {}
    for text in texts:
        other = seen.setdefault(bare_label(text), text)
        if other is not text or texts.count(text) > 1:
            how = "twice" if other == text else "which only case, blanks or a full stop tell apart"
            shown = repr(text) if other == text else f"{other!r} and {text!r},"
            raise UsageError(f"`labels` holds {shown} {how}; an answer is read whatever these are, so keep one")
    if len(texts) < _FEWEST:
        raise UsageError(
            f"`labels` has {len(texts)} label; there must be two to choose from, for instance with 'other'"
        )
    return tuple(texts)


def literal_of(texts: tuple[str, ...]) -> Any:
    """`Literal` of these texts."""
    return Literal[texts]


def several_of(texts: tuple[str, ...]) -> Any:
    """A list of these texts, each once and in their order: one that is said twice applies once."""
    return Annotated[list[literal_of(texts)], AfterValidator(lambda found: [text for text in texts if text in found])]


def label_list(texts: tuple[str, ...], descriptions: object = None) -> str:
    r"""The labels as a prompt lists them: a line each, in JSON's quotes, with what it means.

    Parameters
    ----------
    texts
        What `label_texts` gave.
    descriptions
        A text for some or all of the labels, by label (an Enum's member counts as its value).

    Raises
    ------
    UsageError
        If a description is of no label, or no text.

    Examples
    --------
    >>> label_list(("bug", 'a "feature"'), {"bug": "something broke"})
    '- "bug": something broke\n- "a \\"feature\\""'
    """
    told = _told(texts, descriptions)
    return "\n".join(f"- {quoted(text)}" + (f": {told[text]}" if text in told else "") for text in texts)


def quoted(text: str) -> str:
    """`text` in JSON's quotes, so that blanks, quotes and line breaks in it are seen; letters stay letters."""
    return json.dumps(text, ensure_ascii=False)


def _members(labels: object) -> list[object]:
    if get_origin(labels) is Literal:
        found = list(get_args(labels))
    elif inspect.isclass(labels) and issubclass(labels, Enum):
        found = list(labels)
    elif isinstance(labels, list | tuple):
        found = list(cast("list[object]", labels))
    else:
        given = cast("object", labels)
        hint = "; a set has no order, so make it a list" if isinstance(labels, set | frozenset) else ""
        hint = hint or ("; say what labels mean by `descriptions=`" if isinstance(labels, Mapping) else "")
        hint = hint or next(
            (f"; `.{name}()` makes it one" for name in ("tolist", "to_list") if hasattr(given, name)), ""
        )
        raise UsageError(f"`labels` is a list of texts, Literal[...] or an Enum, got {_kind(given)}{hint}")
    return [label.value if isinstance(label, Enum) else label for label in found]


def _told(texts: tuple[str, ...], descriptions: object) -> dict[str, str]:
    if descriptions is None:
        return {}
    if not isinstance(descriptions, Mapping):
        raise UsageError(f"`descriptions` is a dict from label to text, got {_kind(descriptions)}")
    told: dict[str, str] = {}
    for key, text in cast("Mapping[object, object]", descriptions).items():
        label = key.value if isinstance(key, Enum) else key
        if label not in texts:
            near = did_you_mean(str(label), texts)
            raise UsageError(f"`descriptions` has {label!r}, which is no label{near or ';'} labels: {list(texts)}")
        if not isinstance(text, str) or not text.strip():
            raise UsageError(f"`descriptions` of {label!r} must be a text, got {text!r}; leave the label out of it")
        told[str(label)] = text.strip()
    return told


def _kind(value: object) -> str:
    name = type(value).__name__
    return repr(value) if isinstance(value, str) else f"{'an' if name[0] in 'AEIOUaeiou' else 'a'} {name}"
