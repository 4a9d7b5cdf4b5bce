"""Where the providers live: prefixes of model names, base URLs, key variables, packages."""

from __future__ import annotations

import importlib.util
import ipaddress
from dataclasses import dataclass
from types import MappingProxyType
from urllib.parse import urlsplit

from llmframe.errors import MissingExtraError, UsageError, did_you_mean


@dataclass(frozen=True, slots=True, kw_only=True)
class Endpoint:
    """A provider reached with the openai SDK alone.

    `base_url` is `None` where every account has its own; `price_name` is the provider's name for prices.
    """

    base_url: str | None
    key_variables: tuple[str, ...]
    price_name: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Foreign:
    """A provider with an SDK of its own, reached through instructor.

    `modules` must be importable, `packages` is what to install for that; without `key_variables` the SDK finds its own
    credentials.
    """

    modules: tuple[str, ...]
    packages: str
    key_variables: tuple[str, ...] = ()
    price_name: str


OPENAI_URL = "https://api.openai.com/v1"

ENDPOINTS = MappingProxyType(
    {
        "openai": Endpoint(base_url=OPENAI_URL, key_variables=("OPENAI_API_KEY",), price_name="openai"),
        "ollama": Endpoint(base_url="http://localhost:11434/v1", key_variables=(), price_name="ollama"),
        "openrouter": Endpoint(
            base_url="https://openrouter.ai/api/v1", key_variables=("OPENROUTER_API_KEY",), price_name="openrouter"
        ),
        "together": Endpoint(
            base_url="https://api.together.xyz/v1", key_variables=("TOGETHER_API_KEY",), price_name="together"
        ),
        "perplexity": Endpoint(
            base_url="https://api.perplexity.ai", key_variables=("PERPLEXITY_API_KEY",), price_name="perplexity"
        ),
        "deepseek": Endpoint(
            base_url="https://api.deepseek.com", key_variables=("DEEPSEEK_API_KEY",), price_name="deepseek"
        ),
        "anyscale": Endpoint(
            base_url="https://api.endpoints.anyscale.com/v1", key_variables=("ANYSCALE_API_KEY",), price_name="anyscale"
        ),
        "databricks": Endpoint(
            base_url=None, key_variables=("DATABRICKS_TOKEN", "DATABRICKS_API_KEY"), price_name="databricks"
        ),
        "azure_openai": Endpoint(base_url=None, key_variables=("AZURE_OPENAI_API_KEY",), price_name="azure"),
    }
)

_GOOGLE_KEYS = ("GOOGLE_API_KEY", "GEMINI_API_KEY")

FOREIGN = MappingProxyType(
    {
        "anthropic": Foreign(
            modules=("anthropic",),
            packages="'llmframe[anthropic]'",
            key_variables=("ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN"),
            price_name="anthropic",
        ),
        "google": Foreign(
            modules=("google.genai", "jsonref"),
            packages="google-genai jsonref",
            key_variables=_GOOGLE_KEYS,
            price_name="google",
        ),
        "generative-ai": Foreign(
            modules=("google.genai", "jsonref"),
            packages="google-genai jsonref",
            key_variables=_GOOGLE_KEYS,
            price_name="google",
        ),
        "gemini": Foreign(
            modules=("google.generativeai",),
            packages="google-generativeai",
            key_variables=_GOOGLE_KEYS,
            price_name="google",
        ),
        "vertexai": Foreign(modules=("vertexai",), packages="google-cloud-aiplatform", price_name="google"),
        "mistral": Foreign(
            modules=("mistralai",), packages="mistralai", key_variables=("MISTRAL_API_KEY",), price_name="mistral"
        ),
        "groq": Foreign(modules=("groq",), packages="groq", key_variables=("GROQ_API_KEY",), price_name="groq"),
        "cohere": Foreign(
            modules=("cohere",), packages="cohere", key_variables=("CO_API_KEY", "COHERE_API_KEY"), price_name="cohere"
        ),
        "bedrock": Foreign(modules=("boto3",), packages="boto3", price_name="aws"),
        "cerebras": Foreign(
            modules=("cerebras.cloud.sdk",),
            packages="cerebras-cloud-sdk",
            key_variables=("CEREBRAS_API_KEY",),
            price_name="cerebras",
        ),
        "fireworks": Foreign(
            modules=("fireworks",),
            packages="fireworks-ai",
            key_variables=("FIREWORKS_API_KEY",),
            price_name="fireworks",
        ),
        "writer": Foreign(
            modules=("writerai",), packages="writer-sdk", key_variables=("WRITER_API_KEY",), price_name="writer"
        ),
        "xai": Foreign(modules=("xai_sdk",), packages="xai-sdk", key_variables=("XAI_API_KEY",), price_name="x-ai"),
        "litellm": Foreign(modules=("litellm",), packages="litellm", price_name="litellm"),
    }
)

PREFIXES = (*ENDPOINTS, *FOREIGN, "local")
"""Every word that may stand before the slash of `model`."""

_DEFAULT_PORTS = {"http": 80, "https": 443}
_KNOWN_URLS = frozenset(endpoint.base_url for endpoint in ENDPOINTS.values())
_PRICES = MappingProxyType(
    {
        urlsplit(endpoint.base_url).hostname: endpoint.price_name
        for endpoint in ENDPOINTS.values()
        if endpoint.base_url and endpoint.price_name != "ollama"
    }
)


def need_packages(provider: str, found: Foreign) -> None:
    """Raise `MissingExtraError` when the provider's SDK isn't installed; only parent packages are imported."""
    if not all(_is_installed(module) for module in found.modules):
        raise MissingExtraError(
            f"models of {provider!r} need packages that aren't installed: `pip install {found.packages}`"
        )


def _is_installed(module: str) -> bool:
    try:
        return importlib.util.find_spec(module) is not None
    except ModuleNotFoundError:
        return False


def unknown_provider(model: str, prefix: str) -> UsageError:
    """The error for a name with an unknown word before its slash."""
    return UsageError(
        f"model {model!r} names no known provider{did_you_mean(prefix, PREFIXES) or ';'} give `base_url=` (or set "
        f"OPENAI_BASE_URL) to send the name as it is; providers: {', '.join(sorted(PREFIXES))}"
    )


def sending_url(base_url: str) -> str:
    """`base_url` as requests are sent to it: without a trailing slash, with `/v1` where it names a host alone.

    Raises
    ------
    UsageError
        If it isn't an absolute http(s) URL, or holds a user, a query or a fragment.
    """
    url = base_url.strip().rstrip("/")
    # The value isn't shown in what follows: a URL may hold a password.
    wrong = UsageError('base_url must be an absolute URL such as "http://localhost:8000/v1"')
    try:
        parts = urlsplit(url)
        absolute = parts.scheme.lower() in _DEFAULT_PORTS and bool(parts.hostname) and parts.port != 0
    except ValueError:  # a port out of range, half a bracket
        raise wrong from None
    if not absolute:
        raise wrong
    if parts.query or parts.fragment:
        raise UsageError('base_url has a query; leave it out and give `params={"extra_query": {...}}`')
    if parts.username is not None:
        raise UsageError(
            'base_url has a user in it; leave it out and give `params={"extra_headers": {"Authorization": ...}}`'
        )
    if not parts.path and url not in _KNOWN_URLS:
        url += "/v1"
    return url.removesuffix("/chat/completions")


def identity_of(url: str) -> str:
    """A base URL as it stands in fingerprints: lower-case host, no default port, user, query or trailing slash."""
    parts = urlsplit(url)
    scheme = parts.scheme.lower()
    host = (parts.hostname or "").lower()
    if ":" in host:
        host = f"[{host}]"
    port = "" if parts.port in {None, _DEFAULT_PORTS.get(scheme)} else f":{parts.port}"
    return f"{scheme}://{host}{port}{parts.path.rstrip('/')}"


def price_name(url: str) -> str | None:
    """The provider's name for prices by the host of `url`; `None` when it isn't a known one."""
    host = urlsplit(url).hostname or ""
    if host.endswith(".openai.azure.com"):
        return "azure"
    return _PRICES.get(host)


def is_loopback(url: str) -> bool:
    """Whether `url` is on this machine."""
    host = urlsplit(url).hostname or ""
    if host == "localhost" or host.endswith(".localhost"):
        return True
    try:
        return ipaddress.ip_address(host).is_loopback or ipaddress.ip_address(host).is_unspecified
    except ValueError:
        return False
