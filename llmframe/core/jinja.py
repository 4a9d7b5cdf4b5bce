"""Jinja2 templates over columns, sandboxed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, cast

import jinja2
from jinja2 import meta, sandbox

from llmframe.core.cells import CellError, OnNull, Texts, cell_text, cell_texts, checked_text
from llmframe.core.outcome import Failure
from llmframe.errors import UsageError, excerpt

# Random output would make every rerun a new question.
_RANDOM_GLOBALS = ("lipsum", "cycler", "joiner")
_RANDOM_FILTERS = ("random",)

# What a template over any data can run into. `MemoryError` and interrupts are not the row's.
_RUNTIME_ERRORS = (
    jinja2.TemplateError,
    ArithmeticError,
    AttributeError,
    LookupError,
    RecursionError,
    TypeError,
    ValueError,
)


@dataclass(frozen=True, slots=True)
class JinjaTemplate:
    """A compiled Jinja2 template; `columns` are the names it leaves undefined."""

    columns: tuple[str, ...]
    compiled: jinja2.Template

    def fill(self, cells: Mapping[str, Sequence[object]], rows: int) -> Texts:
        """One text a row; the template sees native values, and empty text for a null cell.

        Parameters
        ----------
        cells
            One list of `rows` values for each of `columns`.
        rows
            Number of rows.
        """
        failures: dict[int, Failure] = {}
        for name in self.columns:
            # Lists and structs may hold what the template never prints; what it prints goes through `finalize`.
            scalars = [None if isinstance(value, list | tuple | dict) else value for value in cells[name]]
            for row, failure in cell_texts(scalars, name).failures.items():
                failures.setdefault(row, failure)
        texts = [""] * rows
        for row in range(rows):
            if row not in failures:
                values = {name: _visible(cells[name][row]) for name in self.columns}
                result = self._row_text(values)
                if isinstance(result, Failure):
                    failures[row] = result
                else:
                    texts[row] = result
        return Texts(texts, failures)

    def _row_text(self, values: dict[str, object]) -> str | Failure:
        try:
            return checked_text(self.compiled.render(values))
        except CellError as error:
            return Failure(error.kind, f"{error.detail} in the template")
        except jinja2.TemplateError as error:
            return Failure("render", f"{type(error).__name__}: {excerpt(str(error))}")
        except _RUNTIME_ERRORS as error:  # their messages quote cells: int("<cell>")
            return Failure("render", f"{type(error).__name__} in the template")


def compile_jinja(
    text: str, names: Sequence[str] = (), *, on_null: OnNull = "skip", what: str = "prompt"
) -> JinjaTemplate:
    """Compile a template once.

    Parameters
    ----------
    text
        Jinja2 source. `{{ x }}` prints what a brace template prints for the cell `x`.
    names
        The columns; they win over Jinja2's own globals such as `range`.
    on_null
        What a null inside a struct does when the template reads it; `"raise"` is `"skip"` here.
    what
        What messages call the template.

    Raises
    ------
    UsageError
        If the source can't be compiled or includes other templates.
    """
    environment = _Environment(on_null)
    for name in (*names, *_RANDOM_GLOBALS):
        environment.globals.pop(name, None)
    try:
        tree = environment.parse(text)
        undefined = meta.find_undeclared_variables(tree)
        others = list(meta.find_referenced_templates(tree))
        compiled = environment.from_string(tree)
    except jinja2.TemplateSyntaxError as error:
        raise UsageError(
            f"{what} isn't valid Jinja2: line {error.lineno}: {error.message}; if its braces are plain text or "
            'columns in braces, say llmframe.Template(text, syntax="braces")'
        ) from None
    except jinja2.TemplateError as error:
        raise UsageError(f"{what} isn't valid Jinja2: {error}") from None
    if others:
        raise UsageError(f"{what} refers to other templates, which Jinja2 prompts can't: {others!r}")
    return JinjaTemplate(tuple(sorted(undefined)), compiled)


def _visible(value: object) -> object:
    return "" if value is None else value


class _Environment(sandbox.SandboxedEnvironment):
    """The sandbox, where a struct's own fields win over dict's methods and nulls follow the policy."""

    def __init__(self, on_null: OnNull) -> None:
        super().__init__(
            undefined=jinja2.StrictUndefined,
            keep_trailing_newline=True,
            autoescape=False,
            finalize=self._printed,
        )
        for name in _RANDOM_FILTERS:
            self.filters.pop(name, None)
        self._on_null: OnNull = on_null

    def getattr(self, obj: Any, attribute: str) -> Any:
        if isinstance(obj, dict) and attribute in obj:
            return self._present(cast("dict[str, object]", obj)[attribute])
        return super().getattr(obj, attribute)

    def getitem(self, obj: Any, argument: Any) -> Any:
        found = super().getitem(obj, argument)
        return self._present(found) if isinstance(obj, list | tuple | dict) else found

    def _present(self, value: object) -> object:
        if value is not None:
            return value
        if self._on_null == "render":
            return ""
        raise CellError("null", "missing value")

    def _printed(self, value: object) -> str:
        if isinstance(value, jinja2.Undefined):
            return str(value)  # raises: it is strict
        return cell_text(self._present(value))
