"""A run over time: nothing is lost when buckets are merged, and memory stays bounded."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from llmframe.core.series import LimitMove
from llmframe.engine.timeline import FIRST_WIDTH, MOST_BUCKETS, MOST_MOVES, LimitHistory, Timeline


def test_what_happens_is_counted_in_the_bucket_of_its_time():
    line = Timeline(100.0)
    line.sent[line.at(100.0)] += 1
    line.sent[line.at(100.1)] += 1
    line.answered[line.at(100.3)] += 1  # the third eighth of a second
    series = line.series(100.3)
    assert (series.sent, series.answered) == ((2, 0, 0), (0, 0, 1))


def test_a_time_before_the_run_counts_as_its_start():
    line = Timeline(100.0)
    line.sent[line.at(99.0)] += 1
    assert line.series(100.0).sent == (1,)


def test_levels_last_through_buckets_in_which_nothing_happens():
    line = Timeline(0.0)
    line.at(0.0)
    line.level, line.bound = 3, 8
    assert line.series(0.5).in_flight == (0, 3, 3, 3, 3)
    assert line.series(0.5).limit == (0, 8, 8, 8, 8)


def test_neighbours_are_merged_when_there_are_too_many():
    line = Timeline(0.0)
    for bucket in range(MOST_BUCKETS):
        line.sent[line.at(bucket * FIRST_WIDTH)] += 1
        line.in_flight[bucket] = bucket % 2
        line.limit[bucket] = bucket
    full = line.series((MOST_BUCKETS - 1) * FIRST_WIDTH)
    assert (full.width, len(full.sent)) == (FIRST_WIDTH, MOST_BUCKETS)
    line.at(MOST_BUCKETS * FIRST_WIDTH)
    merged = line.series(MOST_BUCKETS * FIRST_WIDTH)
    assert (merged.width, len(merged.sent)) == (2 * FIRST_WIDTH, MOST_BUCKETS // 2 + 1)
    assert merged.sent == (2,) * (MOST_BUCKETS // 2) + (0,)
    assert merged.in_flight[:-1] == (1,) * (MOST_BUCKETS // 2)  # the highest of both
    assert merged.limit[:3] == (1, 3, 5)  # as it was at the end


@given(st.lists(st.floats(0, 1e7), min_size=1, max_size=100))
def test_nothing_is_lost_and_memory_is_bounded_over_months(times: list[float]):
    line = Timeline(0.0)
    for time in sorted(times):
        line.sent[line.at(time)] += 1
    series = line.series(max(times))
    assert sum(series.sent) == len(times)
    assert len(series.sent) <= MOST_BUCKETS
    lengths = {len(values) for values in series.to_dict().values() if isinstance(values, list)}
    assert lengths == {len(series.sent)}


def test_recent_rates_leave_out_what_is_older_than_half_a_minute():
    line = Timeline(0.0)
    for second in range(100):  # one answer a second of 10 tokens for 60 s, then two of 100
        bucket = line.at(float(second))
        line.sent[bucket] += 1
        line.answered[bucket] += 1 if second < 60 else 2
        line.tokens[bucket] += 10 if second < 60 else 200
    line.at(100.0)
    assert line.recent(100.0).answered_per_second == 2.0
    assert line.recent(100.0).tokens_per_second == 200.0


def test_a_young_runs_rates_count_from_its_first_request():
    line = Timeline(0.0)
    line.sent[line.at(4.0)] += 1
    line.answered[line.at(6.0)] += 8
    assert line.recent(8.0).answered_per_second == 2.0  # 8 answers since second 4
    assert Timeline(0.0).recent(0.0).answered_per_second == 0.0


def test_looking_does_not_move_the_buckets_that_are_counted_in():
    line = Timeline(0.0)
    bucket = line.at(0.0)
    assert len(line.series(1e6).sent) > 1
    assert line.recent(1e6).answered_per_second == 0.0
    line.sent[bucket] += 1
    assert (line.width, line.sent) == (FIRST_WIDTH, [1])


def history(*moves: tuple[int, str]) -> tuple[LimitMove, ...]:
    found = LimitHistory()
    for second, (limit, reason) in enumerate(moves):
        found.add(LimitMove(float(second), limit, reason))
    return found.moves()


def test_slow_start_is_one_move_and_a_limit_that_stays_is_none():
    assert history((8, "start"), (9, "slow start"), (10, "slow start"), (10, "gradient"), (8, "429")) == (
        LimitMove(0.0, 8, "start"),
        LimitMove(2.0, 10, "slow start"),
        LimitMove(4.0, 8, "429"),
    )


@given(
    st.lists(
        st.tuples(st.integers(1, 256), st.sampled_from(["gradient", "429", "slow start"])), min_size=1, max_size=900
    )
)
def test_a_history_is_bounded_and_keeps_its_start_and_its_end(moves: list[tuple[int, str]]):
    kept = history((8, "start"), *moves)
    assert len(kept) <= MOST_MOVES
    assert kept[0].seconds == 0.0
    assert kept[-1].limit == moves[-1][0]
    assert [move.seconds for move in kept] == sorted(move.seconds for move in kept)
