"""What a page needs to score the study again in the browser: a script, and the data that it computes the card from.

What does not depend on the settings is measured here, once: the patched curves, the accuracies at both checkpoints that the
rules can choose, and what each run contributes to the checks. Smoothing, facets, tests, patterns and verdicts are the script's
part; the sentences are shared.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

from einstellung.diagnoses.baseline import alike
from einstellung.diagnoses.contract import Evidence
from einstellung.diagnoses.rigidity.card import RigidityCard
from einstellung.diagnoses.rigidity.checks import epoch_grid, fingerprint, mask_effect, moves, pairing, t1_images
from einstellung.diagnoses.rigidity.error_rates import measured_rates
from einstellung.diagnoses.rigidity.measurements import (
    Accuracies,
    Field,
    accuracies_at,
    final_rule,
    groups_at,
    has_task,
    phase_accuracies,
    watched_curve,
    widest_step,
)
from einstellung.diagnoses.rigidity.naming import Naming
from einstellung.diagnoses.rigidity.settings import DEFAULT_BASELINE, FinalRule
from einstellung.diagnoses.rigidity.words import WORDS
from einstellung.input_words import words_for
from einstellung.metrics.curves import TOLERANCE, checkpoint_epoch, value_at
from einstellung.report.minify import minify
from einstellung.timeline import KNOWN_SPLITS, SC_MASK, SC_PATCH, T1_ALL, VAL, Curve, Run, Timeline
from einstellung.timeline.split_names import meant_split

#: Plain scripts that share one scope, in any order.
SCRIPTS = tuple(sorted(Path(__file__).with_name("browser").glob("*.js")))
_RULES: tuple[FinalRule, ...] = ("last", "best-val")
_AT_CHECKPOINT = ("SC_patch", "SC_mask", "NSC", "NSC_patched", "SC_clean", "SC_elsewhere")
_WITHIN = ("SC_patch", "SC_mask", "NSC")

Curves = Mapping[str, Curve]


@cache
def script() -> str:
    """The scripts as one, minified: it defines ``createScorer(payload)`` and no other name."""
    source = "\n".join(file.read_text(encoding="utf-8").removeprefix('"use strict";') for file in SCRIPTS)
    return f'(()=>{{"use strict";{minify(source)}\nglobalThis.createScorer=createScorer;}})();'


def payload(evidence: Evidence, card: RigidityCard, naming: Naming | None = None) -> dict[str, Any]:
    """Everything that ``createScorer`` needs, as plain values for strict JSON; ``card`` is the card of the evidence.

    ``naming``: what T2 and T1 are called in sentences, where the card is about another phase.

    Seeds are text, because a seed may be larger than the whole numbers of JavaScript.
    """
    timeline = evidence.timeline
    grids: dict[bytes, int] = {}
    twins: dict[tuple[object, ...], int] = {}
    runs = []
    for run in timeline.runs:
        t2 = timeline.curves(*run, "T2")
        grid, parts = epoch_grid(t2), fingerprint(t2)
        runs.append(
            {
                **_run(timeline, run),
                "grid": [grids.setdefault(grid.tobytes(), len(grids)), float(grid[-1]), len(grid)]
                if len(grid)
                else None,
                "twin": twins.setdefault(parts, len(twins)) if parts else None,
            }
        )
    return {
        "version": 1,
        "settings": _settings(timeline, card),
        "methods": list(timeline.methods),
        "seeds": [str(seed) for seed in sorted({seed for _, seed in timeline.runs})],
        "splits": {split: split in KNOWN_SPLITS or meant_split(split) for split in timeline.splits},
        "runs": runs,
        "t1_classes": _t1_classes(card),
        "failures": list(evidence.failures),
        "words": words_for(evidence.facts).say_data(WORDS),
        "naming": None if naming is None or naming.is_plain else [naming.pattern, naming.phase, naming.history],
        "error_rates": {str(seeds): rates for seeds, rates in measured_rates()["seeds"].items()},
        "card": card.to_json(),
    }


def _t1_classes(card: RigidityCard) -> int | None:
    if card.phases is not None:
        return card.phases.records[card.phases.shown].earlier_classes
    return card.stream_facts.t1_classes if card.stream_facts is not None else None


def _settings(timeline: Timeline, card: RigidityCard) -> dict[str, Any]:
    """The study's settings as they were asked for: a baseline that is not named and ``auto`` depend on the runs that are left."""
    rule, said = final_rule(timeline, "auto")
    is_default = alike(DEFAULT_BASELINE, timeline.methods) == [card.baseline] or not card.has_baseline
    return {
        "baseline": None if is_default else card.baseline,
        "tau": card.tau,
        "window": card.window,
        "smoothing": card.smoothing,
        "tau_grid": list(card.tau_grid),
        "final": "auto" if rule == card.final and set(said) <= set(card.warnings) else card.final,
        "margins": card.margins.model_dump(),
        "classes": card.floor.classes,
    }


def _run(timeline: Timeline, run: Run) -> dict[str, Any]:
    """One run; what it knows after T1 is given as if it had a T1, as the baseline decides who starts fresh."""
    t1, t2 = timeline.curves(*run, "T1"), timeline.curves(*run, "T2")
    patched = watched_curve(t2)
    fields: tuple[Field, ...] = ("acc", "acc_task") if has_task(t2) else ("acc",)
    return {
        "method": run[0],
        "seed": str(run[1]),
        "splits": sorted({split for phase in timeline.phases(*run) for split in timeline.curves(*run, phase)}),
        "has_t1": bool(t1),
        "has_t2": bool(t2),
        "has_val": VAL in t2 and bool((t2[VAL].epochs > TOLERANCE).any()),
        "absent": [split for split in (SC_PATCH, SC_MASK) if split not in t2],
        "pairing": pairing(t2),
        "mask_effect": mask_effect(t2),
        "moves": moves(t2),
        "T1_start_of_T2": value_at(*timeline.curve(*run, "T2", T1_ALL), 0.0),
        "T1_images": t1_images(timeline, *run),
        "curve": None if patched is None else [patched.epochs.tolist(), patched.acc.tolist()],
        "step": 0.0 if patched is None else widest_step(patched),
        "final": {rule: _at_checkpoint(t1, t2, checkpoint_epoch(t2, rule)) for rule in _RULES},
        "phases": {field: _phases(t1, t2, field) for field in fields},
    }


def _at_checkpoint(t1: Curves, t2: Curves, epoch: float | None) -> dict[str, Any]:
    """The accuracies at one epoch, in the order of the names above."""
    found = {
        "epoch": epoch,
        "acc": _listed(accuracies_at(t1, t2, epoch, False, "acc"), _AT_CHECKPOINT),
        "acc_within": _listed(accuracies_at(t1, t2, epoch, False, "acc_within"), _WITHIN),
        "groups": groups_at(t2, epoch),
    }
    return found | (
        {"acc_task": _listed(accuracies_at(t1, t2, epoch, False, "acc_task"), _WITHIN)} if has_task(t2) else {}
    )


def _listed(accuracies: Accuracies, names: tuple[str, ...]) -> list[float | None]:
    return [getattr(accuracies, name) for name in names]


def _phases(t1: Curves, t2: Curves, field: Field) -> dict[str, Any]:
    """Accuracy on both tasks after both phases, and on T2 before it began."""
    found = phase_accuracies(t1, t2, False, field)
    return {"R": [list(row) for row in found.R], "before_T2": found.before_t2}
