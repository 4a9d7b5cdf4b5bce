from __future__ import annotations

import pytest

from llmframe.errors import UsageError
from llmframe.testing import Provider, Text
from llmframe.testing.http import Connection, Exchange, Head
from llmframe.testing.limits import Limits, Told


def exchange() -> Exchange:
    return Exchange(Connection.__new__(Connection), Head("POST", "/", {}), b"")


def limits(*, rpm: float | None = 60, at_once: int | None = None, told: Told = True) -> Limits:
    return Limits(requests_per_minute=rpm, tokens_per_minute=None, max_concurrency=at_once, told=told)


def test_places_are_taken_until_they_are_left():
    door, first, second, third = limits(rpm=None, at_once=2), exchange(), exchange(), exchange()
    assert door.admit(first, tokens=1, now=0) == (None, {})
    assert door.admit(second, tokens=1, now=0) == (None, {})
    refused, _ = door.admit(third, tokens=1, now=0)
    assert refused is not None
    assert (refused.status, refused.headers) == (429, {})
    door.leave(third)  # had none
    assert door.admit(third, tokens=1, now=0)[0] is not None
    door.leave(first)
    door.leave(first)
    assert door.admit(third, tokens=1, now=0)[0] is None
    assert door.admit(first, tokens=1, now=0)[0] is not None


def test_who_finds_no_place_is_not_charged():
    door, first, second = limits(rpm=120, at_once=1), exchange(), exchange()  # two at once, then one each half second
    door.admit(first, tokens=1, now=0)
    assert door.admit(second, tokens=1, now=0)[0] is not None
    door.leave(first)
    assert door.admit(second, tokens=1, now=0)[0] is None


@pytest.mark.parametrize(
    ("told", "passed", "refused"),
    [
        (True, {"x-ratelimit-remaining-requests"}, {"x-ratelimit-remaining-requests", "retry-after", "retry-after-ms"}),
        ("retry-after", set(), {"retry-after", "retry-after-ms"}),
        (False, set(), set()),
    ],
)
def test_headers_tell_as_much_as_they_may(told, passed, refused):
    door = limits(told=told)
    limited, headers = door.admit(exchange(), tokens=1, now=0)
    assert limited is None
    assert headers.keys() >= passed
    assert told is True or not headers
    limited, _ = door.admit(exchange(), tokens=1, now=0)
    assert limited is not None
    assert limited.headers.keys() >= refused
    assert told is True or limited.headers.keys() == refused


def test_another_word_for_the_headers_is_a_usage_error():
    with pytest.raises(UsageError, match="limit_headers='no'"):
        Provider(limit_headers="no")  # type: ignore[arg-type]


def test_times_of_refusals_and_charges_stand_in_the_record(make_provider, http_kit):
    provider = make_provider(requests_per_minute=0.001, limit_headers=False)  # one, and the next after 60,000 s
    provider.always(Text("x"))
    first, second = http_kit.ask(provider, "four", max_tokens=50), http_kit.ask(provider, "four")
    assert (first.status, second.status) == (200, 429)
    assert not [name for name in second.headers if "ratelimit" in name or "retry" in name]
    assert provider.charges == [4 + 1 + 50, 0]
    assert provider.limited_at == provider.arrivals[1:]
    assert provider.faults == {Text("x"): 1}


def test_a_client_that_leaves_gives_its_place_back(make_provider, http_kit, crowd):
    provider = make_provider(max_concurrency=1)
    provider.hold()
    kept = crowd.submit(http_kit.ask, provider, "kept")
    provider.wait_in_flight(1)
    refused = crowd.submit(http_kit.ask, provider, "refused")
    provider.wait_in_flight(2)
    provider.release()
    assert (kept.result().status, refused.result().status) == (200, 429)
    assert http_kit.ask(provider).status == 200
