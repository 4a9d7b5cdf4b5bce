"""From a live client to the batches of the same endpoint, key and model."""

from __future__ import annotations

from typing import Final

from llmframe.clients.base import Client
from llmframe.clients.batch import Batches
from llmframe.clients.instructor import InstructorClient
from llmframe.clients.openai import OpenAIClient
from llmframe.clients.openai_batch import OpenAIBatches
from llmframe.errors import UsageError

MIN_SILENCE_S: Final = 60.0
"""A batch that is made late is still made: a short time-out would leave it unknown whether it was."""

_ANTHROPIC: Final = "anthropic"

_WORKS: Final = (
    'batches work with "openai/…", "azure_openai/…" and "anthropic/…", any server with OpenAI\'s Batch API by '
    "`base_url=`, and your own AsyncOpenAI or AsyncAzureOpenAI by `client=`"
)


def open_batches(client: Client, *, timeout: float = 60.0) -> Batches:
    """The batches of a client's endpoint, key and model; nothing is imported, started or sent yet.

    Parameters
    ----------
    client
        A client of `open_client` or `open_embeddings`; what it would send live stands in the lines. It needn't be
        started. A client that embeds gives batches that embed.
    timeout
        Longest wait for the next byte of an answer, in seconds, never less than `MIN_SILENCE_S`.

    Raises
    ------
    UsageError
        If its provider has no Batch API that is known here, or its answers are to come in pieces.
    """
    if client.streams:
        raise UsageError(
            "params key 'stream' can't be set with `mode=\"batch\"`: a batch has no pieces; leave it out, or use "
            '`mode="live"`'
        )
    silence = max(timeout, MIN_SILENCE_S)
    if isinstance(client, OpenAIClient):
        if client.origin.embedded is not None:
            raise UsageError(f'an embedded model has no Batch API, and costs nothing: use `mode="live"`; {_WORKS}')
        return OpenAIBatches(client, silence=silence)
    if isinstance(client, InstructorClient) and client.identity == _ANTHROPIC:
        from llmframe.clients.anthropic_batch import AnthropicBatches  # noqa: PLC0415 - of one provider alone

        return AnthropicBatches(client, silence=silence)
    raise UsageError(f'{client.identity!r} has no Batch API here: use `mode="live"`; {_WORKS}')
