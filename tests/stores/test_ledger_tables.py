"""The ledger's tables."""

from __future__ import annotations

from dataclasses import fields
from pathlib import Path

import pytest

from llmframe.errors import UsageError
from llmframe.stores.connections import Connections
from llmframe.stores.jobs import JobRecord, Shard
from llmframe.stores.ledger_tables import check_changes, is_laid_out, make, text, well_formed


def test_digests_names_and_counts_are_kept_and_no_prompt(tmp_path: Path):
    """The tables are read by older and newer versions: a change here needs tables of other names."""
    connections = Connections(tmp_path / "a.sqlite")

    def look(connection) -> dict[str, list[str]]:
        assert not is_laid_out(connection)
        make(connection)
        make(connection)
        assert is_laid_out(connection)
        tables = ("jobs", "shards", "lines", "workers")
        return {
            table: [name.decode() for _, name, *_ in connection.execute(f"PRAGMA table_info({table})")]
            for table in tables
        }

    assert connections.transact("record", look) == {
        "jobs": "number id created provider identity model question kind requests rows cancelled finished"
        " worker".split(),
        "shards": "id intent job number execution collection mode max_tokens_name tool lines bytes tokens file_id"
        " batch_id status attempts planned created polled total done failed detail worker".split(),
        "lines": "id state later head rest line place digest input output cached kind detail".split(),
        "workers": "id place pid started beat".split(),
    }
    connections.close()


def test_every_field_of_a_record_has_its_column():
    """The tables above were made from these: a new field needs a column that files there are lack."""
    assert [field.name for field in fields(JobRecord)] == (
        "id created provider identity model question kind requests rows cancelled finished".split()
    )
    assert [field.name for field in fields(Shard)] == (
        "intent job number execution collection mode max_tokens_name tool lines bytes tokens file_id batch_id status"
        " attempts planned created polled total done failed detail".split()
    )


def test_what_a_shard_is_known_by_is_not_changed():
    check_changes({"status": "x", "lines": 3})
    for name in ("intent", "job", "number"):
        with pytest.raises(UsageError, match=f"{name!r} is what it's known by"):
            check_changes({name: "x"})
    with pytest.raises(UsageError, match="no field 'polls'; did you mean 'polled'"):
        check_changes({"polls": 1.0})


def test_texts_are_read_from_bytes_and_written_whole():
    assert (text(b"\xc3\xbc"), text(1), text(None)) == ("ü", 1, None)
    assert (well_formed("\ud800ü"), well_formed(1.5), well_formed(None)) == ("?ü", 1.5, None)
