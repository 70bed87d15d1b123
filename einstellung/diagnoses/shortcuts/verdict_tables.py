"""Tables behind the verdicts: reliance on every cue beside the baseline's, which decides, accuracy on twins, and every gap."""

from __future__ import annotations

from typing import Any

from einstellung.diagnoses.shortcuts.card import ShortcutsCard
from einstellung.diagnoses.shortcuts.notation import (
    both_cell,
    bounds_cell,
    describe_intervals,
    gap_head,
    images_cell,
    p_cell,
    pts,
    ratio_cell,
    spread_cell,
)
from einstellung.diagnoses.shortcuts.phase_tables import FRESH_NET
from einstellung.diagnoses.shortcuts.splits import CHANGES
from einstellung.diagnoses.shortcuts.verdict import describe_basis
from einstellung.metrics.ratios import SMALLEST_GAP
from einstellung.report.notation import DASH, number
from einstellung.report.tables import Cell, Table

_NO_BASELINE = "no baseline with the same seeds"
_THE_BASELINE = "this is the baseline"
_NO_TWINS = "no twins of this cue were measured"
_NO_FRESH = "no method is retrained from scratch in every phase, or this is that method"
_NO_TEST = "no verdict, fewer than two seeds, or no variation"
_NONE = (None, None)


def describe_losses(card: ShortcutsCard) -> str:
    """What the reliance on a cue is in this study, and what bounds it."""
    words = [f"Reliance, in points lost where a cue is uncommon, by {describe_basis(card.basis)}."]
    by = {found.by for found in card.basis.values()}
    if "twins" in by:
        words.append(
            "By twins: accuracy on test images with the cue common minus that on the same images with it swapped."
        )
    if "main effects" in by:
        words.append(
            "By main effects: accuracy where the cue is common minus where it is not, averaged over all patterns of the other "
            f"cues. {_describe_ceiling(card)}"
        )
    return " ".join(words)


def _describe_ceiling(card: ShortcutsCard) -> str:
    rule = (
        "At the ceiling: accuracy within the 95 % Wilson interval of n correct out of the n images of a pattern, where "
        "reliance cannot show"
    )
    found: dict[str, float] = {}
    for judged in card.end(card.baseline).judged.values() if card.has_baseline else ():
        found |= judged.ceiling
    named = ", ".join(f"A{pattern} {number(acc, digits=2)}" for pattern, acc in found.items())
    return f"{rule}; of {card.baseline}: {named or 'no pattern'}."


def verdict_table(card: ShortcutsCard) -> Table:
    """The reliance on every cue beside the baseline's: difference with its intervals, test, verdict."""
    rows, values = [], []
    for method, record in card.methods.items():
        compared = method != card.baseline
        why = _NO_BASELINE if compared else _THE_BASELINE
        for cue, judged in card.end(method).judged.items():
            word = record.verdict.cues.get(cue)
            difference = judged.difference if compared else None
            p = word.p_holm if word else None
            ceiling = ", ".join(f"A{pattern}" for pattern in judged.ceiling)
            rows.append(
                (
                    *map(Cell, (method, cue, judged.by)),
                    spread_cell(judged.loss, signed=False),
                    spread_cell(difference, why),
                    bounds_cell(difference, why),
                    images_cell(difference, why),
                    both_cell(difference, why),
                    p_cell(p, _NO_TEST),
                    Cell(ceiling),
                    Cell(word.name if word else record.verdict.name, word.why if word else None),
                )
            )
            found: dict[str, Any] = {"method": method, "cue": cue, "by": judged.by}
            found |= {"loss": judged.loss.mean, "sd": judged.loss.sd, "n": judged.loss.n}
            found |= _sides("loss_", judged.loss.bounds)
            found["difference"] = difference.mean if difference else None
            found |= _sides("", difference.ci95 if difference else None)
            found |= _sides("images_", difference.images95 if difference else None)
            found |= _sides("both_", difference.bounds if difference else None)
            found |= {"p": difference.p if difference else None, "p_holm": p, "ceiling": ceiling}
            found |= {"verdict": word.name if word else record.verdict.name, "why": word.why if word else None}
            values.append(found)
    intervals = ("seeds 95 %", "images 95 %", "both 95 %")
    head = (
        "method",
        "cue",
        "by",
        "points lost",
        f"minus {card.baseline}",
        *intervals,
        "p (Holm)",
        "ceiling",
        "verdict",
    )
    note = (
        f"{describe_losses(card)} Minus {card.baseline}: paired by seed; below 0, the method relies less on the cue. "
        f"Seeds: t interval. {_over_images(card)}p: paired t test over seeds (unchanged: test of equivalence), Holm's "
        "correction over the methods with a verdict, for each cue. A verdict needs a difference beyond "
        f"{pts(card.margin, signed=False)} points, the 95 % interval {describe_intervals(card)} excluding 0, p at "
        "most .05 and at least three seeds."
    )
    return Table(
        "Reliance compared with the baseline: the basis of verdicts", note, head, tuple(rows), tuple(values), words=3
    )


def _over_images(card: ShortcutsCard) -> str:
    if not card.image_resamples or card.image_clusters is None:
        return "Per-image predictions are not available for all runs, so verdicts use seeds only. "
    how = (
        "all images of a source object together"
        if card.image_clusters.by == "source object"
        else "individually within every group, because shared source objects were not recorded"
    )
    return (
        f"Images: 95 % of {card.image_resamples:,} draws of the test images with replacement, {how}, the same for all runs. "
        "Both: allowing for seeds and images, by adding the squares of the half widths. "
    )


def gap_difference_table(card: ShortcutsCard) -> Table:
    """Every gap compared with the baseline: difference with its interval, and amplification."""
    rows, values = [], []
    for method in card.methods:
        own = card.end(method).own
        compared = method != card.baseline
        why = _NO_BASELINE if compared else _THE_BASELINE
        for gap in card.gaps:
            estimate, ratio = own.gaps[gap], own.amplification[gap]
            difference = own.difference[gap] if compared else None
            rows.append(
                (
                    Cell(method),
                    Cell(gap_head(gap)),
                    spread_cell(estimate),
                    bounds_cell(estimate),
                    spread_cell(difference, why),
                    bounds_cell(difference, why),
                    images_cell(difference, why),
                    both_cell(difference, why),
                    ratio_cell(ratio, why) if compared else Cell(DASH, why),
                )
            )
            found: dict[str, Any] = {"method": method, "gap": gap, "mean": estimate.mean, "sd": estimate.sd}
            found["difference"] = difference.mean if difference else None
            found |= _sides("", difference.ci95 if difference else None)
            found |= _sides("images_", difference.images95 if difference else None)
            found |= _sides("gap_both_", estimate.bounds)
            found |= _sides("both_", difference.bounds if difference else None)
            found["amplification"] = ratio.value if compared else None
            found |= _sides("amplification_", ratio.ci95 if compared else None)
            found["n"] = estimate.n
            found["amplification_per_seed"] = ratio.per_seed.mean if compared else None
            values.append(found)
    head = (
        "method",
        "gap",
        "mean ± sd",
        "95 %",
        f"minus {card.baseline}",
        "seeds 95 %",
        "images 95 %",
        "both 95 %",
        "amplification",
    )
    note = (
        "Points. Gaps do not enter the verdict: where all other cues are common, the ceiling bounds accuracy. "
        f"Minus {card.baseline}: paired by seed; above 0 the gap is smaller. Seeds: t interval. "
        f"{_over_images(card)}Amplification: ratio of the means over the same seeds, with Fieller's 95 % interval; null unless "
        f"the gap of {card.baseline} is below {pts(-SMALLEST_GAP, digits=0)} point. "
        "Intervals are not corrected for multiple tests."
    )
    return Table("Every gap compared with the baseline", note, head, tuple(rows), tuple(values), words=2)


def _sides(name: str, bounds: tuple[float, float] | None) -> dict[str, float | None]:
    low, high = bounds or _NONE
    return {f"{name}low95": low, f"{name}high95": high}


def reliance_table(card: ShortcutsCard) -> Table:
    """The facets per cue: accuracy with the cue common, swapped and covered; what the cue is worth, and against a fresh net."""
    rows, values = [], []
    for method, record in card.methods.items():
        for phase in card.phases:
            for cue, found in record.phases[phase].reliance.items():
                if found.common.mean is None:
                    continue
                accuracies = {"common": found.common, "swapped": found.swapped, "covered": found.covered}
                worth = {"delta_swapped": found.delta_swapped, "delta_covered": found.delta_covered}
                relative = {"SFR_rel_swapped": found.SFR_rel_swapped, "SFR_rel_covered": found.SFR_rel_covered}
                rows.append(
                    (
                        *map(Cell, (method, phase, cue)),
                        *(spread_cell(estimate, _NO_TWINS, signed=False) for estimate in accuracies.values()),
                        *(spread_cell(estimate, _NO_TWINS) for estimate in worth.values()),
                        *(spread_cell(estimate, _NO_FRESH) for estimate in relative.values()),
                    )
                )
                numbers = {name: estimate.mean for name, estimate in (accuracies | worth | relative).items()}
                values.append({"method": method, "phase": phase, "cue": cue, **numbers, "images": found.images})
    worths = tuple(f"{symbol} {change}" for symbol in ("Δ", "SFR_rel") for change in CHANGES)
    head = ("method", "phase", "cue", "common", *CHANGES, *worths)
    note = (
        "Per cent and points, mean ± standard deviation over seeds. Common: test images in which the cue is common; "
        "swapped, covered: the same images with only this cue swapped or covered. Δ: common minus swapped or covered. "
        f"SFR_rel: Δ minus that of {card.scratch or FRESH_NET}, paired by seed. {_twin_images(card)}"
    )
    if card.has_turned_cues:
        note += (
            " Here, common means agreeing with the label in every phase; if Δ is below 0, the model expects the cue to "
            "disagree with it."
        )
    return Table("Reliance on every cue, by twins", note, head, tuple(rows), tuple(values), words=3)


def _twin_images(card: ShortcutsCard) -> str:
    known = {}
    for cue in card.cues:
        counts = {
            record.phases[phase].reliance[cue].images for record in card.methods.values() for phase in card.phases
        }
        if found := [count for count in counts if count is not None]:
            known[cue] = max(found)
    return "Images: " + ", ".join(f"{cue} {count:,}" for cue, count in known.items()) + "." if known else ""
