"""Fields whose values a JSON schema lists, and how likely each of them is to a simulated model."""

from __future__ import annotations

import hashlib
import random
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final
from urllib.parse import unquote

from llmframe.errors import UsageError
from llmframe.testing.shapes import JsonObject, as_object, as_objects, is_object, plain_json

Probabilities = Mapping[Any, float] | Callable[[str], Mapping[Any, float]]
"""Of values by themselves, or by a function of the last user message."""

LEAST_LEAD: Final = 0.5
"""A simulated model's favourite has more than this, so that it is the likeliest of any number."""

LEAD_SPAN: Final = 0.49

_REFS: Final = 8
"""References to references that are followed."""

_DRAWS: Final = 2.0**64


@dataclass(frozen=True, slots=True, kw_only=True)
class Opinion:
    """How a simulated model decides between listed values.

    Parameters
    ----------
    stated
        Probabilities as a test wants them; `None`: derived from the prompt.
    varies
        Whether each sample of a prompt is drawn by them; else the likeliest value is always said.
    """

    stated: Probabilities | None = None
    varies: bool = False

    def weights(
        self, options: tuple[object, ...], *, prompt: str, seed: int, key: str, likeliest: object
    ) -> list[float]:
        """The probability of each option, with sum 1.

        Of stated ones that say nothing of an option it shares what is left; where they say nothing of any, they are
        derived from `seed` and `key`, with `likeliest` before the others.
        """
        stated = self.stated(prompt) if callable(self.stated) else self.stated
        by_text = {} if stated is None else {plain_json(value): share for value, share in stated.items()}
        names = [plain_json(option) for option in options]
        known = [by_text[name] for name in names if name in by_text]
        if known:
            left = max(0.0, 1.0 - sum(known)) / max(1, len(names) - len(known))
            shares = [by_text.get(name, left) for name in names]
        else:
            shares = _derived(len(names), names.index(plain_json(likeliest)), f"{seed}:{key}")
        whole = sum(shares)
        return [share / whole for share in shares]

    def chosen(self, value: object, schema: JsonObject, *, prompt: str, seed: int, sample: str) -> object:
        """`value` with the listed values of its fields as this sample of the prompt has them."""
        if not is_object(value) or (self.stated is None and not self.varies):
            return value
        closed = closed_fields(schema)
        said: JsonObject = {}
        for key, own in value.items():
            options = closed.get(key, ())
            if plain_json(own) not in map(plain_json, options):
                said[key] = own
                continue
            weights = self.weights(options, prompt=prompt, seed=seed, key=key, likeliest=own)
            said[key] = options[_drawn(weights, f"{seed}:{key}:{sample}") if self.varies else _first_of_most(weights)]
        return said


USUAL: Final = Opinion()
"""Derived from the prompt, and always the same."""


def check_probabilities(stated: Probabilities | None) -> None:
    """Refuse shares that are none, as far as they can be seen before a prompt comes."""
    if stated is None or callable(stated):
        return
    for value, share in stated.items():
        if not 0 <= share <= 1:
            raise UsageError(f"probabilities gives {value!r} the share {share!r}; shares lie in [0, 1]")


def closed_fields(schema: JsonObject) -> dict[str, tuple[object, ...]]:
    """The properties of an object whose values are listed, with these in the schema's order."""
    properties = as_object(_resolved(schema, schema).get("properties"))
    found = {key: _options(part, schema) for key, part in properties.items()}
    return {key: options for key, options in found.items() if options}


def _options(part: object, root: JsonObject) -> tuple[object, ...]:
    """The values that a schema lists; none where it leaves any open."""
    node = _resolved(as_object(part), root)
    if "const" in node:
        return (node["const"],)
    if "enum" in node:
        return tuple(node["enum"])
    kinds: list[JsonObject] = as_objects(node.get("anyOf") or node.get("oneOf"))
    if not kinds and isinstance(node.get("type"), list):
        kinds = [{"type": kind} for kind in node["type"]]
    if kinds:
        inner = [_options(kind, root) for kind in kinds]
        every = {plain_json(value): value for options in inner for value in options}
        return tuple(every.values()) if all(inner) else ()
    return {"boolean": (True, False), "null": (None,)}.get(str(node.get("type")), ())


def _resolved(node: JsonObject, root: JsonObject) -> JsonObject:
    for _ in range(_REFS):
        parts = as_objects(node.get("allOf"))
        if len(parts) == 1:
            node = parts[0]
        elif "$ref" in node:
            target: Any = root
            for step in unquote(str(node["$ref"]).removeprefix("#")).split("/")[1:]:
                target = as_object(target).get(step.replace("~1", "/").replace("~0", "~"))
            node = as_object(target)
        else:
            return node
    return {}


def _derived(count: int, favourite: int, seed: str) -> list[float]:
    draw = random.Random(_number(seed))  # noqa: S311 - test data, no secret
    lead = LEAST_LEAD + LEAD_SPAN * draw.random() if count > 1 else 1.0
    rest = [0.1 + draw.random() for _ in range(count)]
    others = sum(rest) - rest[favourite]
    return [lead if at == favourite else (1 - lead) * share / others for at, share in enumerate(rest)]


def _drawn(weights: list[float], seed: str) -> int:
    at = _number(seed) / _DRAWS
    for number, weight in enumerate(weights):
        at -= weight
        if at < 0:
            return number
    return _first_of_most(weights)


def _first_of_most(weights: list[float]) -> int:
    return weights.index(max(weights))


def _number(seed: str) -> int:
    return int.from_bytes(hashlib.blake2b(seed.encode(), digest_size=8).digest(), "little")
