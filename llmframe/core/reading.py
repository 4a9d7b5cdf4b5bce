"""How the text of an answer becomes the values of its columns."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from operator import attrgetter
from typing import Any, Literal, cast

import pydantic
from pydantic import BaseModel, ValidationError

from llmframe.core import jsontext
from llmframe.core.fields import Cell
from llmframe.core.outcome import Answer, Failure
from llmframe.core.scalars import Misfit
from llmframe.core.spec import VALUE
from llmframe.errors import excerpt

Plain = Literal["no", "label", "text"]
"""Whether one value may come as bare text without JSON: never, as one of the labels, or as any text."""

TOLD_PROBLEMS = 3
"""Most problems of one reply that are told; a union of models finds dozens."""

TOLD_CHARS = 200
"""Longest list of allowed values that is told."""

# Both names of a field are read: a server that can't constrain its output often answers with the field's name. Pydantic
# before 2.11 can't be asked for that, there a field goes by its alias.
_BOTH_NAMES: dict[str, Any] = (
    {"by_alias": True, "by_name": True} if tuple(map(int, pydantic.VERSION.split(".")[:2])) >= (2, 11) else {}
)
_NO_JSON = object()


@dataclass(frozen=True, slots=True)
class Slot:
    """A column of the answer: the model's attribute, the column's name, the cell made from the value."""

    attribute: str
    name: str
    cell: Cell


@dataclass(frozen=True, slots=True, kw_only=True)
class Reader:
    """Reads the answers to one model.

    Parameters
    ----------
    model
        What validates the text.
    slots
        The columns in order.
    shapes
        The model's JSON schema by alias, and by field name where that differs.
    single
        Whether the model only wraps one value, which may then come without its wrapping.
    plain
        Whether that value may come as bare text.
    keys
        The keys of all objects in the schema, each in quotes.
    open
        Whether keys may come that the schema doesn't name.
    """

    model: type[BaseModel]
    slots: tuple[Slot, ...]
    shapes: tuple[jsontext.JsonSchema, ...]
    single: bool
    plain: Plain
    keys: tuple[str, ...]
    open: bool
    _values: Callable[[Any], tuple[Any, ...]] = field(init=False, repr=False)
    _cells: tuple[Cell, ...] = field(init=False, repr=False)

    def __post_init__(self) -> None:
        """Prepare what every reply needs: one C call fetches all values of an instance."""
        fetch: Callable[[Any], Any] = attrgetter(*(slot.attribute for slot in self.slots))

        def fetch_one(instance: Any) -> tuple[Any, ...]:
            return (fetch(instance),)

        object.__setattr__(self, "_values", fetch_one if len(self.slots) == 1 else fetch)
        object.__setattr__(self, "_cells", tuple(slot.cell for slot in self.slots))

    def read(self, text: str) -> Answer | Failure:
        """The answer in a text, or `empty` or `invalid` with what is wrong and an excerpt of the text."""
        found = self.judge(text)
        if isinstance(found, Answer):
            return found
        if not text.strip():
            return Failure("empty", "the reply has no text")
        return Failure("invalid", f"{found}; reply: {quoted(text)}")

    def judge(self, text: str) -> Answer | str:
        """The answer in a text, or what is wrong with it."""
        try:
            answer = self._answer(text)
            for key in self.keys:
                if self.open or text.count(key) > 1:  # a look at the text costs a tenth of parsing it once more
                    self._refuse_duplicates(text)
                    break
        except ValidationError as error:
            return self._second_look(text, error)
        except (Misfit, jsontext.DuplicateKeyError) as error:
            return str(error)
        except RecursionError:
            return "nested too deeply"
        except Exception as error:  # noqa: BLE001 - validators are the user's code: what they raise is this row's failure
            return f"a validator raised {type(error).__name__}"
        else:
            return answer

    def instance(self, text: str) -> BaseModel:
        """The validated model of a JSON text."""
        return self.model.model_validate_json(text, **_BOTH_NAMES)

    def _answer(self, text: str) -> Answer:
        instance = self.model.model_validate_json(text, **_BOTH_NAMES)
        values = self._values(instance)
        try:
            return Answer(text, tuple([cell(value) for cell, value in zip(self._cells, values, strict=True)]))
        except Misfit:
            raise Misfit(self._misfit(instance)) from None

    def _misfit(self, instance: BaseModel) -> str:
        for slot in self.slots:
            try:
                slot.cell(getattr(instance, slot.attribute))
            except Misfit as misfit:
                return f"field {slot.name!r} {misfit}"
        return "a field doesn't fit its column"

    def _refuse_duplicates(self, text: str) -> None:
        try:
            jsontext.parse(text)
        except jsontext.DuplicateKeyError:
            raise
        except ValueError:  # pydantic's parser took it, and its word counts
            return

    def _second_look(self, text: str, error: ValidationError) -> Answer | str:
        """Without the fence, without the wrapping, with labels folded; else the most telling problem."""
        problem = None if error.errors()[0]["type"] == "json_invalid" else self._told(error)
        try:
            for candidate in self._candidates(text):
                try:
                    return self._answer(candidate)
                except ValidationError as found:
                    problem = problem or self._told(found)
        except (Misfit, jsontext.DuplicateKeyError) as refusal:
            return str(refusal)
        except RecursionError:
            return "nested too deeply"
        except Exception as raised:  # noqa: BLE001 - as in `judge`
            return f"a validator raised {type(raised).__name__}"
        return problem or self._told(error)

    def _candidates(self, text: str) -> Iterator[str]:
        body = jsontext.unfenced(text)
        try:
            node = jsontext.parse(body)
        except jsontext.DuplicateKeyError:
            raise
        except ValueError:
            node = _NO_JSON
        for each in self._nodes(text, body, node):
            yield jsontext.write(each)
            folded = each
            for shape in self.shapes:
                folded = jsontext.folded(folded, shape, shape.get("$defs", {}))
            if folded != each:
                yield jsontext.write(folded)

    def _nodes(self, text: str, body: str, node: object) -> Iterator[object]:
        wrapped = isinstance(node, dict) and VALUE in node
        if node is not _NO_JSON and (wrapped or not self.single):
            yield node
        elif node is not _NO_JSON:
            if self.plain != "no" and isinstance(node, jsontext.Number):
                yield {VALUE: body}  # the label "1" said as 1, a Decimal with all its digits
            yield {VALUE: node}
        elif self.plain == "label":
            yield {VALUE: body}
        elif self.plain == "text" and body and not body.startswith(("{", "[", '"')):  # those were meant as JSON
            yield {VALUE: text}

    def _told(self, error: ValidationError) -> str:
        found = error.errors(include_url=False, include_input=False)
        told = [self._problem(dict(each)) for each in found[:TOLD_PROBLEMS]]
        if len(found) > TOLD_PROBLEMS:
            told.append(f"and {len(found) - TOLD_PROBLEMS} more")
        return "; ".join(told)

    def _problem(self, problem: dict[str, Any]) -> str:
        context: dict[str, Any] = problem.get("ctx", {})
        if problem["type"] == "json_invalid":
            return f"not JSON ({excerpt(str(context.get('error', '')))})"
        path = [str(step) for step in problem["loc"]]
        if self.single and path[:1] == [VALUE]:
            path[0] = self.slots[0].name
        where = f"field {'.'.join(path)!r}"
        if problem["type"] == "missing":
            return f"{where} is missing"
        if problem["type"] in {"literal_error", "enum"}:
            expected = str(context.get("expected", ""))
            return f"{where} must be {expected if len(expected) <= TOLD_CHARS else expected[:TOLD_CHARS] + '…'}"
        return f"{where}: {quoted(problem['msg'])}" if path else quoted(problem["msg"])


def quoted(text: str) -> str:
    """An excerpt that every file and column can hold: half a surrogate pair becomes a question mark."""
    return excerpt(text).encode(errors="replace").decode()


def keys_of(shapes: tuple[jsontext.JsonSchema, ...]) -> tuple[tuple[str, ...], bool]:
    """The keys in quotes that the schemas name, and whether further ones may come."""
    keys: dict[str, None] = {}
    open_ = False
    waiting: list[Any] = list(shapes)
    while waiting:
        each = waiting.pop()
        if isinstance(each, list):
            waiting.extend(cast("list[object]", each))
        elif isinstance(each, dict):
            node = cast("dict[str, Any]", each)
            named: object = node.get("properties")
            if isinstance(named, dict):
                keys |= dict.fromkeys(map(jsontext.write, cast("dict[str, object]", named)))
            rest = node.get("additionalProperties")
            open_ = open_ or (isinstance(rest, (bool, dict)) and rest is not False)
            waiting.extend(node.values())
    return tuple(keys), open_
