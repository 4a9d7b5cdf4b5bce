"""Which step a request gets: the scripted ones in turn, then the first rule that matches, then the standing one."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable

from llmframe.testing.steps import Step

Matcher = str | Callable[[str], bool]
"""A piece of the last user message, or a function of it."""


class Script:
    """The steps that a provider was told, taken one a request."""

    def __init__(self) -> None:
        self._queue: deque[Step] = deque()
        self._rules: list[_Rule] = []
        self._standing: Step | None = None

    def add(self, steps: tuple[Step, ...]) -> None:
        """Queue steps for the next requests, one each."""
        self._queue.extend(steps)

    def add_rule(self, matcher: Matcher, steps: tuple[Step, ...], *, times: int | None, per_prompt: bool) -> None:
        """Steps for the requests that `matcher` picks."""
        self._rules.append(_Rule(matcher, steps, times=times, per_prompt=per_prompt))

    def stand(self, step: Step | None) -> None:
        """The step of every request that nothing else claims."""
        self._standing = step

    def take(self, prompt: str) -> Step | None:
        """The step of a request whose last user message is `prompt`; `None` is the usual answer."""
        if self._queue:
            return self._queue.popleft()
        for rule in self._rules:
            step = rule.take(prompt)
            if step is not None:
                return step
        return self._standing


class _Rule:
    """Steps in turn, over and over, for the first `times` requests that match (of all, or of each prompt)."""

    def __init__(self, matcher: Matcher, steps: tuple[Step, ...], *, times: int | None, per_prompt: bool) -> None:
        self._matcher = matcher
        self._steps = steps
        self._times = times
        self._per_prompt = per_prompt
        self._taken: dict[str, int] = {}

    def take(self, prompt: str) -> Step | None:
        matches = self._matcher in prompt if isinstance(self._matcher, str) else self._matcher(prompt)
        if not matches:
            return None
        key = prompt if self._per_prompt else ""
        taken = self._taken.get(key, 0)
        if self._times is not None and taken >= self._times:
            return None
        self._taken[key] = taken + 1
        return self._steps[taken % len(self._steps)]
