"""The ledger port."""

from __future__ import annotations

import inspect
from typing import get_args

from llmframe.stores.base import MemoryStore
from llmframe.stores.jobs import OPEN, Execution, Ledger
from llmframe.stores.ledger import SqlLedger, ledger_of


def methods(kind: type) -> dict[str, list[tuple[str, object, object]]]:
    return {
        name: [(each.name, each.kind, each.default) for each in inspect.signature(method).parameters.values()]
        for name, method in inspect.getmembers(kind, inspect.isfunction)
        if not name.startswith("_")
    }


def test_the_ledger_in_sql_has_the_methods_of_the_port_and_no_others():
    assert methods(SqlLedger) == methods(Ledger)
    assert isinstance(ledger_of(MemoryStore()), SqlLedger)


def test_what_may_still_come_to_something_is_every_execution_but_the_ends():
    assert set(get_args(Execution)) - set(OPEN) == {"failed", "lost", "abandoned"}
