"""Which digests have been seen, in 8 bytes each."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from llmframe.core.distinct import Distinct


@given(st.lists(st.binary(min_size=8, max_size=8)))
def test_a_key_is_new_once(keys: list[bytes]):
    seen = Distinct()
    known: set[bytes] = set()
    for key in keys:
        # an empty place is 0, so this one key stands where the last number does
        counted = b"\xff" * 8 if key == bytes(8) else key
        assert seen.add(key) is (counted not in known)
        known.add(counted)
    assert len(seen) == len(known)


def test_keys_that_fall_on_the_same_place_are_told_apart_while_it_grows():
    seen = Distinct()
    keys = [(number << 32).to_bytes(32, "little") for number in range(1, 3000)]  # equal in their lowest 32 bits
    assert all(seen.add(key) for key in keys[:50])
    assert not any(seen.add(key) for key in keys[:50])
    spread = [(number * 7919).to_bytes(32, "little") for number in range(1, 3000)]
    assert all(seen.add(key) for key in spread)
    assert not any(seen.add(key) for key in spread)
    assert len(seen) == 50 + 2999
