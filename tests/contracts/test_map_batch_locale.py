"""Texts beyond ASCII in a process whose locale knows only that: prompts, labels and results are UTF-8 all the same."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

CHILD = """
import locale, sys
import polars as pl
import llmframe
from llmframe.testing import Provider, Results, Status

assert locale.getpreferredencoding(False) != "UTF-8", "the locale isn't plain"
said = {"Wie klingt „äöü“?": "fröhlich", "Wie klingt 很好?": "neutral ☁", "Wie klingt 🎉\\u2028\\x85?": "fröhlich"}
with Provider(answer=lambda prompt, request: {"response": said[prompt]}) as provider:
    provider.when("ñ", Status(400, "content_filter", "gesperrt: ñ"))
    provider.batches.returns(Results(reverse=True, double=True, blank_line=True))
    frame = pl.DataFrame({"t": ["„äöü“", "很好", "🎉\\u2028\\x85", "ñ", "„äöü“"]})
    out = frame.llm.map(
        "Wie klingt {t}?", ["fröhlich", "neutral ☁"], client=provider, mode="batch", model="m", cache=sys.argv[1],
        system="Kurz – bitte.", progress=False,
    )
    live = frame.llm.map("Wie klingt {t}?", ["fröhlich", "neutral ☁"], client=provider, model="m", cache=False,
        system="Kurz – bitte.", progress=False)
    assert out.equals(live)
    assert provider.batches.created == 1
    print(ascii(out["response"].to_list()), ascii(out["error"][3]))
"""


def test_a_locale_of_ascii_alone_changes_nothing(tmp_path: Path):
    plain = {"LC_ALL": "C", "LANG": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0", "PYTHONIOENCODING": "ascii"}
    script = tmp_path / "child.py"
    script.write_text(CHILD, encoding="utf-8")
    done = subprocess.run(
        [sys.executable, "-W", "ignore", script, tmp_path / "a.sqlite"],
        env={**os.environ, **plain},
        capture_output=True,
        text=True,
        timeout=600,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout == (
        "['fr\\xf6hlich', 'neutral \\u2601', 'fr\\xf6hlich', None, 'fr\\xf6hlich'] "
        "'content_filter: BadRequestError 400 content_filter: gesperrt: \\xf1'\n"
    )
