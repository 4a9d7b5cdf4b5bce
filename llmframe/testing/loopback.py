"""When bytes that were sent over the loopback have arrived."""

from __future__ import annotations

import socket

TRIALS = 32
"""Bytes sent to see whether this kernel delivers within the call that sends."""
GRACE_SECONDS = 1e-3
"""Real seconds that bytes get to arrive where the kernel delivers later; selectors round less up to this."""
ANSWER_SECONDS = 1.0
"""Real seconds after which a byte over the loopback counts as lost."""


class Loopback:
    """A connection from this process to itself, over which a byte overtakes none that was sent before.

    Linux delivers within the call that sends, and under load in the order of sending: once a byte of our own has
    come back, what was sent before it is there. That takes 10 µs in place of the millisecond that a selector waits
    at least, and a run of 100,000 requests jumps as often.
    """

    def __init__(self) -> None:
        with socket.create_server(("127.0.0.1", 0)) as listener:
            self._here = socket.create_connection(listener.getsockname(), ANSWER_SECONDS)
            self._there, _ = listener.accept()
        self._here.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self._delivers_at_once = all(self._arrives_at_once() for _ in range(TRIALS))
        self._there.settimeout(ANSWER_SECONDS)

    def settle(self) -> float:
        """Let what was sent arrive; real seconds that a look at the sockets should wait for the rest."""
        if not self._delivers_at_once:
            return GRACE_SECONDS
        self._here.send(b".")
        self._there.recv(1)
        return 0.0

    def close(self) -> None:
        """Close both ends."""
        self._here.close()
        self._there.close()

    def _arrives_at_once(self) -> bool:
        self._here.send(b".")
        self._there.setblocking(False)  # noqa: FBT003 - the standard library's own signature
        try:
            return bool(self._there.recv(1))
        except BlockingIOError:
            self._there.settimeout(ANSWER_SECONDS)
            self._there.recv(1)
            return False
