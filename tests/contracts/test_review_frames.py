"""The review loop on frames of any library: rows picked, written, and labelled in a frame of the same kind."""

from __future__ import annotations

import csv
from pathlib import Path

from llmframe.judge.review import pick_for_review
from llmframe.judge.review_files import from_review_file, to_review_file
from tests.contracts.kinds import Kind

DATA = {
    "text": [None if at == 3 else f"text {at}" for at in range(12)],
    "score": [0.5 * at for at in range(12)],
    "label": ["yes", "no", "yes"] * 4,
}


def test_the_loop_closes_on_every_kind_of_frame(any_kind: Kind, tmp_path: Path):
    frame = any_kind.make(DATA)
    picked = pick_for_review(frame, 5, seed=2)
    assert type(picked) is type(frame)
    path = to_review_file(picked, tmp_path / "review.csv", hide=["label"])
    with path.open(encoding="utf-8-sig", newline="") as file:
        head, *rows = csv.reader(file)
    assert head == ["review_id", "text", "score", "human", "review_probability"]
    for row in rows:
        row[3] = "4"
    with path.open("w", encoding="utf-8", newline="") as file:
        csv.writer(file).writerows([head, *rows])
    out = from_review_file(frame, path)
    assert type(out) is type(frame)
    told = any_kind.to_dict(out)
    ids = any_kind.to_dict(picked)["review_id"]
    places = {int(name[1:]) for name in ids}
    assert told["human"] == [4 if at in places else None for at in range(12)]
    assert told["review_probability"] == [0.4166666667 if at in places else None for at in range(12)]
    assert told["text"] == DATA["text"]
