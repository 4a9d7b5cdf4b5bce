"""Write pip constraints that hold every dependency, those of some extras too, at its lower bound in pyproject.toml.

`pandas>=2.2` becomes `pandas==2.2.*`, `openai>=3,<4` becomes `openai==3.0.*`, `jinja2>=3.1.6` becomes `jinja2==3.1.6`.
"""

from __future__ import annotations

import re
import sys
import tomllib
from pathlib import Path

EXACT_PARTS = 3
"""Parts of a version that leave nothing open."""


def oldest(requirement: str) -> str:
    """The constraint that pins `requirement` to its lower bound."""
    match = re.match(r"([\w.-]+)(?:\[[\w,]+\])?>=([\d.]+)", requirement)
    if match is None:
        sys.exit(f"{requirement!r} has no lower bound, so nobody knows whether its oldest version works")
    name, version = match.groups()
    parts = version.split(".")
    parts += ["0"] * (2 - len(parts))
    return f"{name}=={'.'.join(parts)}" + ("" if len(parts) >= EXACT_PARTS else ".*")


def main(target: str) -> None:
    """Write the constraints into the file `target`, with a copy on standard output for the log."""
    project = tomllib.loads((Path(__file__).parents[1] / "pyproject.toml").read_text())["project"]
    extras = project["optional-dependencies"]
    requirements = [*project["dependencies"], *extras["files"], *extras["anthropic"], *extras["judge"]]
    constraints = "\n".join(map(oldest, requirements)) + "\n"
    Path(target).write_text(constraints)
    sys.stdout.write(constraints)


if __name__ == "__main__":
    main(sys.argv[1])
