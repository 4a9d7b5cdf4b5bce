"""Schemas written as one line: `label: positive|negative, confidence: float`."""

from __future__ import annotations

import re
import unicodedata
import warnings
from collections.abc import Mapping
from datetime import date, datetime
from decimal import Decimal
from typing import Any, Final, Literal, NoReturn

from pydantic import BaseModel, Field, create_model

from llmframe.core.schema_tokens import SYNTAX, Token, refuse, tokens_of
from llmframe.errors import UsageError, did_you_mean

TYPES: Final[Mapping[str, Any]] = {
    "str": str,
    "int": int,
    "float": float,
    "bool": bool,
    "date": date,
    "datetime": datetime,
    "decimal": Decimal,
}
"""Words that are types here; with `list[...]` all there are."""

_SYNONYMS: Final = {
    "string": "str",
    "text": "str",
    "integer": "int",
    "number": "float",
    "double": "float",
    "boolean": "bool",
    "timestamp": "datetime",
    "array": "list[...]",
    "enum": "a|b",
    "literal": "a|b",
}
_ASKS_MORE: Final = frozenset({"dict", "object", "any", "tuple", "set", "union", "optional"})
_WHOLE: Final = re.compile(r"[+-]?\d{1,15}\Z")
_DEEPEST: Final = 5
"""Most lists inside one another."""


def parse_schema(text: str) -> Any:
    """The schema that a line of text describes.

    Parameters
    ----------
    text
        Fields, divided by commas: `name: type`, after the name perhaps a description in parentheses
        (`label (the tone): good|bad`). A type is `str`, `int`, `float`, `bool`, `date`, `datetime`, `decimal`,
        `list[type]`, or two labels or more (`positive|negative`, whole numbers too: `1|2|3`); `?` or `|null` after it
        lets the value be missing. Names and labels with blanks or marks stand in quotes
        (`"bug report"|'praise, thanks'`), where a backslash takes a quote's meaning away. Without a name the answer
        is one value: `positive|negative`.

    Returns
    -------
    type[pydantic.BaseModel] or a type
        A model of the fields; the type of one value. What `map(schema=...)` takes. Nothing in the text is run.

    Raises
    ------
    UsageError
        If the text can't be read; the message shows the place, and the nearest type.

    Examples
    --------
    >>> parse_schema("label: positive|negative, stars: int?").model_fields["label"].annotation
    typing.Literal['positive', 'negative']
    >>> parse_schema("list[str]")
    list[str]
    """
    return _Parser(text).schema()


class _Parser:
    """Reads the tokens from left to right; `at` is the next one."""

    def __init__(self, text: str) -> None:
        if not text.strip():
            raise UsageError(f"the schema is an empty text; {SYNTAX}")
        if any(unicodedata.category(char) == "Cs" for char in text):
            raise UsageError(f"the schema holds bytes that are no text: {text!a}")
        self.text = text
        self.tokens = tokens_of(text)
        self.at = 0

    def schema(self) -> Any:
        """A model, or the type of one value."""
        if any(token.kind == ":" for token in self.tokens):
            return self._model()
        found = self._type()
        if (rest := self._next()) is not None:
            self._after_one_value(rest)
        return found

    def _after_one_value(self, rest: Token) -> NoReturn:
        if rest.kind == ",":
            self._refuse(rest, "fields have a name and a colon (`name: type`), labels are divided by |")
        if rest.kind == "description":
            self._refuse(rest, "a description needs a name before it: `label (the tone): good|bad`")
        self._unexpected(rest)

    def _model(self) -> type[BaseModel]:
        fields: dict[str, Any] = {}
        while (token := self._next()) is not None:
            name = self._name(token)
            if name in fields:
                self._refuse(token, f"the field {name!r} stands here twice")
            described = self._take("description")
            self._expect(":", "a colon and a type belong after a field's name")
            kind = self._type()
            optional = type(None) in getattr(kind, "__args__", ())
            about = described.text or None if described else None
            fields[name] = (kind, Field(default=None if optional else ..., description=about))
            if (rest := self._next()) is None:
                break
            if rest.kind == "description":
                self._refuse(rest, "a description stands after the name: `label (the tone): good|bad`")
            if rest.kind != ",":
                self._unexpected(rest)
            self.at += 1
        create: Any = create_model
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # pydantic's word on names like `copy`, which the user chose for columns
            return create("Response", **fields)

    def _name(self, token: Token) -> str:
        self.at += 1
        if token.kind == ",":
            self._refuse(token, "a field is missing before this comma")
        if token.kind not in ("word", "quoted"):
            self._refuse(token, "a field begins with its name")
        if token.kind == "word" and not token.text.isidentifier():
            self._refuse(token, "a name with other signs than letters, digits and _ stands in quotes")
        following = self._next()
        if token.kind == "word" and following is not None and following.kind in ("word", "quoted"):
            self._refuse(following, "a name of several words stands in quotes, and a comma between two fields")
        if not token.text.strip() or not token.text.isprintable():
            self._refuse(token, "a field's name needs letters that can be seen")
        if not is_field_name(token.text):
            self._refuse(token, "a name can't begin with _ or be one of pydantic's own")
        return token.text

    def _type(self, depth: int = 0) -> Any:
        """One type or the labels, with what makes them optional."""
        first = self.at
        parts = [self._part(depth)]
        while self._take("|"):
            parts.append(self._part(depth))
        optional = self._take("?") is not None or any(part == ("null", None) for part in parts)
        if self._peek_kind() == "|":
            self._refuse(self.tokens[self.at], "the ? stands after the last label")
        shapes = [value for kind, value in parts if kind == "type"]
        labels = [value for kind, value in parts if kind == "label"]
        if shapes and (labels or len(shapes) > 1):
            self._mixed(first)
        if not shapes and not labels:
            self._refuse(self.tokens[first], "null alone is no type; write for example `str?`")
        found = shapes[0] if shapes else self._labels(labels, first)
        return found | None if optional else found

    def _part(self, depth: int) -> tuple[str, Any]:
        token = self._next()
        if token is None:
            end = len(self.text)
            refuse(self.text, end, end + 1, "a type is missing at the end")
        self.at += 1
        if token.kind == "quoted":
            return "label", token
        if token.kind != "word":
            self._refuse(token, "a type or a label is missing here")
        if token.text == "null":
            return "null", None
        if token.text.casefold() == "list" and (token.text == "list" or self._peek_kind() == "["):
            return "type", self._list(token, depth)
        if token.text in TYPES:
            return "type", TYPES[token.text]
        return "label", token

    def _list(self, token: Token, depth: int) -> Any:
        if self._take("[") is None:
            self._refuse(token, "a list names what it holds: `list[str]`; as a label it stands in quotes")
        if depth >= _DEEPEST:
            self._refuse(token, f"lists stand in one another at most {_DEEPEST} deep")
        held = self._type(depth + 1)
        self._expect("]", "the list's ] is missing")
        return list[held]

    def _labels(self, labels: list[Token], first: int) -> Any:
        if len(labels) == 1:
            self._alone(labels[0])
        values: list[str | int] = []
        whole = all(token.kind == "word" and _WHOLE.match(token.text) for token in labels)
        for token in labels:
            if not token.text.strip():
                self._refuse(token, "a label is empty")
            if token.kind == "word" and not whole and _WHOLE.match(token.text):
                self._refuse(token, f'numbers and words are mixed; as a text it stands in quotes: "{token.text}"')
            value = int(token.text) if whole else token.text
            if value in values:
                self._refuse(token, f"the label {value!r} stands here twice")
            values.append(value)
        if not whole and {str(value).casefold() for value in values} <= {"true", "false"}:
            self._refuse(self.tokens[first], "for true and false write `bool`")
        return Literal[tuple(values)]

    def _alone(self, token: Token) -> NoReturn:
        word = token.text.casefold()
        if self._peek_kind() in ("word", "quoted"):
            following = self.tokens[self.at]
            self._refuse(following, "a label with a blank stands in quotes; fields are divided by commas")
        if token.kind == "quoted":
            self._refuse(token, "one label is no choice; write two or more, divided by |")
        if word in _ASKS_MORE:
            self._refuse(token, f"{token.text!r} can't be said in a line; write a Pydantic model or JSON schema")
        near = did_you_mean(token.text, (*TYPES, "list"))
        if self._peek_kind() == "," and not any(each.kind == ":" for each in self.tokens):
            self._refuse(token, "labels are divided by | and not by commas; a field has a name and a colon")
        if word in _SYNONYMS:
            near = f"; did you mean {_SYNONYMS[word]!r}?"
        self._refuse(token, f"{token.text!r} is no type{near or ';'} labels are two or more: `good|bad`")

    def _mixed(self, first: int) -> NoReturn:
        for token in self.tokens[first : self.at]:
            if token.kind == "word" and (token.text in TYPES or token.text == "list"):
                self._refuse(
                    token,
                    f"{token.text!r} is a type, and a type stands alone or with null; "
                    f'as a label it stands in quotes: "{token.text}"',
                )
        raise AssertionError(first)  # only a word of these becomes a type

    def _next(self) -> Token | None:
        return self.tokens[self.at] if self.at < len(self.tokens) else None

    def _peek_kind(self) -> str:
        token = self._next()
        return "" if token is None else token.kind

    def _take(self, kind: str) -> Token | None:
        token = self._next()
        if token is None or token.kind != kind:
            return None
        self.at += 1
        return token

    def _expect(self, kind: str, problem: str) -> None:
        if self._take(kind) is None:
            token = self._next()
            end = len(self.text.rstrip())
            refuse(self.text, token.start if token else end, token.end if token else end + 1, problem)

    def _unexpected(self, token: Token) -> NoReturn:
        if token.kind in ("word", "quoted"):
            self._refuse(token, "a label with a blank stands in quotes; fields are divided by commas")
        self._refuse(token, f"{token.text!r} isn't expected here")

    def _refuse(self, token: Token, problem: str) -> NoReturn:
        refuse(self.text, token.start, token.end, problem)


def is_field_name(name: str) -> bool:
    """Whether a Pydantic model can have a field of that name."""
    return not name.startswith("_") and not (name.startswith("model_") and hasattr(BaseModel, name))
