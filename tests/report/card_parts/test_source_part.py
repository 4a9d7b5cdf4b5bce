"""Where a card's numbers come from."""

from __future__ import annotations

from llmframe.report.card_parts.source_part import Source, source_section


def test_what_another_person_needs_is_told():
    part = source_section(
        Source(columns=[("judge", "label")], models=["m"], question="ab12", seed=7, draws=2000, version="1.0")
    )
    assert part.values == {"model": "m", "question": "ab12", "seed": 7, "level": 0.95, "version": "1.0"}
    assert dict(part.lines)["intervals"] == "95 %; bootstrap with 2,000 draws, seed 7"
    assert part.lines[0] == ("judge", "label")


def test_what_nobody_told_says_how_to_have_it_told():
    lines = dict(source_section(Source(columns=())).lines)
    assert "llmframe.last_run()" in lines["prompt digest"]
    assert "meta=True" in lines["model"]
