"""Both ways out send the same request, and neither holds back what the engine lets through."""

from __future__ import annotations

import asyncio
import contextlib
import datetime
import hashlib
import ipaddress
import json
import ssl
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any, NamedTuple

import httpx2
import openai
import pytest
from aiohttp import ClientConnectorCertificateError, ServerDisconnectedError, web
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec

from llmframe.clients.base import RequestError
from llmframe.clients.params import Params, read_params
from llmframe.clients.transport import (
    MAX_REDIRECTS,
    Prepared,
    SdkTransport,
    SessionTransport,
    Transport,
    copy_here,
    is_copyable,
    open_transport,
)
from llmframe.testing import Provider, Reset, Status

BODY = {"model": "test-model", "temperature": 0.5}
MESSAGES: list[dict[str, object]] = [{"role": "user", "content": 'é "quoted" 日本 \n row-1'}]
COUNT = 150
"""More than the 100 connections that HTTP libraries allow by default."""


class Certificate(NamedTuple):
    file: Path
    secret: Path


def sdk_of(provider: Provider, **options: Any) -> openai.AsyncOpenAI:
    return openai.AsyncOpenAI(base_url=provider.base_url, api_key=provider.api_key, **options)


async def test_session_and_sdk_send_the_same_body_and_headers():
    params = read_params({"extra_headers": {"x-team": "blue"}, "extra_query": {"v": "2"}})
    with Provider() as provider:
        sdk = sdk_of(provider, organization="org-1", default_headers={"x-mine": "1"})
        session = await open_transport(sdk, params, model="test-model")
        through_sdk = SdkTransport(copy_here(sdk), params, owned=True)
        answers = [await transport.post(Prepared.of(BODY), MESSAGES) for transport in (session, through_sdk)]
        await session.close()
        await through_sdk.close()
    assert isinstance(session, SessionTransport)
    assert provider.bodies[0] == provider.bodies[1] == {**BODY, "messages": MESSAGES}
    transport_only = {"connection", "host", "accept-encoding", "content-length", "user-agent"}
    first, second = ({k: v for k, v in headers.items() if k not in transport_only} for headers in provider.headers)
    assert first == second
    assert (first["x-team"], first["x-mine"], first["openai-organization"]) == ("blue", "1", "org-1")
    assert [json.loads(answer.content)["model"] for answer in answers] == ["test-model"] * 2


async def test_azure_has_its_deployment_in_the_path_and_its_key_in_its_header():
    with Provider() as provider:
        sdk = openai.AsyncAzureOpenAI(azure_endpoint=provider.base_url, api_key="sk-azure", api_version="2024-10-21")
        transport = await open_transport(sdk, Params(), model="my-deployment")
        assert isinstance(transport, SessionTransport)
        assert (
            transport.url
            == f"{provider.base_url}/openai/deployments/my-deployment/chat/completions?api-version=2024-10-21"
        )
        assert transport.headers["api-key"] == "sk-azure"
        await transport.close()


@pytest.mark.parametrize("kind", ["session", "sdk"])
async def test_no_limit_of_connections_stands_before_the_engines(kind: str):
    with Provider() as provider:
        sdk = sdk_of(provider)
        transport = (
            await open_transport(sdk, Params(), model="m")
            if kind == "session"
            else SdkTransport(copy_here(sdk), Params(), owned=True)
        )
        provider.hold()
        tasks = [asyncio.create_task(transport.post(Prepared.of(BODY), MESSAGES)) for _ in range(COUNT)]
        await asyncio.to_thread(provider.wait_in_flight, COUNT)
        provider.release()
        answers = await asyncio.gather(*tasks)
        await transport.close()
    assert [answer.status for answer in answers] == [200] * COUNT


@pytest.mark.parametrize("kind", ["session", "sdk"])
async def test_one_post_is_one_attempt(kind: str):
    with Provider() as provider:
        sdk = sdk_of(provider, max_retries=5)
        transport = (
            await open_transport(sdk, Params(), model="m")
            if kind == "session"
            else SdkTransport(copy_here(sdk), Params(), owned=True)
        )
        provider.script(Status(500), Reset())
        if kind == "session":
            assert (await transport.post(Prepared.of(BODY), MESSAGES)).status == 500
        else:
            with pytest.raises(openai.InternalServerError):
                await transport.post(Prepared.of(BODY), MESSAGES)
        with pytest.raises((openai.APIConnectionError, ServerDisconnectedError, OSError)):
            await transport.post(Prepared.of(BODY), MESSAGES)
        assert provider.requests == 2
        await transport.close()


async def test_a_key_that_changes_goes_through_the_sdk():
    keys = iter(["sk-one", "sk-two", "sk-three"])

    async def next_key() -> str:
        return next(keys)

    with Provider() as provider:
        transport = await open_transport(
            openai.AsyncOpenAI(base_url=provider.base_url, api_key=next_key), Params(), model="m"
        )
        assert isinstance(transport, SdkTransport)
        for _ in range(2):
            await transport.post(Prepared.of(BODY), MESSAGES)
        await transport.close()
    assert [headers["authorization"] for headers in provider.headers] == ["Bearer sk-one", "Bearer sk-two"]


PROXY_VARIABLES = [
    each for name in ("http_proxy", "https_proxy", "all_proxy", "no_proxy") for each in (name, name.upper())
]


@pytest.fixture
def no_proxy(monkeypatch: pytest.MonkeyPatch) -> pytest.MonkeyPatch:
    for name in PROXY_VARIABLES:
        monkeypatch.delenv(name, raising=False)
    return monkeypatch


@pytest.mark.parametrize(
    ("variables", "address", "kind"),
    [
        ({}, "http://model.test", SessionTransport),
        ({"NO_PROXY": "localhost"}, "http://model.test", SessionTransport),
        ({"HTTP_PROXY": "http://127.0.0.1:9"}, "http://model.test", SdkTransport),
        ({"http_proxy": "http://127.0.0.1:9"}, "http://model.test", SdkTransport),
        ({"HTTPS_PROXY": "http://127.0.0.1:9"}, "https://model.test", SdkTransport),
        ({"HTTPS_PROXY": "http://127.0.0.1:9"}, "http://model.test", SessionTransport),
        ({"ALL_PROXY": "http://127.0.0.1:9"}, "http://model.test", SdkTransport),
        ({"ALL_PROXY": "http://127.0.0.1:9"}, "https://model.test", SdkTransport),
        ({"HTTP_PROXY": "http://127.0.0.1:9", "NO_PROXY": "a.test,model.test"}, "http://model.test", SessionTransport),
        ({"HTTP_PROXY": "http://127.0.0.1:9", "NO_PROXY": "*"}, "http://model.test", SessionTransport),
        ({"HTTP_PROXY": "http://127.0.0.1:9", "NO_PROXY": "other.test"}, "http://model.test", SdkTransport),
    ],
)
async def test_only_where_the_environment_sends_a_host_through_a_proxy_the_sdk_does(
    variables: dict[str, str], address: str, kind: type, no_proxy: pytest.MonkeyPatch
):
    for name, value in variables.items():
        no_proxy.setenv(name, value)
    transport = await open_transport(openai.AsyncOpenAI(base_url=f"{address}/v1", api_key="k"), Params(), model="m")
    await transport.close()
    assert type(transport) is kind


@pytest.mark.parametrize("variable", ["HTTP_PROXY", "ALL_PROXY"])
async def test_requests_arrive_through_the_proxy_of_the_environment(variable: str, no_proxy: pytest.MonkeyPatch):
    seen: list[str] = []

    async def forward(request: web.BaseRequest) -> web.Response:
        seen.append(str(request.url))
        return web.json_response({"model": "m"})

    runner = web.ServerRunner(web.Server(forward))
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    no_proxy.setenv(variable, f"http://127.0.0.1:{runner.addresses[0][1]}")
    sdk = openai.AsyncOpenAI(base_url="http://model.test/v1", api_key="k")
    transport = await open_transport(sdk, Params(), model="m")
    answer = await transport.post(Prepared.of(BODY), MESSAGES)
    await transport.close()
    await runner.cleanup()
    assert (answer.status, seen) == (200, ["http://model.test/v1/chat/completions"])


@pytest.fixture(scope="module")
def certificate(tmp_path_factory: pytest.TempPathFactory) -> Certificate:
    """Of a certificate authority that only this test knows, for 127.0.0.1."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "loopback")])
    start = datetime.datetime(2020, 1, 1, tzinfo=datetime.UTC)
    made = (
        x509.CertificateBuilder(name, name, key.public_key(), x509.random_serial_number())
        .not_valid_before(start)
        .not_valid_after(start.replace(year=2120))
        .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
        .add_extension(x509.SubjectKeyIdentifier.from_public_key(key.public_key()), critical=False)
        .add_extension(x509.SubjectAlternativeName([x509.IPAddress(ipaddress.ip_address("127.0.0.1"))]), critical=False)
        .sign(key, hashes.SHA256())
    )
    folder = tmp_path_factory.mktemp("certificates")
    # OpenSSL finds an authority in a folder by X509_NAME_hash: the first 4 bytes of the SHA-1 of the name in canonical
    # form (lower case, UTF-8, without the outer sequence), little-endian.
    value = b"\x0c\x08loopback"
    pair = b"\x06\x03\x55\x04\x03" + value
    canonical = b"\x31" + bytes([len(pair) + 2]) + b"\x30" + bytes([len(pair)]) + pair
    number = int.from_bytes(hashlib.sha1(canonical, usedforsecurity=False).digest()[:4], "little")
    file = folder / f"{number:08x}.0"
    file.write_bytes(made.public_bytes(serialization.Encoding.PEM))
    secret = folder / "key.pem"
    secret.write_bytes(
        key.private_bytes(serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption())
    )
    return Certificate(file, secret)


@pytest.mark.parametrize("kind", ["session", "sdk"])
@pytest.mark.parametrize(("variable", "trusted"), [("SSL_CERT_FILE", True), ("SSL_CERT_DIR", True), (None, False)])
async def test_authorities_of_the_environment_are_trusted(
    kind: str, variable: str | None, certificate: Certificate, *, trusted: bool, no_proxy: pytest.MonkeyPatch
):
    for name in ("SSL_CERT_FILE", "SSL_CERT_DIR"):
        no_proxy.delenv(name, raising=False)
    if variable is not None:
        where = certificate.file if variable == "SSL_CERT_FILE" else certificate.file.parent
        no_proxy.setenv(variable, str(where))
    tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    tls.load_cert_chain(certificate.file, certificate.secret)

    async def answer(_: web.BaseRequest) -> web.Response:
        return web.json_response({"model": "m"})

    runner = web.ServerRunner(web.Server(answer))
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0, ssl_context=tls).start()
    async with sending(kind, f"https://127.0.0.1:{runner.addresses[0][1]}") as transport:
        if trusted:
            assert (await transport.post(Prepared.of(BODY), MESSAGES)).status == 200
        else:
            with pytest.raises((openai.APIConnectionError, ClientConnectorCertificateError)):
                await transport.post(Prepared.of(BODY), MESSAGES)
    await runner.cleanup()


async def test_only_the_sdks_own_transport_is_copied():
    assert is_copyable(openai.AsyncOpenAI(api_key="k"))
    for mine in (httpx2.AsyncClient(), openai.DefaultAsyncHttpx2Client()):
        assert not is_copyable(openai.AsyncOpenAI(api_key="k", http_client=mine))
        await mine.aclose()


@contextlib.asynccontextmanager
async def sending(kind: str, base_url: str) -> AsyncIterator[Transport]:
    """The session, the SDK on connections of our making, the SDK on the user's client, which follows redirects."""
    async with httpx2.AsyncClient(follow_redirects=True, timeout=None) as http:
        own = {"http_client": http} if kind == "own" else {}
        sdk = openai.AsyncOpenAI(
            base_url=base_url, api_key="k", max_retries=0, default_headers={"api-key": "sk-SECRET"}, **own
        )
        if kind == "session":
            transport: Transport = await open_transport(sdk, Params(), model="m")
        else:
            transport = SdkTransport(sdk if own else copy_here(sdk), Params(), owned=not own)
        assert isinstance(transport, SessionTransport) == (kind == "session")
        yield transport
        await transport.close()


class Mover:
    """A server that answers every path but `/there` with a redirect to `target`, and remembers what it got."""

    def __init__(self, status: int = 307, target: str = "/there") -> None:
        self.status, self.target = status, target
        self.seen: list[web.Request] = []

    async def start(self) -> str:
        app = web.Application()
        app.router.add_route("*", "/{path:.*}", self._answer)
        self.runner = web.AppRunner(app)
        await self.runner.setup()
        site = web.TCPSite(self.runner, "127.0.0.1", 0)
        await site.start()
        return f"http://127.0.0.1:{self.runner.addresses[0][1]}"

    async def _answer(self, request: web.Request) -> web.Response:
        self.seen.append(request)
        if request.path == "/there":
            return web.json_response({"model": "m", "got": await request.json()})
        return web.Response(status=self.status, headers={"location": self.target})


@pytest.mark.parametrize(
    ("status", "target", "answered", "requests"),
    [(308, "/there", 200, 2), (307, "/there", 200, 2), (302, "/there", 302, 1), (301, "/there", 301, 1)],
)
@pytest.mark.parametrize("kind", ["session", "sdk", "own"])
async def test_a_redirect_is_followed_where_it_keeps_the_request(
    kind: str, status: int, target: str, answered: int, requests: int
):
    mover = Mover(status, target)
    async with sending(kind, await mover.start()) as transport:
        answer = await transport.post(Prepared.of(BODY), MESSAGES)
        opened = await transport.open(Prepared.of(BODY), MESSAGES)
        await opened.close()
    await mover.runner.cleanup()
    assert (answer.status, opened.status, len(mover.seen)) == (answered, answered, 2 * requests)
    assert all(request.headers["api-key"] == "sk-SECRET" for request in mover.seen)


@pytest.mark.parametrize("kind", ["session", "sdk", "own"])
async def test_a_redirect_without_end_is_given_up(kind: str):
    mover = Mover(307, "/round")
    async with sending(kind, await mover.start()) as transport:
        with pytest.raises(RequestError, match="not_found: RedirectError 508: the server redirects without end"):
            await transport.post(Prepared.of(BODY), MESSAGES)
    await mover.runner.cleanup()
    assert len(mover.seen) == MAX_REDIRECTS


@pytest.mark.parametrize("kind", ["session", "sdk", "own"])
async def test_no_key_and_no_prompt_follows_a_redirect_to_another_server(kind: str):
    other = Mover()
    mover = Mover(307, f"{await other.start()}/there")
    async with sending(kind, await mover.start()) as transport:
        answer = await transport.post(Prepared.of(BODY), MESSAGES)
        opened = await transport.open(Prepared.of(BODY), MESSAGES)
        await opened.close()
    for server in (mover, other):
        await server.runner.cleanup()
    assert (answer.status, opened.status, other.seen) == (307, 307, [])


@pytest.mark.parametrize("kind", ["session", "sdk", "own"])
async def test_an_open_answer_is_read_as_it_comes_to_its_end(kind: str):
    with Provider() as provider:
        async with sending(kind, provider.base_url) as transport:
            answer = await transport.open(Prepared.of(BODY), MESSAGES)
            body = b""
            while data := await answer.chunk():
                body += data
            await answer.close()
            whole = await transport.post(Prepared.of(BODY), MESSAGES)
    assert (answer.status, answer.headers["content-type"]) == (200, "application/json")
    assert json.loads(body)["choices"] == json.loads(whole.content)["choices"]
