"""The process that serves one embedded model on loopback until its parent is gone.

`clients.local` runs this file as a script. It reads one JSON line (`Settings`) from standard input, loads the
weights, answers with one JSON line, `{"address": …}` or `{"error": …}`, and ends when standard input closes, which
also happens when the parent dies by a signal. The line keeps the key out of the argument list.

A process of its own, because llama.cpp inside the caller's has no way out: dropping the server while a request is
in flight hangs for ever, leaving the interpreter then ends in a segmentation fault, loading holds the GIL for a
second, and an assertion in C++ would take a notebook's kernel with it (all seen with xllamacpp 2026.10).
"""

from __future__ import annotations

import importlib
import json
import os
import re
import signal
import sys
import tempfile
from typing import Any, BinaryIO, TypedDict

LOG_ERRORS = 1
"""llama.cpp's log level that names a fault and nothing else."""

LOG_LINE = re.compile(r"^[\d.]+ E (?P<text>.*)$", re.MULTILINE)
"""An error in llama.cpp's log: seconds since the start, the level, the text."""


class Settings(TypedDict):
    """What a server is started with; `context` is in tokens a slot, `answer_tokens` the cap where none is sent.

    With `embeds` it serves `/v1/embeddings` and nothing else, pooled as the weights' header says.
    """

    weights: str
    alias: str
    api_key: str
    slots: int
    context: int
    threads: int
    answer_tokens: int
    chat_template: str
    embeds: bool
    stop: list[str]
    import_from: str


def main() -> None:
    """Serve what standard input asks for; never returns."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C in the console is for the parent
    reply = os.fdopen(os.dup(1), "w", encoding="utf-8")
    with tempfile.TemporaryFile() as log:
        # llama.cpp writes to the descriptors themselves, past `sys.stdout` and its own log level.
        os.dup2(log.fileno(), 1)
        os.dup2(log.fileno(), 2)
        settings: Settings = json.loads(sys.stdin.buffer.readline())
        try:
            server = serve(settings)
        except (ImportError, OSError, RuntimeError) as fault:
            json.dump({"error": _reason(log) or str(fault)}, reply)
            reply.close()
            os._exit(1)
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, 1)
        os.dup2(nowhere, 2)
    json.dump({"address": server.listening_address}, reply)
    reply.close()
    sys.stdin.buffer.read()
    os._exit(0)  # no destructor: it would wait for requests in flight


def serve(settings: Settings) -> Any:
    """A running llama.cpp server on a free port of 127.0.0.1; `listening_address` is where.

    Raises
    ------
    ImportError
        If xllamacpp can't be loaded.
    RuntimeError
        If llama.cpp refuses the weights; the reason stands in its log only.
    """
    # Read when OpenMP is loaded, so before the import. Waiting threads spin by default, which on a busy machine made
    # a request take eight times the time and six times the CPU.
    os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")
    if settings["import_from"] not in sys.path:
        sys.path.append(settings["import_from"])
    xllamacpp: Any = importlib.import_module("xllamacpp")
    params = xllamacpp.CommonParams()
    params.model.path = settings["weights"]
    params.model_alias = {settings["alias"]}
    params.hostnames, params.port = ["127.0.0.1"], 0
    # Any page of a browser may reach loopback: a key, no web page, no cross-origin answer, no list of prompts.
    params.api_keys, params.ui = [settings["api_key"]], False
    params.cors_origins, params.endpoint_slots = "", False
    params.offline = True
    params.n_parallel = settings["slots"]
    params.n_ctx = settings["context"] * settings["slots"]
    params.n_predict = settings["answer_tokens"]
    params.cpuparams.n_threads = params.cpuparams_batch.n_threads = settings["threads"]
    params.chat_template, params.antiprompt = settings["chat_template"], settings["stop"]
    if settings["embeds"]:
        # A text is read in one piece, for each token sees all others.
        params.embedding = True
        params.n_batch = params.n_ubatch = settings["context"] * settings["slots"]
    # The cache of left prompts may grow to 8 GiB by default; a slot keeps its last prompt all the same.
    params.cache_ram_mib = 0
    params.verbosity, params.warmup = LOG_ERRORS, False
    return xllamacpp.Server(params)


def _reason(log: BinaryIO) -> str:
    log.seek(0)
    first = LOG_LINE.search(log.read().decode("utf-8", "replace"))
    return first["text"].strip() if first else ""


if __name__ == "__main__":
    main()
