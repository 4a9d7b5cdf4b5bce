"""Numbers about labels: sequences in, numbers with what they are worth out; no frame, no key.

Most names are loaded by their first use. What needs scipy, scikit-learn, statsmodels or krippendorff says so:
`pip install 'llmframe[judge]'`.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

# At once, because their modules have their names: loaded later, a module would stand in its function's place.
from llmframe.stats.alt_test import alt_test
from llmframe.stats.bootstrap import bootstrap
from llmframe.stats.bradley_terry import bradley_terry
from llmframe.stats.dawid_skene import dawid_skene
from llmframe.stats.reliability_bins import reliability_bins
from llmframe.stats.risk_coverage import risk_coverage
from llmframe.stats.rogan_gladen import rogan_gladen

if TYPE_CHECKING:
    from llmframe.stats.agreement import nominal_agreement
    from llmframe.stats.calibration import fit_distribution_temperature, fit_isotonic, fit_platt, fit_temperature
    from llmframe.stats.corrected import mean_estimate
    from llmframe.stats.estimate import Estimate
    from llmframe.stats.fleiss import fleiss_kappa
    from llmframe.stats.flips import cohen_kappa, homogeneity, mcnemar_exact, symmetry
    from llmframe.stats.multiplicity import false_discovery
    from llmframe.stats.numeric import numeric_agreement
    from llmframe.stats.ordinal import ordinal_agreement
    from llmframe.stats.paired import accuracies, paired_difference
    from llmframe.stats.panels import krippendorff_alpha, majority, weighted, weights_from_gold
    from llmframe.stats.ppi import ppi_difference, ppi_mean
    from llmframe.stats.proportions import Interval, wilson_interval
    from llmframe.stats.raters import human_ceiling
    from llmframe.stats.reliability import auroc, brier, calibration_error, debiased_error, log_loss, null_band
    from llmframe.stats.selective import certified_threshold, fewest_gold
    from llmframe.stats.sizes import (
        detectable_difference,
        rows_for_difference,
        rows_for_mcnemar,
        rows_for_mean,
        rows_for_share,
        with_judge,
    )
    from llmframe.stats.weighted_gold import weighted_mean

__all__ = [
    "Estimate",
    "Interval",
    "accuracies",
    "alt_test",
    "auroc",
    "bootstrap",
    "bradley_terry",
    "brier",
    "calibration_error",
    "certified_threshold",
    "cohen_kappa",
    "dawid_skene",
    "debiased_error",
    "detectable_difference",
    "false_discovery",
    "fewest_gold",
    "fit_distribution_temperature",
    "fit_isotonic",
    "fit_platt",
    "fit_temperature",
    "fleiss_kappa",
    "homogeneity",
    "human_ceiling",
    "krippendorff_alpha",
    "log_loss",
    "majority",
    "mcnemar_exact",
    "mean_estimate",
    "nominal_agreement",
    "null_band",
    "numeric_agreement",
    "ordinal_agreement",
    "paired_difference",
    "ppi_difference",
    "ppi_mean",
    "reliability_bins",
    "risk_coverage",
    "rogan_gladen",
    "rows_for_difference",
    "rows_for_mcnemar",
    "rows_for_mean",
    "rows_for_share",
    "symmetry",
    "weighted",
    "weighted_mean",
    "weights_from_gold",
    "wilson_interval",
    "with_judge",
]

_HOMES = {
    "Estimate": "estimate",
    "Interval": "proportions",
    "accuracies": "paired",
    "auroc": "reliability",
    "brier": "reliability",
    "calibration_error": "reliability",
    "certified_threshold": "selective",
    "cohen_kappa": "flips",
    "debiased_error": "reliability",
    "detectable_difference": "sizes",
    "false_discovery": "multiplicity",
    "fewest_gold": "selective",
    "fit_distribution_temperature": "calibration",
    "fit_isotonic": "calibration",
    "fit_platt": "calibration",
    "fit_temperature": "calibration",
    "fleiss_kappa": "fleiss",
    "homogeneity": "flips",
    "human_ceiling": "raters",
    "krippendorff_alpha": "panels",
    "log_loss": "reliability",
    "majority": "panels",
    "mcnemar_exact": "flips",
    "mean_estimate": "corrected",
    "nominal_agreement": "agreement",
    "null_band": "reliability",
    "numeric_agreement": "numeric",
    "ordinal_agreement": "ordinal",
    "paired_difference": "paired",
    "ppi_difference": "ppi",
    "ppi_mean": "ppi",
    "rows_for_difference": "sizes",
    "rows_for_mcnemar": "sizes",
    "rows_for_mean": "sizes",
    "rows_for_share": "sizes",
    "symmetry": "flips",
    "weighted": "panels",
    "weighted_mean": "weighted_gold",
    "weights_from_gold": "panels",
    "wilson_interval": "proportions",
    "with_judge": "sizes",
}


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'llmframe.stats' has no attribute {name!r}")
    value = globals()[name] = getattr(import_module(f"llmframe.stats.{_HOMES[name]}"), name)
    return value


def __dir__() -> list[str]:
    return sorted({*__all__, *(name for name in globals() if name.startswith("__"))})
