"""Makes llmframe/data/ratings_amazon.csv.gz and ratings_tweets.csv.gz from the sdist of vaderSentiment 3.3.2.

    pip download vaderSentiment==3.3.2 --no-binary :all: --no-deps
    python benchmarks/make_ratings.py vaderSentiment-3.3.2.tar.gz llmframe/data

The same sdist gives the same bytes.
"""

from __future__ import annotations

import ast
import csv
import gzip
import html
import io
import sys
import tarfile
from pathlib import Path

from make_reviews import member, table

SOURCES = {"amazon": "amazonReviewSnippets", "tweets": "tweets"}
FIELDS = ("id", "text", "ratings")


def rows(archive: tarfile.TarFile, source: str, stem: str) -> list[tuple[str, str, str]]:
    """Every item of a source with every rating, in the file's order; nothing is left out."""
    votes = {fields[0]: ast.literal_eval(fields[-1]) for fields in table(archive, f"{stem}_anonDataRatings")}
    return [
        (f"{source}-{key}", " ".join(html.unescape(text).split()), " ".join(str(vote) for vote in votes[key]))
        for key, _, text in table(archive, f"{stem}_GroundTruth")
    ]


def as_csv(items: list[tuple[str, str, str]]) -> bytes:
    out = io.StringIO(newline="")
    csv.writer(out, lineterminator="\n").writerows([FIELDS, *items])
    return out.getvalue().encode()


def main(sdist: Path, folder: Path) -> None:
    with tarfile.open(sdist) as package:
        root = sdist.name.removesuffix(".tar.gz")
        inner = member(package, f"{root}/additional_resources/hutto_ICWSM_2014.tar.gz")
    with tarfile.open(fileobj=io.BytesIO(inner)) as archive:
        for source, stem in SOURCES.items():
            items = rows(archive, source, stem)
            (folder / f"ratings_{source}.csv.gz").write_bytes(gzip.compress(as_csv(items), 9, mtime=0))
            print(source, len(items), sum(len(votes.split()) for _, _, votes in items))


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]))
