"""Makes llmframe/data/reviews.csv.gz from the sdist of vaderSentiment 3.3.2.

    pip download vaderSentiment==3.3.2 --no-binary :all: --no-deps
    python benchmarks/make_reviews.py vaderSentiment-3.3.2.tar.gz llmframe/data

The same sdist gives the same bytes.
"""

from __future__ import annotations

import ast
import csv
import gzip
import hashlib
import io
import statistics
import sys
import tarfile
from pathlib import Path

SOURCES = {"amazon": "amazonReviewSnippets", "movies": "movieReviewSnippets"}
CLEAR = 1.0  # least |mean| of a polar text, on the raters' scale from -4 to 4
FEWEST_WORDS = 3  # below that there are headings ("cons.") and lone marks
MOVIES_PER_LABEL = 1500
FIELDS = ("id", "source", "text", "mean", "sd", "raters", "label")

Row = dict[str, object]


def rank(row: Row) -> str:
    """A fixed random order."""
    return hashlib.blake2b(str(row["id"]).encode(), digest_size=8).hexdigest()


def member(archive: tarfile.TarFile, name: str) -> bytes:
    file = archive.extractfile(name)
    if file is None:
        raise FileNotFoundError(name)
    return file.read()


def table(archive: tarfile.TarFile, name: str) -> list[list[str]]:
    lines = member(archive, f"hutto_ICWSM_2014/{name}.txt").decode("utf-8-sig").splitlines()
    return [line.split("\t") for line in lines if line.strip()]


def polar_rows(archive: tarfile.TarFile, source: str, stem: str) -> list[Row]:
    ratings: dict[str, list[int]] = {}
    for fields in table(archive, f"{stem}_anonDataRatings"):
        ratings[fields[0]] = ast.literal_eval(fields[-1])
    rows: list[Row] = []
    for key, _, text in table(archive, f"{stem}_GroundTruth"):
        mean = statistics.fmean(ratings[key])  # the file's own mean is a rounded copy
        clean = " ".join(text.split())
        if abs(mean) < CLEAR or len(clean.split()) < FEWEST_WORDS:
            continue
        rows.append(
            {
                "id": f"{source}-{key}",
                "source": source,
                "text": clean,
                "mean": round(mean, 4),
                "sd": round(statistics.pstdev(ratings[key]), 4),
                "raters": len(ratings[key]),
                "label": "positive" if mean > 0 else "negative",
            }
        )
    return rows


def first_of_each_text(rows: list[Row]) -> list[Row]:
    seen: dict[str, Row] = {}
    for row in rows:
        seen.setdefault(str(row["text"]).casefold(), row)
    return list(seen.values())


def as_csv(rows: list[Row]) -> bytes:
    out = io.StringIO(newline="")
    writer = csv.DictWriter(out, FIELDS, lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    return out.getvalue().encode()


def main(sdist: Path, folder: Path) -> None:
    with tarfile.open(sdist) as package:
        root = sdist.name.removesuffix(".tar.gz")
        inner = member(package, f"{root}/additional_resources/hutto_ICWSM_2014.tar.gz")
        licence = member(package, f"{root}/LICENSE.txt")
    with tarfile.open(fileobj=io.BytesIO(inner)) as archive:
        rows = first_of_each_text(
            [row for source, stem in SOURCES.items() for row in polar_rows(archive, source, stem)]
        )
    (folder / "LICENSE-vader.txt").write_bytes(licence.replace(b"\r\n", b"\n").rstrip() + b"\n")
    movies = sorted((row for row in rows if row["source"] == "movies"), key=rank)
    chosen = {
        row["id"]
        for label in ("positive", "negative")
        for row in [row for row in movies if row["label"] == label][:MOVIES_PER_LABEL]
    }
    kept = [row for row in rows if row["source"] == "amazon" or row["id"] in chosen]
    (folder / "reviews.csv.gz").write_bytes(gzip.compress(as_csv(kept), 9, mtime=0))
    for source in SOURCES:
        for label in ("positive", "negative"):
            print(source, label, sum(row["source"] == source and row["label"] == label for row in kept))


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]))
