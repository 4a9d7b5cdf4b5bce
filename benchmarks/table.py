"""The table of a run, as it is printed and as it stands in the documentation."""

from __future__ import annotations

from typing import Any


def number(value: float | None, unit: str) -> str:
    if value is None:
        return "–"
    if unit in {"MB", "kB", "s"}:
        text = f"{value:.3g}" if value < 1000 else f"{value:,.0f}"
    elif value == int(value):
        text = f"{int(value):,}"
    else:
        text = f"{value:.4f}" if abs(value) < 0.1 else f"{value:.2f}"
    return f"{text} {unit}".strip() if unit != "×" else f"{text} ×"


def target(figure: dict[str, Any]) -> str:
    if figure["target"] is None:
        return ""
    sign = "≥" if figure["bound"] == "at least" else "≤"
    return f"{sign} {number(figure['target'], figure['unit'])}"


def spread(figure: dict[str, Any]) -> str:
    rounds = figure["rounds"]
    if len(rounds) <= 1 or min(rounds) == max(rounds):
        return ""
    return f"{number(min(rounds), '')} – {number(max(rounds), '')}"


def rows(record: dict[str, Any], changes: dict[str, str]) -> list[list[str]]:
    return [
        [
            figure["what"],
            target(figure),
            number(figure["measured"], figure["unit"]),
            spread(figure),
            " ".join(filter(None, [figure["verdict"], changes.get(figure["name"], ""), note(figure)])),
        ]
        for figure in record["figures"]
    ]


def note(figure: dict[str, Any]) -> str:
    return f"({figure['note']})" if figure["note"] else ""


HEADER = ["figure", "target", "measured", "rounds", "verdict"]


def printed(record: dict[str, Any], changes: dict[str, str]) -> str:
    lines = [HEADER, *rows(record, changes)]
    widths = [max(len(line[column]) for line in lines) for column in range(len(HEADER))]
    return "\n".join("  ".join(map(str.ljust, line, widths)).rstrip() for line in lines)


def markdown(record: dict[str, Any]) -> str:
    lines = [HEADER, ["---"] * len(HEADER), *rows(record, {})]
    return "\n".join(f"| {' | '.join(cell.replace('|', '/') for cell in line)} |" for line in lines)
