"""The verb's signature, and its twin's."""

from __future__ import annotations

import inspect
from collections.abc import Callable

import pandas as pd
import pytest

from llmframe.api.embed import aembed, embed
from llmframe.api.embedding import EmbedOptions


def parameters(verb: Callable[..., object]) -> list[tuple[str, object, object]]:
    """Name, kind and default of each parameter but the frame itself."""
    return [(p.name, p.kind, p.default) for p in list(inspect.signature(verb).parameters.values())[1:]]


def test_both_take_the_same_all_but_the_column_by_keyword():
    assert parameters(embed) == parameters(aembed)
    (column, *keywords, unknown) = parameters(embed)
    assert column[:2] == ("column", inspect.Parameter.POSITIONAL_OR_KEYWORD)
    assert {kind for _, kind, _ in keywords} == {inspect.Parameter.KEYWORD_ONLY}
    assert unknown[1] == inspect.Parameter.VAR_KEYWORD
    assert [name for name, _, _ in keywords] == list(EmbedOptions.__annotations__)


@pytest.mark.parametrize("verb", [embed, aembed])
def test_a_frame_has_the_same(verb: Callable[..., object]):
    namespace = type(pd.DataFrame({"text": ["a"]}).llm)
    assert parameters(getattr(namespace, verb.__name__)) == parameters(verb)
    assert getattr(namespace, verb.__name__).__doc__ == verb.__doc__
