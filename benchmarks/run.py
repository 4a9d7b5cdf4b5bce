"""Measure llmframe's engine beside the floor of the transport, and print what was reached.

    python benchmarks/run.py                      # everything, about 25 minutes on a quiet machine of two cores
    python benchmarks/run.py --only overhead      # one or more scenarios, by name and comma
    python benchmarks/run.py --quick              # few rows, two rounds: does it work?

Everything runs on this machine, against simulated servers; nothing is sent elsewhere. Libraries take turns, each in a
fresh process, and figures are ratios of one sitting wherever they can be. A run writes `results/<name>.json` and a
picture, and says what is better or worse than in the committed run of the same name by more than the noise.
"""

from __future__ import annotations

import argparse
import importlib.util
import json
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import machine
import table
from effort import Effort
from figures import change
from fleet import Fleet
from scenarios import SCENARIOS

HERE = Path(__file__).parent
PEERS = HERE / ".venv" / "bin" / "python"
DOCS = HERE.parent / "docs"
TABLE_START, TABLE_END = "<!-- table: written by benchmarks/run.py --publish -->", "<!-- end of table -->"


def parsed() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="a fifth of the rows and two rounds")
    parser.add_argument("--only", default=",".join(SCENARIOS), help=f"of {', '.join(SCENARIOS)}")
    parser.add_argument("--rounds", type=int, help="rounds of everything; 5 (2 with --quick)")
    parser.add_argument("--scale", type=float, help="share of the rows; 1 (0.2 with --quick)")
    parser.add_argument("--name", help="of the result; `full`, or `quick` for any other share of the rows")
    parser.add_argument("--results", type=Path, default=HERE / "results", help="folder of the results")
    parser.add_argument("--publish", action="store_true", help="write table and picture into the documentation, too")
    said = parser.parse_args()
    unknown = sorted(set(said.only.split(",")) - set(SCENARIOS))
    if unknown:
        parser.error(f"--only: no scenario {', '.join(unknown)}; there are {', '.join(SCENARIOS)}")
    return said


def measured(names: list[str], effort: Effort) -> dict[str, Any]:
    """The record of a run."""
    peers = PEERS if PEERS.exists() else None
    record: dict[str, Any] = {"machine": machine.described(), "rounds": effort.rounds, "scale": effort.scale}
    figures: list[dict[str, Any]] = []
    curves: dict[str, Any] = {}
    load: dict[str, Any] = {}
    for name in names:
        start, others = time.monotonic(), machine.Others()
        print(f"{name} ...", end=" ", flush=True, file=sys.stderr)
        with Fleet(peers_python=peers) as fleet:
            finding = SCENARIOS[name](fleet, effort)
        figures += [figure.as_json() | {"scenario": name} for figure in finding.figures]
        curves |= finding.curves
        load[name] = others.cores()
        print(f"{time.monotonic() - start:.0f} s", file=sys.stderr)
    return record | {"cores_of_others": load, "figures": figures, "curves": curves}


def merged(record: dict[str, Any], old: dict[str, Any] | None) -> dict[str, Any]:
    """A run of some scenarios keeps the others' figures of the last one."""
    if old is None or old["scale"] != record["scale"]:
        return record
    new = {figure["scenario"] for figure in record["figures"]}
    figures = [figure for figure in old["figures"] if figure["scenario"] not in new] + record["figures"]
    order = list(SCENARIOS)
    return record | {
        "rounds": min(old["rounds"], record["rounds"]),
        "figures": sorted(figures, key=lambda figure: order.index(figure["scenario"])),
        "curves": old["curves"] | record["curves"],
        "cores_of_others": old["cores_of_others"] | record["cores_of_others"],
    }


def committed(path: Path) -> dict[str, Any] | None:
    """The record as the last commit has it; of a folder outside the repository the one that lies there."""
    command = ["git", "-C", str(path.parent), "show", f"HEAD:./{path.name}"]
    try:
        shown = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    except (OSError, subprocess.CalledProcessError):
        return json.loads(path.read_text(encoding="utf-8")) if path.exists() else None
    return json.loads(shown)


def changes(record: dict[str, Any], old: dict[str, Any] | None) -> dict[str, str]:
    if old is None or old["scale"] != record["scale"]:
        return {}
    noisy = {name for run in (record, old) for name, cores in run["cores_of_others"].items() if loud(cores)}
    before = {figure["name"]: figure for figure in old["figures"]}
    pairs = ((figure, before.get(figure["name"])) for figure in record["figures"])
    found: dict[str, str] = {}
    for now, was in pairs:
        word = change(was, now) if was is not None else ""
        if was is not None and word:
            amid = " in noise" if now["scenario"] in noisy else ""
            found[now["name"]] = f"{word}{amid}, was {table.number(was['measured'], now['unit'])}"
    return found


def drawn(record: dict[str, Any], source: Path, target: Path) -> str:
    """Draw with the Python that has matplotlib; says so when none has."""
    if not record["curves"]:
        return "no picture: these scenarios have no curve"
    here = importlib.util.find_spec("matplotlib") is not None
    if not here and not PEERS.exists():
        return "no picture: matplotlib isn't installed, `make bench` does it"
    python = sys.executable if here else str(PEERS)
    subprocess.run([python, str(HERE / "picture.py"), str(source), str(target)], check=True)
    return f"picture: {target.name}"


def publish(record: dict[str, Any], source: Path) -> None:
    page = DOCS / "benchmarks.md"
    text = page.read_text(encoding="utf-8")
    before, rest = text.split(TABLE_START)
    _, after = rest.split(TABLE_END)
    lines = [f"{conditions(record)} {noise(record)}", table.markdown(record)]
    body = "\n\n".join([TABLE_START, *lines, TABLE_END])
    page.write_text(before + body + after, encoding="utf-8")
    print(drawn(record, source, DOCS / "benchmarks.png"))


def loud(cores: float | None) -> bool:
    return cores is not None and cores > machine.NOISY


def conditions(record: dict[str, Any]) -> str:
    """What the figures of a run were measured with."""
    told = record["machine"]
    packages = ", ".join(f"{name} {number}" for name, number in told["versions"].items())
    share = "all rows" if record["scale"] == 1 else f"a trial with {record['scale']:g} of the rows"
    return f"Rounds: {record['rounds']}, {share}; {told['cores']} cores, Python {told['python']}, {packages}."


def noise(record: dict[str, Any]) -> str:
    """How quiet the machine was."""
    told = {name: cores for name, cores in record["cores_of_others"].items() if cores is not None}
    noisy = [f"{name} {cores:.1f}" for name, cores in told.items() if loud(cores)]
    if noisy:
        return f"Noisy: other programs used the machine meanwhile (cores: {', '.join(noisy)}). Run it again when quiet."
    return "The machine was quiet." if told else "This system doesn't tell what other programs used."


def main() -> None:
    said = parsed()
    effort = Effort(rounds=said.rounds or (2 if said.quick else 5), scale=said.scale or (0.2 if said.quick else 1.0))
    path = said.results / f"{said.name or effort.name}.json"
    old = committed(path)
    record = measured([name for name in SCENARIOS if name in said.only.split(",")], effort)
    difference = changes(record, old)
    print(table.printed(record, difference))
    print(noise(record))
    if old is not None:
        print(f"{len(difference)} figures changed by more than the noise since the last committed run")
    said.results.mkdir(parents=True, exist_ok=True)
    record = merged(record, json.loads(path.read_text(encoding="utf-8")) if path.exists() else None)
    path.write_text(json.dumps(record, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    print(drawn(record, path, path.with_suffix(".png")))
    if said.publish:
        publish(record, path)


if __name__ == "__main__":
    main()
