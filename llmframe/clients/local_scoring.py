"""An embedded model that scores labels: how likely each is, by one forward pass in place of a generated answer.

llama.cpp's own endpoints are used, OpenAI's can't do it: `/apply-template` makes the prompt of the chat, `/tokenize`
the labels' tokens (once a client), `/completion` says how likely each of the tokens is that may come next. All of those
get the same bias of 100 there, which cancels among them and leaves nothing to the others.
"""

from __future__ import annotations

import asyncio
import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, cast

from llmframe.clients.base import Dialect, Message, RequestError
from llmframe.clients.chat import count
from llmframe.clients.local_labels import Fork, Labels, forks, labels_of, probabilities
from llmframe.clients.openai import OpenAIClient, Origin
from llmframe.clients.params import Params
from llmframe.clients.streaming import Streamed
from llmframe.clients.transport import Prepared, SessionTransport
from llmframe.core.outcome import Usage
from llmframe.core.prices import EMBEDDED
from llmframe.core.reply import Reply
from llmframe.core.schema import Schema

BIAS: Final = 100.0
"""Added to the logits of the tokens that may come: what the others have left together is below 1e-30."""

DRAWN_BIAS: Final = 60.0
"""Added on top for a token that is to be drawn; the server's numbers reach to 1e-38, so what matters stays."""

_DRAWN: Final = {
    "n_predict": 1,
    "temperature": 1,
    "top_k": 0,
    "top_p": 1,
    "min_p": 0,
    "samplers": ["temperature"],
    "post_sampling_probs": True,
    "cache_prompt": True,
}
"""One token of the model's own distribution: no sampler cuts it, no penalty bends it."""

_SAID: Final[Message] = {"role": "user", "content": "q"}
_ANSWER: Final = "answer"
_SHOWN: Final[Message] = {"role": "assistant", "content": _ANSWER}
"""With `_SAID` what stands for a chat where its template is looked at."""


@dataclass(frozen=True, slots=True)
class Tree:
    """The tokens of each label's answer after a prompt, and the request that tells each fork."""

    sequences: tuple[tuple[int, ...], ...]
    forks: tuple[tuple[Fork, Prepared], ...]


class ScoringClient(OpenAIClient):
    """One embedded model and the labels of one schema.

    Its replies hold the likeliest label's JSON and, as tokens, how likely each label was. Of the params only
    `chat_template_kwargs` means something: nothing is drawn, so temperature and seed change nothing. A probability may
    differ by some 0.01 from call to call, for quantised weights round by how much of the prompt a slot has kept.
    """

    def __init__(self, origin: Origin, *, model: str, schema: Schema, params: Params) -> None:
        super().__init__(
            origin,
            model=model,
            schema=schema,
            params=params,
            dialects=(Dialect("score", top_logprobs=params.top_logprobs),),
            provider=EMBEDDED,
        )
        self.streams = False
        self.labels: Labels = labels_of(schema)
        self._posts: dict[str, SessionTransport] = {}
        self._trees: dict[bool, Tree] = {}
        self._making: asyncio.Lock | None = None

    async def start(self) -> None:
        """Start the server where it isn't running, and open connections in the running loop."""
        if self._posts:
            return
        base_url, api_key = await asyncio.to_thread(self.origin.embedded.start)
        self._secrets = (api_key, *self._secrets)
        headers = {"Authorization": f"Bearer {api_key}", "Content-Type": "application/json"}
        self._making = asyncio.Lock()
        root = base_url.removesuffix("/v1")
        self._posts = {
            name: SessionTransport(f"{root}/{name}", headers) for name in ("apply-template", "tokenize", "completion")
        }

    async def send(self, messages: list[Message], dialect: Dialect) -> Reply:  # noqa: ARG002 - there is only one
        """Score the labels after `messages`, without a retry.

        Raises
        ------
        RequestError
            If a request failed or was refused, or an answer can't be read.
        """
        if self._making is None:
            raise RequestError("internal", "the client wasn't started")
        try:
            answer = await self._score(messages, self._making)
        except Exception as error:  # noqa: BLE001 - the seam: whatever a transport raises becomes the row's error
            answer = self._fault(error)
        if isinstance(answer, RequestError):
            raise answer  # outside the except block: the cause holds headers, so no chain may lead to it
        return answer

    async def close(self) -> None:
        """Close the connections that `start` opened; the server goes on."""
        posts, self._posts, self._making = self._posts, {}, None
        for post in posts.values():
            await post.close()

    async def _score(self, messages: list[Message], making: asyncio.Lock) -> Reply:
        shown = any(message.get("role") == "assistant" for message in messages)
        async with making:
            if shown not in self._trees:
                self._trees[shown] = await self._tree(shown=shown)
        tree = self._trees[shown]
        prompt = await self._prompt(messages)
        said: dict[tuple[int, ...], dict[int, float]] = {}
        usage = Usage()
        for fork, prepared in tree.forks:
            body = await self._post("completion", prepared, [prompt, *fork.path])
            said[fork.path] = _likely(body)
            usage += _usage(body)
        try:
            found = probabilities(tree.sequences, said)
        except ValueError:
            raise RequestError("server", "the embedded server told no probabilities") from None
        text, tokens = self.labels.reply(found)
        return Reply(text=text, finish_reason="stop", usage=usage, model=self.model, tokens=tokens)

    async def _tree(self, *, shown: bool) -> Tree:
        """The labels' tokens after a prompt with (`shown`) or without examples, which templates may treat apart."""
        before = [_SAID, _SHOWN] if shown else []
        open_ = await self._prompt([*before, _SAID])
        closed = await self._prompt([*before, _SAID, _SHOWN, _SAID])
        blank = blank_before(open_, closed)
        cuts = [await self._tokens(blank + answer) for answer in self.labels.answers]
        sequences = tuple(tuple(token for token, _ in cut) for cut in cuts)
        whole = {token: whole for cut in cuts for token, whole in cut}
        try:
            found = forks(sequences)
        except ValueError:
            raise RequestError(
                "bad_request", "the model's tokens don't tell two of the labels apart; word them differently"
            ) from None
        if not found:  # a single label is certain; its prompt is read all the same, for its length and its usage
            found = (Fork((), (sequences[0][0],)),)
        return Tree(sequences, tuple((fork, _question(fork, whole)) for fork in found))

    async def _prompt(self, messages: list[Message]) -> str:
        said: dict[str, Any] = {key: value for key, value in self.params.body.items() if key == "chat_template_kwargs"}
        body = await self._post("apply-template", Prepared.of({"model": self.model, **said}), messages)
        return str(body["prompt"])

    async def _tokens(self, text: str) -> list[tuple[int, bool]]:
        """The tokens of a text, each with whether it is text of its own; parts of a character come as bytes."""
        prepared = Prepared.of({"add_special": False, "with_pieces": True}, field="content")
        cut: list[dict[str, Any]] = (await self._post("tokenize", prepared, [text]))["tokens"]
        return [(int(token["id"]), isinstance(token["piece"], str)) for token in cut]

    async def _post(self, name: str, prepared: Prepared, content: Sequence[Any]) -> dict[str, Any]:
        answer = self._parsed(await self._posts[name].post(prepared, cast("list[str]", list(content))))
        self._refuse_failure(answer)
        return _complete(answer, name)


def blank_before(open_: str, closed: str) -> str:
    """What a chat template puts between the prompt and the answer to it, such as the blank of `Answer: {"label": …`.

    Parameters
    ----------
    open_
        A prompt that waits for an answer.
    closed
        The same with the answer `answer`, and another question.

    Returns
    -------
    str
        Empty where that isn't the prompt's continuation, or something else than blanks stands between.
    """
    if not closed.startswith(open_):
        return ""
    between, found, _ = closed[len(open_) :].partition(_ANSWER)
    return between if found and not between.strip() else ""


def _question(fork: Fork, whole: Mapping[int, bool]) -> Prepared:
    bias = [[token, BIAS] for token in fork.branches]
    if not all(whole[token] for token in fork.branches):
        # When a part of a character is drawn the server tells no probabilities: another token is, and left out.
        drawn = (token for token, is_text in whole.items() if is_text and token not in fork.branches)
        bias += [[token, BIAS + DRAWN_BIAS] for token in itertools.islice(drawn, 1)]
    return Prepared.of({**_DRAWN, "n_probs": len(bias) + 2, "logit_bias": bias}, field="prompt")


_WANTED: Final = {"apply-template": "prompt", "tokenize": "tokens", "completion": "completion_probabilities"}


def _complete(answer: Streamed, name: str) -> dict[str, Any]:
    if not answer.body.get(_WANTED[name]):
        raise RequestError(
            "server", f"status {answer.status} of /{name} without {_WANTED[name]!r}", status=answer.status
        )
    return answer.body


def _likely(body: dict[str, Any]) -> dict[int, float]:
    place: dict[str, Any] = body["completion_probabilities"][0]
    entries: list[dict[str, Any]] = place.get("top_probs") or []
    return {int(entry["id"]): float(entry["prob"]) for entry in entries}


def _usage(body: dict[str, Any]) -> Usage:
    """A pass's tokens: all of its prompt, of which the slot may have kept the start, and the one that was drawn."""
    timings: dict[str, Any] = body.get("timings") or {}
    return Usage(
        input_tokens=count(body.get("tokens_evaluated")),
        output_tokens=count(body.get("tokens_predicted")),
        cached_tokens=count(timings.get("cache_n")),
    )
