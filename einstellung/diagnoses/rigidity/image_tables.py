"""Tables made from single images: masked against patched, and what the cue does."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from einstellung.diagnoses.rigidity.cue_effect import PLACEMENTS, PULL
from einstellung.diagnoses.rigidity.statistics_tables import p_value
from einstellung.report.notation import FACETS, mean_sd, write
from einstellung.report.tables import Cell, Table
from einstellung.report.undefined import SPLIT_OF

_SIGNIFICANT = 0.05
_COLUMNS = (*PLACEMENTS, *PULL)
_ORIGIN = "from the predictions stored with the chosen checkpoint"
_MEANING = (
    "SC: test images of the shortcut classes with the cue (patched), with the same cue at another place (elsewhere), with "
    "its region covered (masked), never painted (clean). NSC called SC: share of the test images of the other phase 2 "
    "classes that are taken for a shortcut class as they are, and with the cue put on; pull: the difference."
)
_COUNTS = {
    "both_right": "both right",
    "only_patched": "only patched right",
    "only_masked": "only masked right",
    "both_wrong": "both wrong",
}


def masking_table(card: Mapping[str, Any]) -> Table:
    """McNemar's test of every run: the same images with the cue and with it covered."""
    rows, values = [], []
    for method, seed, counts in _runs(card, card["per_image"]["masking"]):
        numbers = [Cell(f"{counts[key]:,}") for key in ("n", *_COUNTS)]
        rows.append((Cell(method), Cell(seed), *numbers, *(Cell(p_value(counts[key])) for key in ("p", "p_holm"))))
        values.append({"method": method, "seed": seed, **counts})
    return Table(
        "Masked against patched, image by image",
        f"The same test images with the cue (patched) and with it covered (masked), {_ORIGIN}. p: exact McNemar test; "
        f"Holm: corrected over all {len(rows)} runs. Images of one run share its model: a small p speaks of that model, "
        "the intervals over seeds speak of the method.",
        ("method", "seed", "images", *_COUNTS.values(), "p", "p (Holm)"),
        tuple(rows),
        tuple(values),
    )


def cue_effect_table(card: Mapping[str, Any]) -> Table:
    """What the cue does, one row per method."""
    rows, values = [], []
    for method in _ordered(card, card["per_image"]["cue_effect"]):
        record = card["per_image"]["cue_effect"][method]
        tests = [own["pull_test"] for own in record["per_seed"].values() if own["pull_test"] is not None]
        clear = sum(test["p_holm"] < _SIGNIFICANT for test in tests)
        count = Cell(f"{clear} of {len(tests)}") if tests else Cell("–", _why("pull"))
        cells = (
            Cell(mean_sd(key, record[key]), _why(key) if record[key]["mean"] is None else None) for key in _COLUMNS
        )
        rows.append((Cell(method), *cells, count))
        numbers = {f"{key}_{part}": record[key][part] for key in _COLUMNS for part in ("mean", "sd", "n")}
        values.append({"method": method, **numbers, "pull_tests": len(tests), "pull_tests_below_0.05": clear})
    return Table(
        "What the cue does",
        f"Mean ± standard deviation over seeds, {_ORIGIN}. {_MEANING} Last column: seeds in which an exact McNemar test "
        "on 'is called SC', Holm-corrected over all runs, gives p < 0.05.",
        ("method", *(FACETS[key].head for key in _COLUMNS), "pull, p < 0.05"),
        tuple(rows),
        tuple(values),
    )


def cue_effect_seed_table(card: Mapping[str, Any]) -> Table:
    """The same, seed by seed, with the test of the pull."""
    per_seed = {method: record["per_seed"] for method, record in card["per_image"]["cue_effect"].items()}
    rows, values = [], []
    for method, seed, own in _runs(card, per_seed):
        test = own["pull_test"] or {"p": None, "p_holm": None, "only_without": None, "only_with": None, "n": None}
        cells = (Cell(write(key, own[key]), _why(key) if own[key] is None else None) for key in _COLUMNS)
        rows.append((Cell(method), Cell(seed), *cells, *(Cell(p_value(test[key])) for key in ("p", "p_holm"))))
        tested = {f"pull_{key}": test[key] for key in ("n", "only_without", "only_with", "p", "p_holm")}
        values.append({"method": method, "seed": seed, **{key: own[key] for key in _COLUMNS}, **tested})
    return Table(
        "What the cue does, seed by seed",
        f"{_ORIGIN[0].upper()}{_ORIGIN[1:]}. {_MEANING} p: exact McNemar test on 'is called SC'; Holm: corrected over all "
        "runs.",
        ("method", "seed", *(FACETS[key].head for key in _COLUMNS), "p", "p (Holm)"),
        tuple(rows),
        tuple(values),
    )


def _why(key: str) -> str:
    split = SPLIT_OF["NSC_patched" if key in PULL else key]
    return f"no predictions for {split}, or not of the same images"


def _ordered(card: Mapping[str, Any], methods: Mapping[str, Any]) -> list[str]:
    """The methods in the scorecard's order."""
    return [method for method in card["methods"] if method in methods]


def _runs(card: Mapping[str, Any], by_method: Mapping[str, Mapping[str, Any]]) -> list[tuple[str, str, Any]]:
    return [(method, seed, own) for method in _ordered(card, by_method) for seed, own in by_method[method].items()]
