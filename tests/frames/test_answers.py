from __future__ import annotations

import pyarrow as pa

from llmframe.frames.answers import answers_table


def test_answers_are_text_with_nulls():
    table = answers_table(["ab", "cd"], ["yes", None], [None, "server: x"])
    assert table.to_pylist() == [
        {"fingerprint": "ab", "response": "yes", "error": None},
        {"fingerprint": "cd", "response": None, "error": "server: x"},
    ]


def test_without_requests_the_types_are_the_same():
    assert answers_table([], [], []).schema == answers_table(["ab"], [None], [None]).schema
    assert {field.type for field in answers_table([], [], []).schema} == {pa.large_string()}
