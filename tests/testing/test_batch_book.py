from __future__ import annotations

import threading

from llmframe.testing import Reset, digest
from llmframe.testing.batch_book import Book
from llmframe.testing.batch_faults import CallFault
from llmframe.testing.batch_lines import Line
from llmframe.testing.files import Files


def test_a_line_is_counted_by_its_id_and_its_prompt():
    book, body = Book(Files()), {"messages": [{"role": "user", "content": "p"}]}
    for name in "aba":
        book.paid(Line(name, body))
    assert (book.paid_ids, book.paid_prompts) == ({"a": 2, "b": 1}, {digest("p"): 3})
    book.zero()
    assert not book.paid_ids
    assert not book.paid_prompts


def test_faults_belong_to_one_kind_of_call_until_they_are_forgotten():
    book, fault = Book(Files()), CallFault(Reset(), after_work=False)
    book.add_fault("state", fault, None)
    assert [book.take_fault(call) for call in ("create", "state", "state")] == [None, fault, fault]
    book.forget()
    assert book.take_fault("state") is None


def test_a_call_wakes_whoever_waits_for_it():
    book = Book(Files())
    caller = threading.Thread(target=book.called, args=("state",))
    caller.start()
    assert book.wait_for(lambda: book.calls["state"] == 1, 60.0)
    caller.join()
    assert not book.wait_for(lambda: book.calls["create"] == 1, 0.001)
