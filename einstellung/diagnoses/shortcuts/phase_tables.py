"""Tables of what happens from phase to phase: gaps, carry-over, trade, and the facets of a history."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import permutations

from einstellung.diagnoses.shortcuts.card import CarryOver, GapLeft, ShortcutsCard
from einstellung.diagnoses.shortcuts.estimates import Trade, Weighting
from einstellung.diagnoses.shortcuts.notation import (
    bounds_cell,
    describe_turned,
    gap_cell,
    gap_head,
    p_cell,
    pair_head,
    pts,
    ratio_cell,
    spread_cell,
)
from einstellung.metrics.statistics import Summary
from einstellung.report.notation import DASH, mean_sd
from einstellung.report.tables import Cell, Table

FRESH_NET = "a network retrained from scratch in every phase"
LEFT_HEADS = ("before", "left", "95 %", "share left", "minus fresh net", "p (Holm)")
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
        "Weights of ID accuracy: own, from the correlations of the phase itself; fixed, the same in all phases "
        f"({source}); all common, accuracy where every cue is common replaces ID, so a gap depends on its own cues "
        "alone."
    ]
    if card.has_turned_cues:
        turned = [describe_turned(card, phase) for phase in card.phases]
        words += [line for line in turned if line]
        words.append(
            "Own gaps, and those relative to all common in the phase, use that definition; fixed gaps use what is "
            "common where the weights come from; 'all common' means agreeing with the label in every phase, so that "
            "phases are comparable: above 0, the model expects the cue to disagree with the label."
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
                cells = [gap_cell(found.gaps[gap].mean, ratios[gap]) for gap in card.gaps]
                whole = spread_cell(found.ID, signed=False)
                rows.append((Cell(method), Cell(phase), Cell(_WEIGHTS[weighting]), whole, *cells))
                numbers = {"ID": found.ID.mean}
                for gap in card.gaps:
                    low, high = found.gaps[gap].ci95 or (None, None)
                    numbers |= {f"{gap} gap": found.gaps[gap].mean, f"{gap} low95": low, f"{gap} high95": high}
                    numbers |= {f"{gap} amplification": ratios[gap]}
                values.append({"method": method, "phase": phase, "weights": weighting, **numbers})
    note = (
        f"Per cent and points, mean over seeds. {describe_weights(card)} ×: multiple of the gap of {card.baseline} in "
        "the same phase (shown above 1). Intervals: tables/phases.csv."
    )
    head = ("method", "phase", "weights", "ID acc", *map(gap_head, card.gaps))
    return Table("Gaps at the end of every phase", note, head, tuple(rows), tuple(values), words=3)


def carry_over_table(card: ShortcutsCard) -> Table:
    """What is left of the reliance on a cue where its correlation is gone, which decides, and of its gap."""
    rows, values = [], []
    for method, record in card.methods.items():
        for entry in record.carry_over:
            where = [Cell(method), Cell(entry.cue), Cell(f"{entry.had} to {entry.phase}")]
            shown = {"method": method, "cue": entry.cue, "had": entry.had, "phase": entry.phase}
            judged = entry.judged
            carried = carried_cell(card, method, entry)
            rows.append((*where, Cell(f"by {judged.by}"), *reliance_left_cells(card, method, entry), carried))
            low, high = judged.left.ci95 or (None, None)
            values.append(
                {**shown, "measure": judged.by, "before": judged.before.mean, "left": judged.left.mean}
                | {"low95": low, "high95": high, "share": None, "n": judged.left.n}
                | {"minus_fresh": judged.minus_fresh.mean if judged.minus_fresh else None}
                | {"p": judged.p, "p_holm": judged.p_holm, "carried_over": entry.certain}
            )
            # the gap that is of this cue alone comes first
            for weighting, found in (("common", entry.common), ("own", entry.own), ("fixed", entry.fixed)):
                blank = Cell("")
                gaps = gap_left_cells(card, method, found)
                rows.append((*where, Cell(f"gap, {_WEIGHTS[weighting]}"), *gaps, blank, blank))
                low, high = found.gap.ci95 or (None, None)
                values.append(
                    {**shown, "measure": f"gap {weighting}", "before": found.gap_before.mean, "left": found.gap.mean}
                    | {"low95": low, "high95": high, "share": found.share.value, "n": found.gap.n}
                    | {"minus_fresh": found.minus_fresh.mean if found.minus_fresh else None}
                    | {"p": None, "p_holm": None, "carried_over": None}
                )
    head = ("method", "cue", "phases", "measure", *LEFT_HEADS, "carried over")
    note = (
        "Points, mean ± standard deviation over seeds. Before: at the end of the last phase in which the cue was "
        "correlated with the label; left: at the end of a phase in which it is not (.5); uncommon means uncommon "
        f"before. {describe_carried(pts(card.margin, signed=False))} Gaps, below 0 if the model relies on the cue, are "
        "listed for comparison; share left: left / before, Fieller's 95 % interval, null unless the gap before is "
        "below −1 point. " + describe_weights(card)
    )
    return Table("Carry-over: reliance that outlives its correlation", note, head, tuple(rows), tuple(values), words=4)


def describe_carried(margin: str) -> str:
    """When something is carried over for certain."""
    return (
        "By twins or main effects, as for the verdicts: points lost where the cue is uncommon; this decides. Yes: "
        f"before, the whole interval is above {margin} points; what is left is above that too with its interval above "
        f"0, and so is what is left minus what {FRESH_NET} has in that phase, if there is one, since such a network "
        "cannot carry anything over; and p is at most .05 with at least three seeds. p: paired t test against that "
        "network (without it, of what is left against 0), Holm's correction over all methods."
    )


def reliance_left_cells(card: ShortcutsCard, method: str, entry: CarryOver) -> tuple[Cell, ...]:
    """The reliance before and left with its interval, minus a fresh net's, and the corrected p."""
    judged = entry.judged
    return (
        spread_cell(judged.before, signed=False),
        spread_cell(judged.left, signed=False),
        bounds_cell(judged.left),
        Cell(""),
        spread_cell(judged.minus_fresh, _why_no_fresh(card, method)),
        p_cell(
            judged.p_holm, "no test: fewer than two seeds, no variation, or the network retrained from scratch itself"
        ),
    )


def gap_left_cells(card: ShortcutsCard, method: str, found: GapLeft) -> tuple[Cell, ...]:
    """The gap before, the gap left with its interval, the share left, and what a fresh net has subtracted."""
    return (
        spread_cell(found.gap_before),
        spread_cell(found.gap),
        bounds_cell(found.gap),
        ratio_cell(found.share, "not measured in both phases", sign=""),
        spread_cell(found.minus_fresh, _why_no_fresh(card, method)),
    )


def _why_no_fresh(card: ShortcutsCard, method: str) -> str:
    if method == card.scratch:
        return "this is the network retrained from scratch"
    if card.scratch:
        return "no seed in common with the network retrained from scratch"
    return "no method is retrained from scratch in every phase"


def carried_cell(card: ShortcutsCard, method: str, entry: CarryOver) -> Cell:
    """Whether reliance was carried over for certain, and why that is not shown."""
    if method == card.scratch:
        return Cell("fresh net")
    return Cell("yes", tone="worse") if entry.certain else Cell("not shown", entry.why)


def trade_table(card: ShortcutsCard) -> Table:
    """T of every pair of cues, between phases and against the baseline; what is certain is marked in words."""
    rows, values = [], []
    pairs = [f"{one} -> {other}" for one, other in permutations(card.cues, 2)]
    for method, record in card.methods.items():
        moves: list[tuple[str, str, Mapping[str, Trade], Mapping[str, Summary]]] = [
            (f"{entry.before} to {entry.after}", "common", entry.judged, entry.common)
            for entry in record.trade.between_phases
        ]
        if method != card.baseline:
            moves += [
                (f"{card.baseline} to it, {entry.phase}", "alone", entry.judged, entry.alone)
                for entry in record.trade.against_baseline
            ]
        for where, weighting, judged, gaps in moves:
            if all(judged[pair].mean is None and gaps[pair].mean is None for pair in pairs):
                continue
            by = judged[pairs[0]].by
            cells = [trade_cell(judged[pair]) for pair in pairs] + [_gap_trade_cell(gaps[pair]) for pair in pairs]
            rows.append((Cell(method), Cell(where), Cell(by), *cells))
            for pair in pairs:
                one = judged[pair]
                low, high = one.ci95 or (None, None)
                values.append(
                    {"method": method, "move": where, "pair": pair, "by": one.by, "T": one.mean, "low95": low}
                    | {"high95": high, "n": one.n, "p": one.p, "p_holm": one.p_holm, "trade": one.certain}
                    | {"gap_weights": weighting, "gap_T": gaps[pair].mean}
                )
    note = (
        "Points, mean over seeds and 95 % interval. T = min(decrease of reliance on the first cue, increase of "
        "reliance on the second): above 0 only if one shrank while the other grew; 'trade' if T is above "
        f"{pts(card.margin, signed=False)} points, its whole interval above 0, and p (t test, Holm's correction over "
        "methods) at most .05 with at least three seeds. By: twins, or main effects over all patterns. From phase to "
        "phase, common means agreeing with the label; from the baseline to the method, common in that phase. Gaps: T "
        "of the gaps relative to the pattern in which all cues are common; it does not enter the verdict."
    )
    head = ("method", "move", "by", *map(pair_head, pairs), *(f"gaps: {pair_head(pair)}" for pair in pairs))
    return Table("Trade: one reliance shrinks, another grows", note, head, tuple(rows), tuple(values), words=3)


def trade_cell(found: Trade, *, bounds: bool = True) -> Cell:
    """T with its interval; the word where it is certain."""
    if found.mean is None:
        return Cell(DASH, "not measured in both, or no seed in common with the baseline")
    words = pts(found.mean)
    if bounds and found.ci95 is None:
        return Cell(words, "n = 1: no interval")
    if bounds and found.ci95 is not None:
        words += f" [{pts(found.ci95[0])}, {pts(found.ci95[1])}]"
    return Cell(f"{words} trade", tone="worse") if found.certain else Cell(words)


def _gap_trade_cell(found: Summary) -> Cell:
    return Cell(DASH, "a group was not measured") if found.mean is None else Cell(pts(found.mean))


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
    return Table("Cost of the training history: AD and PD", note, head, tuple(rows), tuple(values), words=2)
