"""Paths and addresses of a job file can't leave what the user named."""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from llmframe.cli.allowed import allowed, is_loopback
from llmframe.errors import UsageError


@pytest.fixture(scope="module")
def tree(tmp_path_factory):
    """`job` with links that stay inside, lead outside, and go round; `outside` with a file."""
    root = tmp_path_factory.mktemp("tree").resolve()
    job, outside = root / "job", root / "outside"
    for folder in (job / "data" / "deep", outside, job / "mixed", root / "job2"):
        folder.mkdir(parents=True)
    for path in (job / "data" / "a.csv", outside / "secret.csv", job / "mixed" / "b.csv"):
        path.write_text("x\n1\n")
    (job / "in").symlink_to(job / "data")
    (job / "out").symlink_to(outside)
    (job / "mixed" / "out.csv").symlink_to(outside / "secret.csv")
    (job / "round").symlink_to(job / "round")
    return root


@pytest.fixture(scope="module")
def places(tree):
    return allowed(tree / "job", ())


@pytest.mark.parametrize(
    ("text", "resolved"),
    [
        ("data/a.csv", "data/a.csv"),
        ("./data/../data/a.csv", "data/a.csv"),
        ("in/a.csv", "data/a.csv"),
        ("in/../mixed/b.csv", "mixed/b.csv"),
        ("new/file.parquet", "new/file.parquet"),
        ("data/*.csv", "data/*.csv"),
        ("in/**/*.csv", "data/**/*.csv"),
        ("data", "data"),
        ("with:colon.csv", "with:colon.csv"),
    ],
)
def test_a_path_is_taken_from_the_job_s_folder_with_its_links_resolved(text, resolved, places, tree):
    assert places.path(text) == str(tree / "job" / resolved)


def test_an_absolute_path_below_the_folder_is_allowed(places, tree):
    assert places.path(str(tree / "job" / "data" / "a.csv")) == str(tree / "job" / "data" / "a.csv")


@pytest.mark.parametrize(
    "text",
    [
        "../outside/secret.csv",
        "..",
        "../job2/x.csv",
        "/etc/passwd",
        "/",
        "out/secret.csv",
        "out",
        "mixed",
        "mixed/*.csv",
        "m*/out.csv",
        "*",
        "data/../../outside/secret.csv",
        "in/../../outside/secret.csv",
        "data/*/../../../outside/*",
        "~/secret.csv",
        "~root/x",
        "",
        " ",
        "a\0b",
        "zip://a.csv::data/b.zip",
        "file:///etc/passwd",
    ],
)
def test_a_path_that_leads_elsewhere_is_refused(text, places):
    with pytest.raises(UsageError):
        places.path(text)


def test_the_refusal_names_both_remedies(places, tree):
    with pytest.raises(UsageError) as refusal:
        places.path("../outside/secret.csv")
    told = str(refusal.value)
    assert "'../outside/secret.csv' leads to" in told
    assert "give it on the command line, or allow its folder by --root DIR" in told


def test_a_named_folder_widens_what_is_allowed(tree):
    places = allowed(tree / "job", [tree / "outside"])
    assert places.path("../outside/secret.csv") == str(tree / "outside" / "secret.csv")
    assert places.path("out/secret.csv") == str(tree / "outside" / "secret.csv")
    assert places.path("mixed") == str(tree / "job" / "mixed")
    with pytest.raises(UsageError):
        places.path("../job2/x.csv")


def test_a_root_that_is_no_folder_is_refused(tree):
    with pytest.raises(UsageError, match="is no folder"):
        allowed(tree, [tree / "gone"])


@pytest.mark.parametrize("text", ["s3://bucket/in/a.parquet", "s3://bucket/in/*.parquet", "s3://bucket/in", "data"])
def test_a_remote_address_below_a_named_one_is_allowed(text, tree):
    places = allowed(tree / "job", ["s3://bucket/in/"])
    assert places.data(text) == (text if "://" in text else str(tree / "job" / "data"))


@pytest.mark.parametrize(
    "text",
    [
        "s3://other/in/a.parquet",
        "s3://bucket/inside/a.parquet",
        "s3://bucket/out/a.parquet",
        "s3://bucket/in/../out",
        "s3://bucket/in/%2e%2e/out",
        "s3://bucket/in/%252E%252e%2fout",
        "s3://bucket/in/%2e%2e%2f%2e%2e",
        "s3://bucket.evil/in/a",
        "s3://user@bucket/in/a",
        "gs://bucket/in/a.parquet",
        "s3:///in/a",
        "s3://*/in/a",
        "simplecache::s3://bucket/in/a",
        "zip://a.csv::s3://bucket/in/a.zip",
        "file:///etc/passwd",
        "local:///etc/passwd",
        "s3://bucket/in/a b",
        "s3://bucket\\@evil/in/a",
    ],
)
def test_any_other_remote_address_is_refused(text, tree):
    with pytest.raises(UsageError):
        allowed(tree / "job", ["s3://bucket/in"]).data(text)


@pytest.mark.parametrize("url", ["http://localhost:8000/v1", "http://127.0.0.1:1/v1", "http://[::1]:8000/v1"])
def test_a_server_on_this_machine_is_allowed(url, places):
    assert places.server(url) == url
    assert is_loopback(url)


@pytest.mark.parametrize(
    "url",
    [
        "https://evil.example/v1",
        "http://localhost@evil.example/v1",
        "http://localhost.evil.example/v1",
        "http://127.0.0.1.evil.example/v1",
        "http://evil.example\\@localhost/v1",
        "http://evil.example#@localhost/v1",
        "https://llm.example.com.evil.example/v1",
        "https://llm.example.com:444/v1",
        "http://llm.example.com/v1",
        "https://llm.example.com/v2",
        "https://llm.example.com/v1/../v2",
        "ftp://localhost/v1",
        "localhost:8000/v1",
        "http://[broken/v1",
    ],
)
def test_a_server_elsewhere_is_refused_so_that_no_key_goes_there(url, tree):
    with pytest.raises(UsageError):
        allowed(tree / "job", ["https://llm.example.com/v1"]).server(url)


def test_a_server_below_a_named_address_is_allowed(tree):
    places = allowed(tree / "job", ["https://LLM.example.com"])
    assert places.server("https://llm.example.com/v1") == "https://llm.example.com/v1"


parts = st.sampled_from(
    [
        *("..", ".", "", "in", "out", "data", "mixed", "round", "deep", "a.csv", "out.csv", "*", "**", "[.][.]", "?ut"),
        *("~", "C:", "\\", "..\\", "file:", "s3:", "::", "%2e%2e", "job2", "outside", "\0", "\n", "x" * 300),
    ]
)


@settings(max_examples=300, deadline=None)
@given(st.lists(parts | st.text(max_size=4), max_size=6).map("/".join) | st.text(max_size=12))
def test_any_text_is_inside_or_refused(tree, places, text):
    job = tree / "job"
    with suppress(UsageError):
        found = places.data(text)
        assert "://" not in found
        assert "::" not in found
        assert Path(os.path.realpath(found)).is_relative_to(job)
        if "*" not in found and "?" not in found and "[" not in found:
            assert os.path.realpath(found) == found
