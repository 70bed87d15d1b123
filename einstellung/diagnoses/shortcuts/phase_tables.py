"""Tables of what happens from phase to phase: gaps, carry-over, trade, the facets of a history, and reliance on every cue."""

from __future__ import annotations

from itertools import permutations

from einstellung.diagnoses.shortcuts.card import CarryOver, GapLeft, ShortcutsCard, Trade, Weighting
from einstellung.diagnoses.shortcuts.notation import (
    bounds_cell,
    describe_turned,
    gap_cell,
    gap_head,
    pair_head,
    pts,
    ratio_cell,
    spread_cell,
)
from einstellung.diagnoses.shortcuts.splits import CHANGES
from einstellung.report.notation import DASH, mean_sd
from einstellung.report.tables import Cell, Table

MINUS_FRESH, FRESH_NET = "minus fresh net", "a net that starts fresh in every phase"
_NO_TWINS = "no twins of this cue were measured"
_NO_FRESH = "no method that starts fresh in every phase, or it is that method"
_WEIGHTS = {"own": "own", "fixed": "fixed", "common": "all common", "alone": "all common in the phase"}


def phase_tables(card: ShortcutsCard) -> dict[str, Table]:
    """The tables of phases; a study of one phase has a trade against the baseline at most."""
    tables = {"trade": trade_table(card)} if len(card.cues) > 1 else {}
    if len(card.phases) == 1:
        return tables
    return {
        "phases": phase_table(card),
        "carry_over": carry_over_table(card),
        **tables,
        "history": history_table(card),
    }


def weightings_of(card: ShortcutsCard) -> tuple[Weighting, ...]:
    """The weightings that differ: without a turned cue, what is common in a phase is common in all."""
    return ("own", "fixed", "common", "alone") if card.has_turned_cues else ("own", "fixed", "common")


def describe_weights(card: ShortcutsCard) -> str:
    """What the weightings are, and where common is not what goes with the label."""
    fixed = card.fixed_weights
    source = "none" if fixed is None else "given" if fixed.source == "given" else f"those of {fixed.source}"
    words = [
        f"Weights of ID accuracy: own, from the correlations of the phase itself; fixed, the same in all phases ({source}); all "
        "common, accuracy where every cue is common stands for ID, so that a gap is of its own cues alone."
    ]
    if card.has_turned_cues:
        turned = [describe_turned(card, phase) for phase in card.phases]
        words += [line for line in turned if line]
        words.append(
            "Own gaps, and those from all common in the phase, go by that; fixed ones by what is common where the weights come "
            "from; 'all common' goes with the label in every phase, so that phases can be compared: above 0, the model expects "
            "the cue to go against the label."
        )
    return " ".join(words)


def phase_table(card: ShortcutsCard) -> Table:
    """ID accuracy and every gap at the end of every phase, in all weightings."""
    rows, values = [], []
    for method, record in card.methods.items():
        compared = method != card.baseline
        for phase in card.phases:
            for weighting in weightings_of(card):
                found = record.phases[phase].measured_from(weighting)
                ratios = {gap: found.amplification[gap].value if compared else None for gap in card.gaps}
                cells = [gap_cell(found.gaps[gap].mean, ratios[gap], None) for gap in card.gaps]
                whole = spread_cell(found.ID, signed=False)
                rows.append((Cell(method), Cell(phase), Cell(_WEIGHTS[weighting]), whole, *cells))
                numbers = {"ID": found.ID.mean}
                for gap in card.gaps:
                    low, high = found.gaps[gap].ci95 or (None, None)
                    numbers |= {f"{gap} gap": found.gaps[gap].mean, f"{gap} low95": low, f"{gap} high95": high}
                    numbers |= {f"{gap} amplification": ratios[gap]}
                values.append({"method": method, "phase": phase, "weights": weighting, **numbers})
    note = (
        f"Per cent and points, mean over seeds. {describe_weights(card)} ×: so many times the gap of {card.baseline} in the "
        "same phase (shown above 1). Intervals: tables/phases.csv."
    )
    head = ("method", "phase", "weights", "ID acc", *map(gap_head, card.gaps))
    return Table("Gaps at the end of every phase", note, head, tuple(rows), tuple(values), words=3)


def carry_over_table(card: ShortcutsCard) -> Table:
    """Gaps that are left where their correlation is gone."""
    rows, values = [], []
    for method, record in card.methods.items():
        for entry in record.carry_over:
            # the one that is of this cue alone comes first
            for weighting, found in (("common", entry.common), ("own", entry.own), ("fixed", entry.fixed)):
                judged = weighting == "common"
                rows.append(
                    (
                        Cell(method),
                        Cell(entry.cue),
                        Cell(f"{entry.had} to {entry.phase}"),
                        Cell(_WEIGHTS[weighting]),
                        *gap_left_cells(card, method, found),
                        carried_cell(card, method, entry) if judged else Cell(""),
                    )
                )
                low, high = found.gap.ci95 or (None, None)
                values.append(
                    {"method": method, "cue": entry.cue, "had": entry.had, "phase": entry.phase}
                    | {"weights": weighting, "gap_before": found.gap_before.mean, "gap": found.gap.mean}
                    | {"low95": low, "high95": high, "share": found.share.value, "n": found.gap.n}
                    | {"minus_fresh": found.minus_fresh.mean if found.minus_fresh else None}
                    | {"carried_over": entry.certain if judged else None}
                )
    shown = ("gap before", "gap left", "95 %", "share left", MINUS_FRESH, "carried over")
    head = ("method", "cue", "phases", "weights", *shown)
    note = (
        "Points, mean ± standard deviation over seeds. Before: at the end of the last phase in which the cue had a correlation "
        "with the label; left: at the end of a phase in which it has none (.5); uncommon is what was uncommon before. Share "
        "left: left / before, Fieller's 95 % interval, null unless the gap before is below −1 point. Carried over, judged from "
        f"all common: yes, if the whole interval of the gap before is below {pts(-card.margin)} points, and the gap left is "
        f"below that too with its interval below 0, and so is what is left minus what {FRESH_NET} has in that phase, if there is "
        "one: it carries nothing over, and the gap that it has needs no history. " + describe_weights(card)
    )
    return Table("Carry-over: gaps that outlive their correlation", note, head, tuple(rows), tuple(values), words=4)


def gap_left_cells(card: ShortcutsCard, method: str, found: GapLeft) -> tuple[Cell, ...]:
    """The gap before, the gap left with its interval, the share left, and what a fresh net has subtracted."""
    if method == card.scratch:
        why_not = "this is the net that starts fresh"
    else:
        why_not = "no seed in common with the fresh net" if card.scratch else "no method starts fresh in every phase"
    return (
        spread_cell(found.gap_before),
        spread_cell(found.gap),
        bounds_cell(found.gap),
        ratio_cell(found.share, "not measured in both phases", sign=""),
        spread_cell(found.minus_fresh, why_not),
    )


def carried_cell(card: ShortcutsCard, method: str, entry: CarryOver) -> Cell:
    """Whether a gap was carried over for certain."""
    if method == card.scratch:
        return Cell("fresh net")
    return Cell("yes", tone="worse") if entry.certain else Cell("not shown")


def trade_table(card: ShortcutsCard) -> Table:
    """T of every pair of cues, between phases and against the baseline; one that the interval confirms is marked in words."""
    rows, values = [], []
    pairs = [f"{one} -> {other}" for one, other in permutations(card.cues, 2)]
    for method, record in card.methods.items():
        moves = [(f"{entry.before} to {entry.after}", "common", entry.common) for entry in record.trade.between_phases]
        if method != card.baseline:
            against = record.trade.against_baseline
            moves += [(f"{card.baseline} to it, {entry.phase}", "alone", entry.alone) for entry in against]
        for where, weighting, found in moves:
            if all(found[pair].mean is None for pair in pairs):
                continue
            rows.append((Cell(method), Cell(where), *(_trade_cell(found[pair]) for pair in pairs)))
            for pair in pairs:
                low, high = found[pair].ci95 or (None, None)
                numbers = {"T": found[pair].mean, "low95": low, "high95": high, "n": found[pair].n}
                numbers |= {"trade": found[pair].certain}
                values.append({"method": method, "move": where, "pair": pair, "weights": weighting, **numbers})
    note = (
        "Points, mean over seeds and 95 % interval. T = min(what the first cue's gap shrank by, what the second's grew by): "
        f"above 0 only if one shrank while the other grew; 'trade' where T is above {pts(card.margin, signed=False)} points "
        "and its whole interval above 0. Gaps are measured from the pattern in which all cues are common, so that each is of its "
        "own cue alone: from phase to phase, all with the label; from the baseline to the method, as is common in that phase."
    )
    head = ("method", "move", *(pair_head(pair) for pair in pairs))
    return Table("Trade: one gap shrinks, another grows", note, head, tuple(rows), tuple(values), words=2)


def _trade_cell(found: Trade) -> Cell:
    """T with its interval; the word where it is beyond the margin and the interval agrees."""
    if found.mean is None:
        return Cell(DASH, "not measured in both, or no seed in common with the baseline")
    if found.ci95 is None:
        return Cell(pts(found.mean), "n = 1: no interval")
    low, high = found.ci95
    words = f"{pts(found.mean)} [{pts(low)}, {pts(high)}]"
    return Cell(f"{words} trade", tone="worse") if found.certain else Cell(words)


def history_table(card: ShortcutsCard) -> Table:
    """AD and PD of every phase against the net that starts fresh."""
    rows, values = [], []
    for method, record in card.methods.items():
        for phase in card.phases[1:]:
            if card.scratch is None or method == card.scratch:
                continue
            facets = record.phases[phase].facets
            found = {"AD": facets.AD, "PD": facets.PD}
            cells = [Cell(mean_sd(name, estimate), facets.why.get(name)) for name, estimate in found.items()]
            rows.append((Cell(method), Cell(phase), *cells))
            values.append({"method": method, "phase": phase, **{name: one.mean for name, one in found.items()}})
    note = (
        f"Mean ± standard deviation over seeds, against {card.scratch}, paired by seed. AD: effective epochs until ID "
        f"accuracy reaches τ = {card.tau:g}, minus those of {card.scratch}; PD: ID accuracy of {card.scratch} at "
        "the end of the phase minus the method's; both with the phase's own weights."
    )
    head = ("method", "phase", "AD", "PD")
    return Table("What a history costs: AD and PD", note, head, tuple(rows), tuple(values), words=2)


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
        "Per cent and points, mean ± standard deviation over seeds. Common: test images in which the cue is common; swapped, "
        "covered: the very same with this cue alone swapped or covered. Δ: common minus that. SFR_rel: Δ minus that of "
        f"{card.scratch or FRESH_NET}, paired by seed. {_twin_images(card)}"
    )
    if card.has_turned_cues:
        note += (
            " Common means here, in every phase: with the label; Δ below 0, the model expects the cue to go against it."
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
