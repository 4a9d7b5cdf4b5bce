"""References inside a document, and its size with them."""

from __future__ import annotations

import pytest

from llmframe.core.json_document import check_size, resolved
from llmframe.errors import UsageError


def test_a_reference_is_a_json_pointer_into_the_document():
    document = {"$defs": {"a/b~c": [{"type": "string"}]}}
    assert resolved(document, "#/$defs/a~1b~0c/0", "/x") == {"type": "string"}
    assert resolved(document, "#", "/x") is document


@pytest.mark.parametrize("target", ["file:///etc/passwd", "http://example.com/s.json", "other.json", "#anchor", 1])
def test_nothing_outside_the_document_is_looked_at(target):
    with pytest.raises(UsageError, match=r"at '/x': .* leads out of the document, and nothing is fetched"):
        resolved({}, target, "/x")


def test_a_few_lines_that_stand_for_billions_are_refused():
    """Every definition names the one before it twice: 2 ** 40 parts."""
    defs = {f"d{n}": {"anyOf": [{"$ref": f"#/$defs/d{n - 1}"}] * 2} for n in range(1, 41)}
    with pytest.raises(UsageError, match="more than"):
        check_size({"$defs": {"d0": {"type": "string"}, **defs}, "$ref": "#/$defs/d20"})


def test_a_deep_document_is_refused_before_python_gives_up():
    node: dict[str, object] = {"type": "string"}
    for _ in range(500):
        node = {"type": "array", "items": node}
    with pytest.raises(UsageError, match="deep in one another"):
        check_size(node)


def test_an_object_that_holds_itself_is_measured_once():
    check_size({"properties": {"kids": {"type": "array", "items": {"$ref": "#"}}}})
