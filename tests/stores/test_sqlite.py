"""The store on disk as its users see it."""

from __future__ import annotations

import json
import signal
import sqlite3
import subprocess
import sys
import threading
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from llmframe.core.outcome import Usage
from llmframe.core.request import Components
from llmframe.errors import StoreError
from llmframe.stores.base import SharedStore, Store, Stored
from llmframe.stores.connections import Waits
from llmframe.stores.owners import place
from llmframe.stores.sqlite import SqliteStore, default_path

COMPONENTS = Components("0123456789abcdef", "fedcba9876543210", "0000000000000000")
ENTRY = Stored('{"label":"pos"}', Usage(10, 2, 0), "m-2024", "stop", 1_700_000_000.123, COMPONENTS, b"\x80" + b"\0" * 7)

texts = st.text(st.characters(exclude_categories=["Cs"]), max_size=300) | st.sampled_from(
    ["", "\0", "a\0b", "x" * 70_000]
)
tokens = st.none() | st.integers(0, 2**62)
entries = st.builds(
    Stored,
    text=texts,
    usage=st.builds(Usage, tokens, tokens, tokens),
    model=st.none() | texts,
    finish_reason=st.none() | texts,
    created=st.integers(0, 2**42).map(lambda ms: ms / 1000),
    components=st.none() | st.builds(Components, *[st.sampled_from(["a" * 16, "b" * 16])] * 3),
    prompt_digest=st.none() | st.binary(min_size=8, max_size=8),
    evidence=st.none() | texts,
)
keys = st.sampled_from([bytes([i]) * 32 for i in range(6)])


@pytest.fixture
def store(tmp_path: Path):
    store = SqliteStore(tmp_path / "a.sqlite", waits=Waits(read=0.05, claim=0.05, write=0.05, tend=0.05))
    yield store
    store.close()


@pytest.fixture(scope="module")
def dict_store(tmp_path_factory: pytest.TempPathFactory):
    store = SqliteStore(tmp_path_factory.mktemp("dict") / "a.sqlite")
    yield store
    store.close()


def start(code: str, *arguments: object) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-c", code, *map(str, arguments)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def test_it_is_a_store_that_processes_share(store):
    assert isinstance(store, Store)
    assert isinstance(store, SharedStore)


def test_what_was_put_comes_back_whole_and_the_rest_is_left_out(store):
    store.put_many([(b"a", ENTRY), (b"b", Stored("x"))])
    assert store.get_many([b"b", b"missing", b"a", b"a"]) == {b"b": Stored("x"), b"a": ENTRY}
    assert store.get_many([]) == {}
    store.put_many([])


def test_it_comes_back_in_another_process_too(store):
    store.put_many([(b"a", ENTRY)])
    code = (
        "import sys; from llmframe.stores.sqlite import SqliteStore; print(SqliteStore(sys.argv[1]).get_many([b'a']))"
    )
    with start(code, store.path) as other:
        assert other.communicate(timeout=60) == (f"{ {b'a': ENTRY} }\n", "")


def test_a_later_answer_takes_the_place_of_an_earlier_one(store):
    store.put_many([(b"a", ENTRY), (b"a", Stored("new"))])
    assert store.get_many([b"a"]) == {b"a": Stored("new")}
    store.put_many([(b"a", ENTRY)])
    assert store.get_many([b"a"]) == {b"a": ENTRY}


@settings(max_examples=40)
@given(
    st.lists(
        st.one_of(
            st.tuples(st.just("put"), st.lists(st.tuples(keys, entries), max_size=4)),
            st.tuples(st.just("get"), st.lists(keys, max_size=8)),
            st.tuples(st.just("clear"), st.none()),
            st.tuples(st.just("close"), st.none()),
        ),
        max_size=8,
    )
)
def test_it_behaves_as_a_dict(dict_store, steps):
    dict_store.clear()
    model: dict[bytes, Stored] = {}
    for verb, argument in steps:
        if verb == "put":
            dict_store.put_many(argument)
            model.update(argument)
        elif verb == "get":
            assert dict_store.get_many(argument) == {key: model[key] for key in argument if key in model}
        elif verb == "clear":
            assert dict_store.clear() == len(model)
            model.clear()
        else:
            dict_store.close()
    assert dict(dict_store.entries()) == model
    assert dict_store.info().entries == len(model)


def test_times_are_kept_to_the_millisecond(store):
    store.put_many([(b"a", Stored("x", created=1_700_000_000.123456))])
    assert store.get_many([b"a"])[b"a"].created == 1_700_000_000.123


def test_a_thousand_answers_are_looked_up_at_once(store):
    many = [(b"%d" % i, Stored(str(i))) for i in range(1234)]
    store.put_many(iter(many))
    assert store.get_many([key for key, _ in many]) == dict(many)


def test_its_representation_tells_the_path_only(store):
    store.put_many([(b"a", ENTRY)])
    assert repr(store) == f"SqliteStore({str(store.path)!r})"


def test_the_default_place_is_the_users_cache_folder(monkeypatch: pytest.MonkeyPatch, tmp_path: Path):
    assert default_path().name == "answers.sqlite"
    assert "llmframe" in default_path().parts
    if sys.platform == "linux":
        monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "elsewhere"))
        assert default_path() == tmp_path / "elsewhere" / "llmframe" / "answers.sqlite"


def test_a_tilde_is_the_users_home(monkeypatch: pytest.MonkeyPatch, tmp_path: Path):
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("USERPROFILE", str(tmp_path))
    store = SqliteStore("~/a.sqlite")
    assert store.path == tmp_path.resolve() / "a.sqlite"
    store.close()


def test_threads_may_put_get_and_claim_at_once(tmp_path: Path):
    store = SqliteStore(tmp_path / "a.sqlite")
    barrier = threading.Barrier(4)
    failures: list[BaseException] = []

    def work(name: int) -> None:
        try:
            barrier.wait(timeout=60)
            for number in range(40):
                key = b"%d-%d" % (name, number)
                store.claim([key])
                store.put_many([(key, Stored(f"{name} {number}"))])
                assert store.get_many([key]) == {key: Stored(f"{name} {number}")}
                store.beat()
                store.release([key])
        except BaseException as error:  # noqa: BLE001 - a thread's failure is looked at below
            failures.append(error)

    threads = [threading.Thread(target=work, args=(name,)) for name in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failures == []
    assert store.info().entries == 160
    store.close()


def test_processes_that_begin_put_and_claim_at_once_lose_nothing_and_share_the_work(tmp_path: Path):
    """Each takes the keys nobody else has claimed; the file doesn't exist when they begin."""
    code = """
import json, sys
from llmframe.stores.base import Stored
from llmframe.stores.connections import Waits
from llmframe.stores.sqlite import SqliteStore

sys.stdin.readline()
store = SqliteStore(sys.argv[1], waits=Waits(opening=30, read=30, claim=30))  # however slow the machine is
asked = []
for start in range(0, 600, 20):
    keys = [b"%d" % i for i in range(start, start + 20)]
    others = store.claim(keys)
    found = store.get_many(keys)  # after the claim: who had it before may have just kept the answer
    mine = [key for key in keys if key not in others and key not in found]
    store.put_many([(key, Stored(key.decode())) for key in mine])
    asked += [key.decode() for key in mine]
print(json.dumps(asked))
"""
    path = tmp_path / "a.sqlite"
    processes = [start(code, path) for _ in range(3)]
    for each in processes:
        assert each.stdin is not None
        each.stdin.write("go\n")
        each.stdin.flush()
    outputs = [each.communicate(timeout=60) for each in processes]
    assert [errors for _, errors in outputs] == ["", "", ""]
    asked = [key for output, _ in outputs for key in json.loads(output)]
    store = SqliteStore(path)
    assert store.get_many([b"%d" % i for i in range(600)]) == {b"%d" % i: Stored(str(i)) for i in range(600)}
    assert sorted(asked, key=int) == [str(i) for i in range(600)]  # nothing twice
    assert store.info().claims == 0
    store.close()


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no SIGKILL")
def test_a_process_killed_in_the_middle_of_writing_loses_nothing_that_was_kept(tmp_path: Path):
    code = """
import itertools, sys
from llmframe.stores.base import Stored
from llmframe.stores.sqlite import SqliteStore

store = SqliteStore(sys.argv[1])
for group in itertools.count():
    store.put_many([(b"%d" % i, Stored("x" * 500)) for i in range(50 * group, 50 * group + 50)])
    print(50 * group + 50, flush=True)
"""
    with start(code, tmp_path / "a.sqlite") as child:
        assert child.stdout is not None
        told = [int(child.stdout.readline()) for _ in range(20)]
        child.send_signal(signal.SIGKILL)
        told += [int(line) for line in child.stdout.read().split("\n")[:-1]]
        child.wait(timeout=60)
    store = SqliteStore(tmp_path / "a.sqlite")
    kept = store.info().entries
    assert kept >= told[-1] >= 1000
    assert kept % 50 == 0  # a group is there whole or not at all
    assert len(store.get_many([b"%d" % i for i in range(kept)])) == kept
    store.close()
    connection = sqlite3.connect(tmp_path / "a.sqlite")
    assert connection.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
    connection.close()


def test_a_full_disk_is_told_and_what_was_kept_stays(store):
    store.put_many([(b"a", ENTRY)])
    store._connections.run("write", lambda connection: connection.execute("PRAGMA max_page_count = 30").fetchall())
    with pytest.raises(StoreError, match="make room, or prune it") as caught:
        store.put_many([(b"b", Stored("x")), (b"c", Stored("x" * 500_000))])
    assert caught.value.reason == "full"
    assert store.get_many([b"a", b"b", b"c"]) == {b"a": ENTRY}
    store.put_many([(b"b", Stored("x"))])  # there is room again
    assert store.get_many([b"b"]) == {b"b": Stored("x")}


def test_a_process_that_may_write_no_more_says_so_and_others_go_on(tmp_path: Path):
    """The system itself refuses to let the files grow."""
    pytest.importorskip("resource", reason="Windows has no such limit")
    code = """
import resource, sys
from llmframe.errors import StoreError
from llmframe.stores.base import Stored
from llmframe.stores.sqlite import SqliteStore

store = SqliteStore(sys.argv[1])
store.put_many([(b"a", Stored("x"))])
resource.setrlimit(resource.RLIMIT_FSIZE, (200_000, 200_000))
try:
    store.put_many([(b"b", Stored("x" * 500_000))])
except StoreError as error:
    print(error.reason)
print(store.get_many([b"a", b"b"]) == {b"a": Stored("x")})
"""
    with start(code, tmp_path / "a.sqlite") as child:
        assert child.communicate(timeout=60) == ("io\nTrue\n", "")
    store = SqliteStore(tmp_path / "a.sqlite")
    store.put_many([(b"b", Stored("x" * 500_000))])
    assert len(store.get_many([b"a", b"b"])) == 2
    store.close()


def test_what_is_locked_too_long_is_told_while_reading_goes_on(store):
    store.put_many([(b"a", ENTRY)])
    store.claim([b"c"])
    holder = sqlite3.connect(store.path, isolation_level=None)
    holder.execute("BEGIN EXCLUSIVE")
    with pytest.raises(StoreError, match="locked by another program") as caught:
        store.put_many([(b"b", ENTRY)])
    assert caught.value.reason == "locked"
    with pytest.raises(StoreError, match="locked"):
        store.release([b"c"])
    assert store.get_many([b"a", b"b"]) == {b"a": ENTRY}
    holder.execute("ROLLBACK")
    holder.close()
    store.put_many([(b"b", ENTRY)])


def test_a_folder_that_vanishes_is_made_again(store, tmp_path: Path):
    inner = SqliteStore(tmp_path / "inner" / "a.sqlite")
    inner.put_many([(b"a", ENTRY)])
    (tmp_path / "inner").rename(tmp_path / "moved")
    inner.put_many([(b"b", ENTRY)])
    assert inner.get_many([b"a", b"b"]) == {b"b": ENTRY}
    inner.close()
    assert [path.name for path in (tmp_path / "inner").iterdir()] == ["a.sqlite"]


def test_no_prompt_and_no_machine_is_named_in_the_file(store, monkeypatch: pytest.MonkeyPatch):
    with monkeypatch.context() as patch:  # a machine may be called `key`, or by another word of the file
        patch.setattr("socket.gethostname", lambda: "the-name-of-this-machine")
        place.cache_clear()
        store.put_many([(b"a", ENTRY)])
        store.claim([b"b"])
        store._connections.close()  # without giving up the claim
        content = store.path.read_bytes()
        assert b"the-name-of-this-machine" not in content
        assert place().encode() in content
    place.cache_clear()
