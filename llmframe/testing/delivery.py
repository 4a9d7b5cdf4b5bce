"""How an answer goes out: whole, in pieces, or as far as its ending lets it."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from llmframe.testing.answers import Response
from llmframe.testing.http import LAST_CHUNK, Exchange, chunk, chunked_head, response
from llmframe.testing.streams import PING

DRIP_LENGTH = 1_000_000
"""Content length that a dripping answer announces, in bytes."""


class Delivery:
    """Sends answers in the serving loop.

    Parameters
    ----------
    piece_latency
        Seconds between two pieces of a stream.
    answered
        Called before the last byte of an answer goes out: whoever has the answer finds it in the counters.
    """

    def __init__(self, *, piece_latency: float, answered: Callable[[Exchange, Response], None]) -> None:
        self._piece_latency = piece_latency
        self._answered = answered

    def deliver(self, exchange: Exchange, answer: Response) -> bool:
        """Answer unless the client is gone; whether it was still there."""
        if exchange.done:
            return False
        if answer.pieces is not None:
            exchange.send_part(chunked_head(answer.status, content_type=answer.content_type, headers=answer.headers))
            self._stream(exchange, answer, answer.pieces, 0)
        else:
            self._whole(exchange, answer)
        return True

    def _whole(self, exchange: Exchange, answer: Response) -> None:
        match answer.ending:
            case "whole":
                self._answered(exchange, answer)
                exchange.send(_bytes(answer))
            case "cut":
                self._answered(exchange, answer)
                exchange.cut(_bytes(answer)[: -(len(answer.body) // 2)])
            case "reset":
                self._answered(exchange, answer)
                exchange.reset()
            case "stall":
                exchange.send_part(_bytes(answer)[: -(len(answer.body) // 2)])
                self._repeat(exchange, b" ", answer.interval)
            case "drip":
                exchange.send_part(response(200, b" " * DRIP_LENGTH)[:-DRIP_LENGTH] + b" ")
                self._repeat(exchange, b" ", answer.interval)
            case "hang":
                pass

    def _stream(self, exchange: Exchange, answer: Response, pieces: tuple[bytes, ...], at: int) -> None:
        """Send the pieces from `at` on: one, or all of them when they have no time between them."""
        if exchange.done:
            return
        end = at + 1 if self._piece_latency > 0 else len(pieces)
        data = b"".join(map(chunk, pieces[at:end]))
        if end < len(pieces):
            exchange.send_part(data)
            loop = asyncio.get_running_loop()
            loop.call_later(self._piece_latency, self._stream, exchange, answer, pieces, end)
        elif answer.ending == "stall":
            exchange.send_part(data)
            self._repeat(exchange, chunk(PING), answer.interval)
        else:
            self._answered(exchange, answer)
            if answer.ending == "cut":
                exchange.cut(data[: -(len(pieces[-1]) // 2)])
            else:
                exchange.send(data + LAST_CHUNK)

    def _repeat(self, exchange: Exchange, data: bytes, interval: float | None) -> None:
        """Send `data` every `interval` seconds as long as the client is there."""

        def send() -> None:
            if not exchange.done:
                exchange.send_part(data)
                self._repeat(exchange, data, interval)

        if interval is not None:
            asyncio.get_running_loop().call_later(interval, send)


def _bytes(answer: Response) -> bytes:
    return response(answer.status, answer.body, content_type=answer.content_type, headers=answer.headers)
