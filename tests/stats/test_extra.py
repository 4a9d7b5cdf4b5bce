"""The error of a missing package."""

from __future__ import annotations

from llmframe.stats.extra import missing


def test_the_error_names_what_needs_the_package_and_how_to_get_it():
    assert str(missing("Cohen's kappa", "scikit-learn")) == (
        "Cohen's kappa needs scikit-learn, which isn't installed: `pip install 'llmframe[judge]'`"
    )
