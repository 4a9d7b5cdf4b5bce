"""Arguments that no verb has, and what was meant by them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from llmframe.errors import UsageError, did_you_mean

PROVIDER_WORDS: Final = frozenset(
    "temperature max_tokens max_completion_tokens top_p top_k seed stop presence_penalty frequency_penalty "
    "logit_bias logprobs top_logprobs reasoning_effort service_tier user metadata store verbosity extra_body "
    "stream extra_headers min_p repetition_penalty safety_settings thinking".split()
)
"""Words that belong into `params`; used for the error that says so."""

SYNONYMS: Final[Mapping[str, str]] = {
    "prompt": "prompt_template",
    "template": "prompt_template",
    "response_model": "schema",
    "output_schema": "schema",
    "model_class": "schema",
    "name": "into",
    "column": "into",
    "output_column": "into",
    "max_workers": "max_concurrency",
    "workers": "max_concurrency",
    "concurrency": "max_concurrency",
    "rpm": "requests_per_minute",
    "tpm": "tokens_per_minute",
    "retries": "max_attempts",
    "max_retries": "max_attempts",
    "api_base": "base_url",
    "deadline": "budget",
    "max_seconds": "budget",
    "time_limit": "budget",
    "max_cost": "budget",
    "max_usd": "budget",
    "max_calls": "budget",
    "pricing": "prices",
    "price": "prices",
    "chunk_size": "rows",
    "chunksize": "rows",
    "batch_size": "rows",
}
"""What other libraries call an argument, with its name here."""


def refuse_unknown(unknown: Mapping[str, object], known: tuple[str, ...], *, verb: str) -> None:
    """Raise `UsageError` for an argument that `verb` doesn't have; a provider's word is sent to `params`."""
    for name, value in unknown.items():
        if name in PROVIDER_WORDS:
            shown = repr(value) if isinstance(value, (int, float, bool, str)) else "..."
            raise UsageError(f'`{name}` is a word of the provider: give it as params={{"{name}": {shown}}}')
        meant = SYNONYMS.get(name)
        near = f"; did you mean {meant!r}?" if meant in known else did_you_mean(name, known)
        raise UsageError(f"`{verb}` has no argument {name!r}{near or ';'} arguments: {', '.join(known)}")
