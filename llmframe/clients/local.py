"""Embedded models: installed or given GGUF weights, served on loopback by a process of our own.

A server starts on first use, is shared by the whole process and ends with it. Nothing is ever downloaded: weights
come from a package that the user installed, or from a path. How it is served, and why not inside this process, stands
in `clients.local_server`.

What the small models can't do, for whoever builds requests: tools are ignored in silence, `tool_choice="required"`
included, so ask by `json_schema`, which is enforced; an answer cut by `max_tokens` is broken JSON with
`finish_reason="length"`; free text after examples starts with a blank; a wrong model name is accepted.

A model chats or embeds, never both. Of 30 questions all-MiniLM-L6-v2 finds 28 passages first among 30; SmolLM2's own
states find 5 (the mean over tokens) or 13 (the last one), so that no model that chats is asked for vectors.
"""

from __future__ import annotations

import atexit
import contextlib
import functools
import hashlib
import importlib.util
import json
import os
import secrets
import subprocess
import sys
import threading
import warnings
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from llmframe.clients import local_server
from llmframe.clients.local_server import Settings
from llmframe.clients.local_weights import PACKAGED, embedding_context, given
from llmframe.errors import LlmframeWarning, MissingExtraError, UsageError, did_you_mean

SLOTS = 4
"""Requests that a server works on at once; more slots only added latency."""

CONTEXT = 2048
"""Tokens of prompt and answer in a slot; a longer prompt is refused by the server with its length."""

ANSWER_TOKENS = 256
"""Cap of an answer where no `max_tokens` is sent: small models don't always find an end."""

MAX_EMBEDDING_CONTEXT = 2048
"""Most tokens of a text that is embedded: memory is taken for as many in every slot."""

MAX_THREADS = 8
"""Most threads that compute, below the number of cores that this process may use."""

STOP = ["\n###"]
"""Ends an answer after plain-text examples. JSON can't hold a raw line break followed by this."""

EXTRA_INSTALL = 'pip install "llmframe[local]"    # llama.cpp, 34 MB'


def embedded(name: str) -> Embedded:
    """The embedded model of a name, found without loading it.

    Parameters
    ----------
    name
        What stands after `local/`: `"smollm2-135m"`, `"gemma3-270m"`, `"all-minilm-l6-v2"` (embeds), or the path of
        a `.gguf` file (absolute, relative or with `~`). A file by path keeps the chat template it carries, and embeds
        if its header says so.

    Raises
    ------
    UsageError
        If the name is unknown, or the path isn't a GGUF file.
    MissingExtraError
        If `xllamacpp` or the weights aren't installed; the message holds the commands.

    Notes
    -----
    Gemma comes in parts: its first start writes the whole file (253 MB) into its package's cache folder, below
    `~/.cache`. all-MiniLM-L6-v2 comes in another format: its first start writes it as GGUF (91 MB) into llmframe's.
    """
    if name.lower().endswith(".gguf"):
        path = given(name)
        _require(name, [] if _has_llama() else [EXTRA_INSTALL])
        context = embedding_context(path)
        return Embedded(
            alias=path.stem,
            source=str(path),
            chat_template="",
            embeds=context is not None,
            context=CONTEXT if context is None else min(context, MAX_EMBEDDING_CONTEXT),
            locate=lambda: path,
        )
    if name not in PACKAGED:
        known = ", ".join(map(repr, PACKAGED))
        raise UsageError(
            f"there is no embedded model {name!r}{did_you_mean(name, PACKAGED) or ';'} known: {known}, "
            "or the path of a file that ends in `.gguf`"
        )
    packaged = PACKAGED[name]
    missing = [] if _has_llama() else [EXTRA_INSTALL]
    if not packaged.installed():
        missing.append(packaged.install)
    _require(name, missing)
    return Embedded(
        alias=name,
        source=name,
        chat_template=packaged.chat_template,
        terms=packaged.terms,
        embeds=packaged.embeds is not None,
        context=CONTEXT if packaged.embeds is None else packaged.embeds,
        locate=packaged.locate,
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Embedded:
    """Weights on this machine and how they are served.

    Attributes
    ----------
    alias
        The model's name as it is sent and reported.
    source
        Name or absolute path that the weights come from; one server a source and chat template.
    chat_template
        Jinja text that turns messages into a prompt; empty: the template inside the weights.
    terms
        Terms of use, named once a process when the model starts; empty for none.
    embeds
        Whether it makes vectors, not answers.
    context
        Tokens of prompt and answer in a slot, or of a text that is embedded.
    locate
        Gives the path of the weights; may put the file together on first use.
    """

    alias: str
    source: str
    chat_template: str
    terms: str = ""
    embeds: bool = False
    context: int = CONTEXT
    locate: Callable[[], Path] = field(repr=False)

    @property
    def identity(self) -> str:
        """`"embedded:"` and a SHA-256 over weights and chat template; the weights are read once a process.

        How tokens become one vector stands in the weights' header.
        """
        path = self.locate()
        stat = path.stat()
        weights = _digest(path, size=stat.st_size, mtime_ns=stat.st_mtime_ns)
        return "embedded:" + hashlib.sha256(f"{weights}\n{self.chat_template}".encode()).hexdigest()

    def start(self) -> tuple[str, str]:
        """Base URL and API key of this model's server, started when it isn't running.

        Blocks until the weights are loaded: 0.6 s for SmolLM2-135M on two idle cores, longer for larger models.
        Threads that call at once wait for the same server.

        Raises
        ------
        UsageError
            If llama.cpp can't load the weights; the message holds its reason.
        """
        path = self.locate()
        if self.terms and self.terms not in _named_terms:
            _named_terms.add(self.terms)
            warnings.warn(f"{self.alias}: {self.terms}", LlmframeWarning, stacklevel=2)
        _stop_with_this_process()
        key = (self.source, self.chat_template)
        with _running.lock:
            server = _running.servers.get(key)
            if server is not None and server.process.poll() is not None:  # killed from outside, or out of memory
                server.stop()
                server = None
            if server is None:
                server = _running.servers[key] = _serve(self, path)
        return server.base_url, server.api_key

    def close(self) -> None:
        """Stop this model's server for the whole process; a second call does nothing."""
        with _running.lock:
            server = _running.servers.pop((self.source, self.chat_template), None)
        if server is not None:
            server.stop()


@dataclass(frozen=True, slots=True)
class _Server:
    process: subprocess.Popen[bytes]
    base_url: str
    api_key: str = field(repr=False)

    def stop(self) -> None:
        # Killed, not asked: it keeps nothing, and llama.cpp waits for requests in flight.
        self.process.kill()
        self.process.wait()
        _close_pipes(self.process)


@dataclass(slots=True)
class _Running:
    lock: threading.Lock = field(default_factory=threading.Lock)
    servers: dict[tuple[str, str], _Server] = field(default_factory=dict[tuple[str, str], _Server])

    def stop(self) -> None:
        with self.lock:
            servers = list(self.servers.values())
            self.servers.clear()
        for server in servers:
            server.stop()

    def forget(self) -> None:
        # In a forked child: the servers are the parent's, and a thread that isn't here may hold the lock.
        self.lock = threading.Lock()
        for server in self.servers.values():
            _close_pipes(server.process)  # else the server outlives the parent by as much as this child does
            server.process.returncode = 0
        self.servers.clear()


_running = _Running()
_named_terms: set[str] = set()


@functools.cache
def _stop_with_this_process() -> None:
    atexit.register(_running.stop)
    if hasattr(os, "register_at_fork"):
        os.register_at_fork(after_in_child=_running.forget)


def _serve(model: Embedded, path: Path) -> _Server:
    api_key = secrets.token_urlsafe(24)
    settings = Settings(
        weights=str(path),
        alias=model.alias,
        api_key=api_key,
        slots=SLOTS,
        context=model.context,
        threads=_threads(),
        answer_tokens=ANSWER_TOKENS,
        chat_template=model.chat_template,
        embeds=model.embeds,
        stop=STOP if model.chat_template else [],
        import_from=_llama_folder(),
    )
    # -P: this package's folder holds modules named after SDKs. A session of its own: Ctrl-C is for the caller.
    process = subprocess.Popen(  # noqa: S603 - our own file, by our own interpreter
        [sys.executable, "-P", str(Path(local_server.__file__))],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )
    answer = _converse(process, settings)
    if "address" not in answer:
        process.kill()
        code = process.wait()
        _close_pipes(process)
        reason = answer.get("error") or f"its process ended with code {code}"
        raise UsageError(
            f"llama.cpp can't serve {str(path)!r}: {reason}; is the file complete, and does memory suffice?"
        )
    return _Server(process, answer["address"] + "/v1", api_key)


def _converse(process: subprocess.Popen[bytes], settings: Settings) -> dict[str, str]:
    assert process.stdin is not None  # noqa: S101 - a pipe was asked for
    assert process.stdout is not None  # noqa: S101 - a pipe was asked for
    with contextlib.suppress(BrokenPipeError):
        process.stdin.write(json.dumps(settings).encode() + b"\n")
        process.stdin.flush()
    line = process.stdout.readline()
    return json.loads(line) if line else {}


def _close_pipes(process: subprocess.Popen[bytes]) -> None:
    for pipe in (process.stdin, process.stdout):
        if pipe is not None:
            with contextlib.suppress(OSError):
                pipe.close()


def _threads() -> int:
    # Cores of the machine that a container or `taskset` took away would only be fought over.
    cores = len(os.sched_getaffinity(0)) if sys.platform == "linux" else os.cpu_count() or 1
    return min(cores, MAX_THREADS)


@functools.lru_cache(maxsize=32)
def _digest(path: Path, *, size: int, mtime_ns: int) -> str:  # noqa: ARG001 - they make a changed file a new entry
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _has_llama() -> bool:
    return bool(_llama_folder())


def _llama_folder() -> str:
    spec = importlib.util.find_spec("xllamacpp")
    return str(Path(spec.origin).parent.parent) if spec and spec.origin else ""


def _require(name: str, missing: list[str]) -> None:
    if missing:
        commands = "".join(f"\n    {command}" for command in missing)
        raise MissingExtraError(
            f"the embedded model {name!r} needs packages that aren't installed, and llmframe downloads nothing "
            f"by itself. Run:{commands}"
        )
