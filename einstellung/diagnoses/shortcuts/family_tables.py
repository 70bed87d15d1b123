"""Tables over all studies of a family of several shortcuts: what they are, how they end, carry-over and trade."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import permutations

from einstellung.diagnoses.shortcuts.card import ShortcutsCard
from einstellung.diagnoses.shortcuts.estimates import Trade
from einstellung.diagnoses.shortcuts.notation import (
    CUE_HEADS,
    NOT_MEASURED,
    describe_card_seeds,
    describe_finals,
    describe_turned,
    gap_cell,
    gap_head,
    loss_cell,
    pair_head,
    pts,
)
from einstellung.diagnoses.shortcuts.phase_tables import (
    carried_cell,
    describe_carried,
    gap_left_cells,
    reliance_left_cells,
    trade_cell,
)
from einstellung.diagnoses.shortcuts.verdict import describe_basis
from einstellung.prose import join
from einstellung.report.notation import DASH, per_cent
from einstellung.report.tables import Cell, Table

Cards = Mapping[str, ShortcutsCard]
_OTHER_CUES = "this study has different cues"
_ONE_PHASE = "there is only one phase"
_UNCOMPARED = "this is the baseline, or it has no seed in common with it"
_UNKNOWN = Trade(None, None, 0, None, "none", by="main effects", certain=False)


def family_tables(cards: Cards) -> dict[str, Table]:
    """Every table that the data allow, by its file name."""
    tables = {
        "last_phase": last_phase_table(cards),
        "carry_over": carry_over_table(cards),
        "trade": trade_table(cards),
        "studies": studies_table(cards),
    }
    return {name: table for name, table in tables.items() if table.rows}


def describe_images(cards: Cards) -> str:
    """How many test images there are of every pattern."""
    where: dict[int | None, list[str]] = {}
    for name, card in cards.items():
        where.setdefault(card.images.pattern, []).append(name)
    if len(where) == 1 and None not in where:
        return f"{next(iter(where)):,} test images per pattern"
    counts = ["not recorded" if count is None else f"{count:,}" for count in where]
    parts = [f"{count} in {join(names)}" for count, names in zip(counts, where.values(), strict=True)]
    return f"test images per pattern: {', '.join(parts)}"


def describe_bases(cards: Cards) -> str:
    """What the verdicts of the studies rest on."""
    where: dict[str, list[str]] = {}
    for name, card in cards.items():
        where.setdefault(describe_basis(card.basis), []).append(name)
    if len(where) == 1:
        return next(iter(where))
    return "; ".join(f"{by} in {join(names)}" for by, names in where.items())


def describe_correlations(card: ShortcutsCard) -> str:
    """The share of images in which a cue goes with the label, phase by phase."""
    heads = [CUE_HEADS.get(cue, cue) for cue in card.cues]
    phases = [
        f"{phase}: {', '.join(f'{head} {rho:g}' for head, rho in zip(heads, found, strict=True))}"
        for phase, found in card.correlations.items()
    ]
    return "; ".join(phases) or "not known"


def studies_table(cards: Cards) -> Table:
    """What every study is, and what its numbers rest on."""
    rows, values = [], []
    for name, card in cards.items():
        images = card.images.pattern
        words = (describe_correlations(card), describe_card_seeds(card), describe_finals(card))
        count = Cell(DASH, "not recorded, or unequal") if images is None else Cell(f"{images:,}")
        rows.append((Cell(name), Cell(words[0]), Cell(str(len(card.methods))), Cell(words[1]), count, Cell(words[2])))
        values.append(
            {"study": name, "correlations": words[0], "methods": len(card.methods), "seeds": words[1]}
            | {"images_pattern": images, "epoch": card.final, "baseline": card.baseline, "margin": card.margin}
        )
    return Table(
        "The studies",
        "Correlations: the share of a phase's training images in which each cue agrees with the label. Images: per "
        "pattern of agreeing and disagreeing cues, in the balanced test set.",
        ("study", "correlations", "methods", "seeds", "images a pattern", "epoch that counts"),
        tuple(rows),
        tuple(values),
        words=2,
    )


def last_phase_table(cards: Cards) -> Table:
    """ID accuracy, every gap, the worst group and the verdict of every method at the end of every study."""
    gaps = list(dict.fromkeys(gap for card in cards.values() for gap in card.gaps))
    cues = list(dict.fromkeys(cue for card in cards.values() for cue in card.cues))
    rows, values = [], []
    for name, card in cards.items():
        for method, record in card.methods.items():
            end = card.end(method)
            own, compared = end.own, method != card.baseline
            numbers: dict[str, float | None] = {}
            cells = []
            for gap in gaps:
                estimate = own.gaps.get(gap)
                ratio = own.amplification[gap].value if estimate is not None and compared else None
                low, high = (estimate.ci95 if estimate is not None else None) or (None, None)
                numbers |= {f"{gap} gap": estimate.mean if estimate is not None else None}
                numbers |= {f"{gap} low95": low, f"{gap} high95": high, f"{gap} amplification": ratio}
                cells.append(Cell(DASH, _OTHER_CUES) if estimate is None else gap_cell(estimate.mean, ratio))
            losses = []
            for cue in cues:
                judged, word = end.judged.get(cue), record.verdict.cues.get(cue)
                numbers |= {f"{cue} reliance": judged.loss.mean if judged else None}
                losses.append(
                    loss_cell(judged.loss.mean, word.name if word else None) if judged else Cell(DASH, _OTHER_CUES)
                )
            whole = Cell(per_cent(own.ID, spread=False), None if own.ID.mean is not None else NOT_MEASURED)
            worst, verdict = Cell(per_cent(end.worst_group, spread=False)), record.verdict.name
            seeds = Cell(str(record.n_seeds))
            rows.append((Cell(name), Cell(method), whole, *losses, *cells, worst, seeds, Cell(verdict)))
            values.append(
                {"study": name, "method": method, "phase": card.last, "ID": own.ID.mean, **numbers}
                | {"worst_group": end.worst_group.mean, "n_seeds": record.n_seeds}
                | {"images_pattern": card.images.pattern, "verdict": verdict}
            )
    heads = [f"{CUE_HEADS.get(cue, cue)} reliance" for cue in cues]
    head = ("study", "method", "ID acc", *heads, *map(gap_head, gaps), "worst group", "seeds", "verdict")
    return Table(
        "All studies at the end of their last phase", _last_note(cards), head, tuple(rows), tuple(values), words=2
    )


def _last_note(cards: Cards) -> str:
    words = [
        f"Per cent and points, mean over seeds; {describe_images(cards)}. ID: accuracy on patterns weighted as in the "
        "training images of the last phase. Reliance: points lost where the cue is uncommon, by "
        f"{describe_bases(cards)}; ↑, ↓: conclusively higher or lower than {_baselines(cards)}; the basis of verdicts. "
        "Gap: accuracy where only these cues are uncommon, minus ID; it does not enter the verdict; ×: multiple of the "
        f"gap of {_baselines(cards)} in the same study (shown above 1). Intervals: tables/last_phase.csv."
    ]
    words += [f"{name}: {turned}" for name, card in cards.items() if (turned := describe_turned(card, card.last))]
    return " ".join(words)


def carry_over_table(cards: Cards) -> Table:
    """What is left of the reliance on a cue where its correlation is gone, and of its gap, from all cues common."""
    rows, values = [], []
    for name, card in cards.items():
        for method, record in card.methods.items():
            for entry in record.carry_over:
                judged, carried = entry.judged, carried_cell(card, method, entry)
                before, left, bounds, _, minus_fresh, p = reliance_left_cells(card, method, entry)
                gap = gap_left_cells(card, method, entry.common)[1]
                rows.append(
                    (
                        *map(Cell, (name, method, entry.cue, f"{entry.had} to {entry.phase}", judged.by)),
                        *(before, left, bounds, minus_fresh, p, gap, Cell(str(judged.left.n)), carried),
                    )
                )
                low, high = judged.left.ci95 or (None, None)
                values.append(
                    {"study": name, "method": method, "cue": entry.cue, "had": entry.had, "phase": entry.phase}
                    | {"by": judged.by, "before": judged.before.mean, "left": judged.left.mean, "low95": low}
                    | {"high95": high, "n": judged.left.n}
                    | {"minus_fresh": judged.minus_fresh.mean if judged.minus_fresh else None}
                    | {"p": judged.p, "p_holm": judged.p_holm, "gap_before": entry.common.gap_before.mean}
                    | {"gap": entry.common.gap.mean, "share": entry.common.share.value, "carried_over": carried.text}
                )
    note = (
        f"Points, mean ± standard deviation over seeds; {describe_images(cards)}. Before: at the end of the last phase "
        "in which the cue was correlated with the label; left: at the end of a phase in which it is not (.5). "
        f"{describe_carried(_margins(cards, 1))} Gap left: relative to the pattern in which all cues are common; it "
        "does not enter the verdict."
    )
    shown = ("before", "left", "95 %", "minus fresh net", "p (Holm)", "gap left", "seeds", "carried over")
    head = ("study", "method", "cue", "phases", "by", *shown)
    return Table("Carry-over: reliance that outlives its correlation", note, head, tuple(rows), tuple(values), words=5)


def trade_table(cards: Cards) -> Table:
    """T of every pair of cues, from phase to phase, and from the baseline to the method in the later of both."""
    pairs = list(dict.fromkeys(pair for card in cards.values() for pair in _pairs(card)))
    rows, values = [], []
    for name, card in cards.items():
        for method, record in card.methods.items():
            between = {entry.after: entry for entry in record.trade.between_phases}
            against = {entry.phase: entry.judged for entry in record.trade.against_baseline}
            for phase in (between or against) if _pairs(card) else ():
                before = between[phase].before if between else None
                moved: Mapping[str, Trade] = between[phase].judged if between else {}
                moves = {
                    "phases": (moved, "not measured in both phases" if between else _ONE_PHASE),
                    "baseline": (against[phase], _UNCOMPARED),
                }
                cells = [_trade(card, pair, *found) for found in moves.values() for pair in pairs]
                where = f"{before} to {phase}" if before else phase
                rows.append((Cell(name), Cell(method), Cell(where), *cells, Cell(str(record.n_seeds))))
                for move, (found, _) in moves.items():
                    for pair in _pairs(card):
                        estimate = found.get(pair, _UNKNOWN)
                        low, high = estimate.ci95 or (None, None)
                        values.append(
                            {"study": name, "method": method, "from": before if move == "phases" else card.baseline}
                            | {"to": phase if move == "phases" else method, "phase": phase, "pair": pair}
                            | {"by": estimate.by, "T": estimate.mean, "low95": low, "high95": high, "n": estimate.n}
                            | {"p": estimate.p, "p_holm": estimate.p_holm, "trade": estimate.certain}
                        )
    note = (
        f"Points, mean over seeds; {describe_images(cards)}. T = min(decrease of reliance on the first cue, increase of "
        f"reliance on the second), by {describe_bases(cards)}: above 0 only if one shrank while the other grew; 'trade' "
        f"if T is above {_margins(cards, 1)} points, the whole 95 % interval over seeds above 0, and p at most .05 "
        "after Holm's correction over methods, with at least three seeds; never from phase to phase in a network "
        "retrained from scratch. From phase to phase, common means agreeing with the label; from the baseline to the "
        "method (vs), at the end of the later phase, common in that phase. Intervals and p: tables/trade.csv."
    )
    heads = [pair_head(pair) for pair in pairs]
    head = ("study", "method", "phases", *heads, *(f"vs {_baselines(cards)}: {pair}" for pair in heads), "seeds")
    return Table("Trade: one reliance shrinks, another grows", note, head, tuple(rows), tuple(values), words=3)


def _margins(cards: Cards, sign: int) -> str:
    """The margin of the studies, or those that they have."""
    distinct = dict.fromkeys(pts(sign * card.margin, signed=sign < 0) for card in cards.values())
    return " or ".join(distinct)


def _pairs(card: ShortcutsCard) -> list[str]:
    return [f"{one} -> {other}" for one, other in permutations(card.cues, 2)]


def _baselines(cards: Cards) -> str:
    names = dict.fromkeys(card.baseline for card in cards.values())
    return next(iter(names)) if len(names) == 1 else "the baseline"


def _trade(card: ShortcutsCard, pair: str, found: Mapping[str, Trade], why: str) -> Cell:
    if pair not in _pairs(card):
        return Cell(DASH, _OTHER_CUES)
    estimate = found.get(pair, _UNKNOWN)
    return Cell(DASH, why) if estimate.mean is None else trade_cell(estimate, bounds=False)
