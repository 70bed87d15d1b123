"""Do methods differ in the guide's numbers? Tests paired by seed, corrected for the number of methods."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from einstellung.diagnoses.rigidity.settings import DEFAULT_BASELINE
from einstellung.guide.card import GUIDE_METRICS, GuideCard, GuideMethod
from einstellung.metrics.statistics import PairedTest, holm, mean_and_sd, paired_t_test

REFERENCES = ("sgd", DEFAULT_BASELINE)


def guide_tests(card: GuideCard) -> list[dict[str, Any]]:
    """Every method against plain fine-tuning (without it: against the model from scratch), metric by metric.

    Holm's correction is over the methods, as in the tests of the triplet. Without a reference, or with no other method, there
    are no tests.
    """
    methods = card.methods
    against = next((name for wanted in REFERENCES for name in methods if name.lower() == wanted), None)
    if against is None:
        return []
    others = [method for method in methods if method != against]
    return [line for metric in GUIDE_METRICS for line in _tests(metric, others, against, methods)]


def _tests(metric: str, others: list[str], against: str, methods: Mapping[str, GuideMethod]) -> list[dict[str, Any]]:
    reference = _scores(methods[against], metric)
    differences = {
        method: [_minus(value, reference.get(seed)) for seed, value in _scores(methods[method], metric).items()]
        for method in others
    }
    tests: list[PairedTest] = [paired_t_test(own) for own in differences.values()]
    tests = [replace(test, p_holm=p) for test, p in zip(tests, holm([test.p for test in tests]), strict=True)]
    return [
        {"metric": metric, "method": method, "against": against, "mean_difference": mean_and_sd(own)[0]}
        | test.to_dict()
        for (method, own), test in zip(differences.items(), tests, strict=True)
    ]


def _scores(record: GuideMethod, metric: str) -> dict[str, float | None]:
    return {seed: getattr(run, metric) for seed, run in record.per_seed.items()}


def _minus(left: float | None, right: float | None) -> float | None:
    return None if left is None or right is None else left - right
