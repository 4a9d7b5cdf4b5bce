"""What a JSON schema document refers to, and how large it is with all that."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final, cast

from llmframe.core.json_keywords import Node, fault, step

DEEPEST: Final = 80
"""Most objects and lists in one another; a schema has about two a level."""

LARGEST: Final = 20_000
"""Most parts of a document, each counted as often as it is referred to: a few lines of references can stand for
billions."""


def resolved(document: Node, target: object, pointer: str) -> object:
    """What a reference names.

    Parameters
    ----------
    document
        All there is: nothing else is looked at, nothing is fetched.
    target, pointer
        The reference (`#/$defs/Name`), and the place where it stands.

    Raises
    ------
    UsageError
        If it leads out of the document, or names nothing there.
    """
    if not isinstance(target, str) or not (target == "#" or target.startswith("#/")):
        raise fault(pointer, f"{target!r} leads out of the document, and nothing is fetched; copy it under $defs")
    found: object = document
    for name in target.split("/")[1:]:
        key = name.replace("~1", "/").replace("~0", "~")
        if isinstance(found, list) and key.isdecimal() and int(key) < len(cast("list[object]", found)):
            found = cast("list[object]", found)[int(key)]
        elif isinstance(found, Mapping) and key in found:
            found = cast("Node", found)[key]
        else:
            raise fault(pointer, f"{target!r} names nothing in the document")
    return found


def check_size(document: Node) -> None:
    """Refuse a document that is too deep or too large to be sent.

    Raises
    ------
    UsageError
        If it is, or if a reference in it leads nowhere.
    """
    sizes: dict[str, int] = {}

    def size(node: object, pointer: str, depth: int) -> int:
        if depth > DEEPEST:
            raise fault(pointer, f"objects and lists stand more than {DEEPEST} deep in one another")
        if isinstance(node, list):
            return 1 + sum(size(each, pointer, depth + 1) for each in cast("list[object]", node))
        if not isinstance(node, Mapping):
            return 1
        members = cast("Mapping[str, Any]", node)
        total = 1 + sum(size(value, step(pointer, key), depth + 1) for key, value in members.items())
        target = members.get("$ref")
        return total + referred(target, step(pointer, "$ref"), depth) if isinstance(target, str) else total

    def referred(target: str, pointer: str, depth: int) -> int:
        if target not in sizes:
            sizes[target] = 0  # while it is measured: an object that holds itself
            sizes[target] = size(resolved(document, target, pointer), target[1:], depth + 1)
        return sizes[target]

    if size(document, "", 0) > LARGEST:
        raise fault("", f"it has more than {LARGEST} parts, each counted as often as it is referred to")
