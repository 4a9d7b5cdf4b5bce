"""The adaptive limit against simulated servers: what it reaches, what moves it and what doesn't."""

from __future__ import annotations

import heapq
from collections.abc import Callable
from dataclasses import dataclass, field
from math import inf
from random import Random
from statistics import median

import pytest
from hypothesis import given
from hypothesis import strategies as st

from llmframe.engine.concurrency import Concurrency

SIGMA = 0.5
REFUSED_AFTER = 0.05  # seconds that a 429 takes


def second(now: float) -> float:
    return 1.0


def forty(now: float) -> float:
    return 40.0


@dataclass
class Server:
    """Lognormal service times of 1 s on average; what it does with too many is for its kinds."""

    seed: int = 1
    mean: Callable[[float], float] = second
    sigma: float = SIGMA
    faults: float = 0.0
    inside: int = 0
    random: Random = field(init=False)

    def __post_init__(self) -> None:
        self.random = Random(self.seed)

    def refuses(self, now: float) -> bool:
        return False

    def slowdown(self, now: float) -> float:
        return 1.0

    def seconds(self, now: float) -> float:
        drawn = self.random.lognormvariate(-(self.sigma**2) / 2, self.sigma)
        return self.mean(now) * drawn * self.slowdown(now)


@dataclass
class Places(Server):
    """A 429 above so many in flight."""

    places: Callable[[float], float] = forty

    def refuses(self, now: float) -> bool:
        return self.inside >= self.places(now)


@dataclass
class Rate(Server):
    """A 429 above so many a second, from a bucket of one second."""

    per_second: float = 30.0
    level: float = 30.0
    at: float = 0.0

    def refuses(self, now: float) -> bool:
        self.level = min(self.per_second, self.level + (now - self.at) * self.per_second)
        self.at = now
        if self.level < 1:
            return True
        self.level -= 1
        return False


@dataclass
class Slowing(Server):
    """Never a 429; slower in proportion above so many in flight."""

    places: Callable[[float], float] = forty

    def slowdown(self, now: float) -> float:
        return max(1.0, self.inside / self.places(now))


@dataclass
class Course:
    """What came of a simulated run."""

    seconds: float = 0.0
    refused: int = 0
    latencies: list[float] = field(default_factory=list)
    moves: list[tuple[float, int, str]] = field(default_factory=list)

    def limit(self, at: float) -> int:
        return ([limit for when, limit, _ in self.moves if when <= at] or [8])[-1]

    @property
    def rate(self) -> float:
        return len(self.latencies) / self.seconds

    @property
    def p50(self) -> float:
        return median(self.latencies)


def play(
    server: Server, *, until: float = float("inf"), rows: float = float("inf"), bound: float = float("inf")
) -> Course:
    """Send rows without a pause, as many at once as the limit and `bound` allow."""
    control, course = Concurrency(), Course()
    ends: list[tuple[float, int, str, float]] = []
    now, number, left, in_flight = 0.0, 0, rows, 0
    while True:
        while left > 0 and in_flight < min(control.limit, bound):
            left, in_flight, number = left - 1, in_flight + 1, number + 1
            if server.refuses(now):
                heapq.heappush(ends, (now + REFUSED_AFTER, number, "429", now))
                continue
            server.inside += 1
            what = "fault" if server.random.random() < server.faults else "reply"
            heapq.heappush(ends, (now + server.seconds(now), number, what, now))
        if not ends or ends[0][0] > until:
            break
        now, _, what, sent_at = heapq.heappop(ends)
        if what == "429":
            course.refused += 1
            left += 1
            reason = control.limited(now=now, sent_at=sent_at, in_flight=in_flight)
        elif what == "fault":
            server.inside -= 1
            left += 1
            reason = control.faulted(now=now, sent_at=sent_at)
        else:
            server.inside -= 1
            seconds = now - sent_at
            course.latencies.append(seconds)
            reason = control.succeeded(
                now=now, sent_at=sent_at, seconds=seconds, in_flight=in_flight, output_tokens=None
            )
        in_flight -= 1
        if reason is not None:
            course.moves.append((now, control.limit, reason))
    course.seconds = now
    return course


@dataclass
class Waves:
    """Rounds of requests that are all sent, then all answered, at once."""

    control: Concurrency
    now: float = 0.0

    def wave(self, seconds: float, tokens: int | None = None, *, of: int | None = None) -> None:
        sent_at, many = self.now, of or self.control.limit
        self.now += seconds
        for left in range(many, 0, -1):
            self.control.succeeded(now=self.now, sent_at=sent_at, seconds=seconds, in_flight=left, output_tokens=tokens)


def test_the_limit_doubles_with_each_round_trip_and_is_64_after_three():
    waves = Waves(Concurrency())
    limits = [waves.control.limit]
    for _ in range(6):
        waves.wave(1.0)
        limits.append(waves.control.limit)
    assert limits == [8, 16, 32, 64, 128, 256, 256]


@pytest.mark.parametrize("seed", range(8))
def test_noise_alone_doesnt_end_the_slow_start(seed):
    course = play(Server(seed), until=10.0)
    assert course.limit(4.0) >= 64
    assert course.limit(10.0) >= 250


@pytest.mark.parametrize("seed", range(3))
def test_a_server_with_40_places_is_kept_full_with_few_refusals(seed):
    course = play(Places(seed), until=300)
    assert course.rate >= 0.92 * 40
    assert course.refused <= 0.01 * len(course.latencies)


@pytest.mark.parametrize("seed", range(3))
def test_a_server_of_30_a_second_is_kept_busy(seed):
    assert play(Rate(seed), until=300).rate >= 0.92 * 30


@pytest.mark.parametrize("seed", range(3))
def test_a_server_that_slows_down_and_never_refuses_stays_fast_for_15_minutes(seed):
    course = play(Slowing(seed), until=900)
    assert course.rate >= 0.95 * 40
    unloaded = 0.8825  # the median of a lognormal time of mean 1 is exp(−σ²/2)
    assert course.p50 <= 1.5 * unloaded
    assert max(course.limit(at) for at in range(60, 900)) <= 80


@pytest.mark.parametrize("seed", range(3))
def test_what_the_slow_start_overshoots_is_undone_at_once(seed):
    course = play(Slowing(seed), rows=2_000)
    assert course.p50 <= 1.5 * 0.8825
    assert max(limit for _, limit, _ in course.moves) > 80
    assert course.limit(8.0) <= 70
    assert {reason for _, _, reason in course.moves} == {"slow start", "gradient"}


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("server", [Places, Slowing])
def test_a_drop_of_capacity_is_followed_and_its_return_too(server, seed):
    course = play(server(seed, places=lambda now: 15 if 100 < now < 300 else 40), until=500)
    assert sum(course.limit(at) for at in range(170, 300)) <= 130 * 30
    assert sum(course.limit(at) for at in range(400, 500)) >= 100 * 36


@pytest.mark.parametrize("seed", range(3))
def test_a_server_that_becomes_slower_by_itself_isnt_starved(seed):
    course = play(Server(seed, mean=lambda now: 2.5 if now > 100 else 1.0), until=400, bound=100)
    assert course.limit(400) >= 100


@pytest.mark.parametrize("seed", range(4))
def test_eight_faults_in_a_hundred_hold_nothing_up(seed):
    slots = 4_000 * 0.5 / 64
    course = play(Server(seed, mean=lambda now: 0.5, faults=0.08), rows=4_000, bound=64)
    assert course.seconds <= 1.3 * slots


def test_a_limit_that_isnt_used_grows_to_twice_what_is_in_flight_at_most():
    course = play(Server(), until=300, bound=20)
    assert max(limit for _, limit, _ in course.moves) <= 40


def test_the_limit_may_grow_as_far_as_the_greediest_call_wants_and_there_is_room():
    def reached(*places: int, most: float = inf) -> int:
        waves = Waves(Concurrency(most=most))
        waves.control.wanted(places)
        for _ in range(8):
            waves.wave(1.0)
        return waves.control.limit

    assert [reached(), reached(8), reached(8, 1000), reached(1000, most=400), reached(most=50)] == [
        256,
        256,
        1000,
        400,
        50,
    ]


def test_the_limit_falls_at_once_when_nobody_wants_so_many_any_more():
    waves = Waves(Concurrency())
    waves.control.wanted([1000])
    for _ in range(8):
        waves.wave(1.0)
    waves.control.wanted([8])
    assert waves.control.limit == 256


def test_more_faults_than_a_quarter_freeze_growth():
    control = Concurrency()
    for _ in range(4):
        control.faulted(now=1.0, sent_at=0.0)
    for _ in range(4):
        assert control.succeeded(now=1.0, sent_at=0.0, seconds=1.0, in_flight=8, output_tokens=None) is None
    assert control.limit == 8


def test_replies_that_are_all_faults_teach_nothing():
    control = Concurrency()
    assert all(control.faulted(now=1.0, sent_at=0.0) is None for _ in range(100))
    assert control.limit == 8


def test_a_429_leaves_four_fifths_and_of_what_was_sent_before_none_counts():
    control = Concurrency(start=100)
    assert control.limited(now=1.0, sent_at=0.5) == "429"
    assert control.limit == 80
    assert control.limited(now=1.1, sent_at=0.9) is None
    assert control.limited(now=9.0, sent_at=0.99) is None
    assert control.limited(now=2.9, sent_at=1.5) is None  # 2 s haven't passed
    assert control.limited(now=3.1, sent_at=1.5) == "429"
    assert control.limit == 64


def test_where_replies_take_long_cuts_are_two_of_them_apart():
    waves = Waves(Concurrency(start=16))
    waves.wave(5.0)  # twice that, and twice the 0.02 s that are our own
    assert waves.control.limited(now=5.0, sent_at=4.0) == "429"
    assert waves.control.limited(now=14.9, sent_at=6.0) is None
    assert waves.control.limited(now=15.1, sent_at=6.0) == "429"


def test_a_429_cuts_what_was_in_flight_where_that_is_less_than_the_limit():
    control = Concurrency(start=100)
    assert control.limited(now=1.0, sent_at=0.5, in_flight=20) == "429"
    assert control.limit == 16


def test_outputs_that_grow_tenfold_are_no_congestion():
    waves = Waves(Concurrency())
    for _ in range(4):
        waves.wave(1.0, tokens=50)  # 0.01 s for each of them and for 50 more
    for _ in range(10):
        waves.wave(5.5, tokens=500)
    assert waves.control.limit == 256


def test_replies_of_unknown_length_that_slow_down_tenfold_are():
    waves = Waves(Concurrency())
    for _ in range(4):
        waves.wave(1.0)
    for _ in range(4):
        waves.wave(5.5)
    assert waves.control.limit < 64


def test_after_a_minute_of_silence_it_begins_anew():
    waves = Waves(Concurrency())
    assert waves.control.idle(0.0) is None
    for _ in range(4):
        waves.wave(1.0)
    assert waves.control.idle(63.9) is None
    assert waves.control.idle(64.1) == "idle"
    assert waves.control.limit == 8
    waves.now = 64.1
    waves.wave(9.0)  # ten times slower than before, and no matter
    waves.wave(9.0)
    assert waves.control.limit == 32


def test_silence_never_raises_a_limit():
    control = Concurrency()
    for at in (10.0, 20.0, 30.0):
        control.limited(now=at, sent_at=at - 1)
    assert control.limit == 4
    control.idle(100.0)
    assert control.limit == 4


@pytest.mark.parametrize(("start", "limit"), [(1_000, 30), (0, 2), (5, 5)])
def test_the_start_is_within_the_bounds(start, limit):
    assert Concurrency(start=start, least=2, most=30).limit == limit


@given(
    st.integers(1, 20),
    st.integers(0, 100),
    st.lists(
        st.tuples(
            st.sampled_from(["reply", "reply", "reply", "fault", "429", "idle"]),
            st.integers(1, 60),  # of them at once
            st.floats(0, 100),  # seconds
            st.one_of(st.none(), st.integers(0, 10_000)),
        ),
        max_size=80,
    ),
)
def test_whatever_happens_the_limit_stays_within_its_bounds(least, room, events):
    control, now = Concurrency(least=least, most=least + room), 0.0
    for what, many, seconds, tokens in events:
        sent_at, now = now, now + seconds
        for in_flight in range(many, 0, -1):
            before = control.limit
            if what == "reply":
                moved = control.succeeded(
                    now=now, sent_at=sent_at, seconds=seconds, in_flight=in_flight, output_tokens=tokens
                )
            elif what == "fault":
                moved = control.faulted(now=now, sent_at=sent_at)
            else:
                moved = control.limited(now=now, sent_at=sent_at) if what == "429" else control.idle(now)
            assert least <= control.limit <= least + room
            assert (moved is None) == (control.limit == before)
