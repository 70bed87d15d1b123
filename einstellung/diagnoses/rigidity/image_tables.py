"""Tables made from single images: masked against patched, and what the cue does."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from typing import TypeVar

from einstellung.diagnoses.rigidity.card import PerImage, RigidityCard
from einstellung.diagnoses.rigidity.images import PLACEMENTS, PULL
from einstellung.diagnoses.rigidity.splits import SPLIT_OF
from einstellung.diagnoses.rigidity.statistics_tables import p_value
from einstellung.report.notation import DASH, FACETS, mean_sd, write
from einstellung.report.tables import Cell, Table

T = TypeVar("T")

_SIGNIFICANT = 0.05
_COLUMNS = (*PLACEMENTS, *PULL)
_ORIGIN = "from the predictions stored with the chosen checkpoint"
_MEANING = (
    "SC: test images of the shortcut classes with the cue (patched), with the same cue at another position "
    "(elsewhere), with its region covered (masked), without the cue (clean). NSC called SC: share of test images of "
    "the other phase 2 classes that are assigned to a shortcut class, without and with the cue added; pull: the "
    "difference."
)
_COUNTS = {
    "both_right": "both right",
    "only_patched": "only patched right",
    "only_masked": "only masked right",
    "both_wrong": "both wrong",
}


def masking_table(card: RigidityCard, images: PerImage) -> Table:
    """McNemar's test of every run: the same images with the cue and with it covered."""
    rows, values = [], []
    for method, seed, counts in _runs(card, images.masking):
        numbers = [Cell(f"{getattr(counts, key):,}") for key in ("n", *_COUNTS)]
        rows.append((Cell(method), Cell(str(seed)), *numbers, Cell(p_value(counts.p)), Cell(p_value(counts.p_holm))))
        values.append({"method": method, "seed": seed, **asdict(counts)})
    return Table(
        "Masked against patched, per image",
        f"The same test images with the cue (patched) and with it covered (masked), {_ORIGIN}. p: exact McNemar test; "
        f"Holm: corrected over all {len(rows)} runs. Images of one run share its model, so a small p is evidence about "
        "that model; intervals over seeds are evidence about the method.",
        ("method", "seed", "images", *_COUNTS.values(), "p", "p (Holm)"),
        tuple(rows),
        tuple(values),
    )


def cue_effect_table(card: RigidityCard, images: PerImage) -> Table:
    """What the cue does, one row per method."""
    rows, values = [], []
    for method in _ordered(card, images.cue_effect):
        record = images.cue_effect[method]
        tests = [own.pull_test for own in record.per_seed.values() if own.pull_test is not None]
        clear = sum(test.p_holm is not None and test.p_holm < _SIGNIFICANT for test in tests)
        count = Cell(f"{clear} of {len(tests)}") if tests else Cell(DASH, _why("pull"))
        summaries = {key: record.summary(key) for key in _COLUMNS}
        cells = (
            Cell(mean_sd(key, summary), _why(key) if summary.mean is None else None)
            for key, summary in summaries.items()
        )
        rows.append((Cell(method), *cells, count))
        numbers = {f"{key}_{part}": getattr(summaries[key], part) for key in _COLUMNS for part in ("mean", "sd", "n")}
        values.append({"method": method, **numbers, "pull_tests": len(tests), "pull_tests_below_0.05": clear})
    return Table(
        "Effects of the cue",
        f"Mean ± standard deviation over seeds, {_ORIGIN}. {_MEANING} Last column: seeds in which an exact McNemar test "
        "on 'is called SC', Holm-corrected over all runs, gives p < 0.05.",
        ("method", *(FACETS[key].head for key in _COLUMNS), "pull, p < 0.05"),
        tuple(rows),
        tuple(values),
    )


def cue_effect_seed_table(card: RigidityCard, images: PerImage) -> Table:
    """The same, seed by seed, with the test of the pull."""
    per_seed = {method: record.per_seed for method, record in images.cue_effect.items()}
    rows, values = [], []
    for method, seed, own in _runs(card, per_seed):
        test = own.pull_test
        cells = (Cell(write(key, own.value(key)), _why(key) if own.value(key) is None else None) for key in _COLUMNS)
        tested = (p_value(test.p), p_value(test.p_holm)) if test is not None else (DASH, DASH)
        rows.append((Cell(method), Cell(str(seed)), *cells, *map(Cell, tested)))
        numbers = {
            f"pull_{key}": None if test is None else getattr(test, key)
            for key in ("n", "only_without", "only_with", "p", "p_holm")
        }
        values.append({"method": method, "seed": seed, **{key: own.value(key) for key in _COLUMNS}, **numbers})
    return Table(
        "Effects of the cue, per seed",
        f"{_ORIGIN[0].upper()}{_ORIGIN[1:]}. {_MEANING} p: exact McNemar test on 'is called SC'; Holm: corrected over all "
        "runs.",
        ("method", "seed", *(FACETS[key].head for key in _COLUMNS), "p", "p (Holm)"),
        tuple(rows),
        tuple(values),
    )


def _why(key: str) -> str:
    split = SPLIT_OF["NSC_patched" if key in PULL else key]
    return f"no predictions for {split}, or not of the same images"


def _ordered(card: RigidityCard, methods: Mapping[str, object]) -> list[str]:
    """The methods in the card's order."""
    return [method for method in card.methods if method in methods]


def _runs(card: RigidityCard, by_method: Mapping[str, Mapping[int, T]]) -> list[tuple[str, int, T]]:
    return [(method, seed, own) for method in _ordered(card, by_method) for seed, own in by_method[method].items()]
