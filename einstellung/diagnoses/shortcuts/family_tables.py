"""Tables over all studies of a family of several shortcuts: what they are, how they end, carry-over and trade."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import permutations

from einstellung.diagnoses.shortcuts.card import ShortcutsCard, Trade
from einstellung.diagnoses.shortcuts.notation import (
    CUE_HEADS,
    NOT_MEASURED,
    describe_card_seeds,
    describe_finals,
    describe_turned,
    gap_cell,
    gap_head,
    pair_head,
    pts,
)
from einstellung.diagnoses.shortcuts.phase_tables import FRESH_NET, MINUS_FRESH, carried_cell, gap_left_cells
from einstellung.report.notation import DASH, join, per_cent
from einstellung.report.tables import Cell, Table

Cards = Mapping[str, ShortcutsCard]
_OTHER_CUES = "this study has other cues"
_ONE_PHASE = "there is one phase only"
_UNCOMPARED = "it is the baseline, or has no seed in common with it"
_UNKNOWN = Trade(None, None, 0, None, "none", certain=False)


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
        return f"{next(iter(where)):,} test images a pattern"
    counts = ["not recorded" if count is None else f"{count:,}" for count in where]
    parts = [f"{count} in {join(names)}" for count, names in zip(counts, where.values(), strict=True)]
    return f"test images a pattern: {', '.join(parts)}"


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
        count = Cell(DASH, "not recorded, or uneven") if images is None else Cell(f"{images:,}")
        rows.append((Cell(name), Cell(words[0]), Cell(str(len(card.methods))), Cell(words[1]), count, Cell(words[2])))
        values.append(
            {"study": name, "correlations": words[0], "methods": len(card.methods), "seeds": words[1]}
            | {"images_pattern": images, "epoch": card.final, "baseline": card.baseline, "margin": card.margin}
        )
    return Table(
        "The studies",
        "Correlations: the share of a phase's training images in which each cue goes with the label. Images: in the balanced "
        "test, of every pattern of cues that do and do not.",
        ("study", "correlations", "methods", "seeds", "images a pattern", "epoch that counts"),
        tuple(rows),
        tuple(values),
        words=2,
    )


def last_phase_table(cards: Cards) -> Table:
    """ID accuracy, every gap, the worst group and the verdict of every method at the end of every study."""
    gaps = list(dict.fromkeys(gap for card in cards.values() for gap in card.gaps))
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
                judged = record.verdict.gaps.get(gap)
                cells.append(
                    Cell(DASH, _OTHER_CUES)
                    if estimate is None
                    else gap_cell(estimate.mean, ratio, judged.name if judged else None)
                )
            whole = Cell(per_cent(own.ID, spread=False), None if own.ID.mean is not None else NOT_MEASURED)
            worst, verdict = Cell(per_cent(end.worst_group, spread=False)), record.verdict.name
            rows.append((Cell(name), Cell(method), whole, *cells, worst, Cell(str(record.n_seeds)), Cell(verdict)))
            values.append(
                {"study": name, "method": method, "phase": card.last, "ID": own.ID.mean, **numbers}
                | {"worst_group": end.worst_group.mean, "n_seeds": record.n_seeds}
                | {"images_pattern": card.images.pattern, "verdict": verdict}
            )
    head = ("study", "method", "ID acc", *map(gap_head, gaps), "worst group", "seeds", "verdict")
    return Table(
        "All studies at the end of their last phase", _last_note(cards), head, tuple(rows), tuple(values), words=2
    )


def _last_note(cards: Cards) -> str:
    words = [
        f"Per cent and points, mean over seeds; {describe_images(cards)}. ID: accuracy on patterns weighted as in the training "
        "images of the last phase. Gap: accuracy where just these cues are uncommon, minus ID. ×: the gap is so many times that "
        f"of {_baselines(cards)} in the same study (shown above 1); ↑: amplified, and the 95 % intervals agree. "
        "Intervals: tables/last_phase.csv."
    ]
    words += [f"{name}: {turned}" for name, card in cards.items() if (turned := describe_turned(card, card.last))]
    return " ".join(words)


def carry_over_table(cards: Cards) -> Table:
    """Gaps that are left where their correlation is gone, each of one cue alone."""
    rows, values = [], []
    for name, card in cards.items():
        for method, record in card.methods.items():
            for entry in record.carry_over:
                found, carried = entry.common, carried_cell(card, method, entry)
                rows.append(
                    (
                        *map(Cell, (name, method, entry.cue, f"{entry.had} to {entry.phase}")),
                        *gap_left_cells(card, method, found),
                        Cell(str(found.gap.n)),
                        carried,
                    )
                )
                low, high = found.gap.ci95 or (None, None)
                values.append(
                    {"study": name, "method": method, "cue": entry.cue, "had": entry.had, "phase": entry.phase}
                    | {"gap_before": found.gap_before.mean, "gap": found.gap.mean, "low95": low}
                    | {"high95": high, "share": found.share.value, "n": found.gap.n}
                    | {"minus_fresh": found.minus_fresh.mean if found.minus_fresh else None}
                    | {"carried_over": carried.text}
                )
    note = (
        "Points, mean ± standard deviation over seeds, from the pattern in which all cues are common, so that a gap is of its "
        f"own cue alone; {describe_images(cards)}. Before: at the end of the last phase in which the cue had a correlation with "
        "the label; left: at the end of a phase in which it has none (.5). Share left: left / before, Fieller's 95 % interval. "
        f"Yes: the whole interval of the gap before is below {_margins(cards, -1)} points, and the gap left is below that too "
        f"with its interval below 0, and so is what is left minus what {FRESH_NET} has in that phase, if there is one: "
        "it carries nothing over, and its gap needs no history."
    )
    shown = ("gap before", "gap left", "95 %", "share left", MINUS_FRESH, "seeds", "carried over")
    head = ("study", "method", "cue", "phases", *shown)
    return Table("Carry-over: gaps that outlive their correlation", note, head, tuple(rows), tuple(values), words=4)


def trade_table(cards: Cards) -> Table:
    """T of every pair of cues, from phase to phase, and from the baseline to the method in the later of both."""
    pairs = list(dict.fromkeys(pair for card in cards.values() for pair in _pairs(card)))
    rows, values = [], []
    for name, card in cards.items():
        for method, record in card.methods.items():
            between = {entry.after: entry for entry in record.trade.between_phases}
            against = {entry.phase: entry.alone for entry in record.trade.against_baseline}
            for phase in (between or against) if _pairs(card) else ():
                before = between[phase].before if between else None
                moved: Mapping[str, Trade] = between[phase].common if between else {}
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
                            | {"T": estimate.mean, "low95": low, "high95": high, "n": estimate.n}
                            | {"trade": estimate.certain}
                        )
    note = (
        f"Points, mean over seeds; {describe_images(cards)}. T = min(what the first cue's gap shrank by, what the second's grew "
        f"by): above 0 only if one shrank while the other grew; 'trade' where T is above {_margins(cards, 1)} points and the "
        "whole 95 % interval over seeds above 0; never from phase to phase in a net that starts fresh. Gaps are measured from "
        "the pattern in which all cues are common: from phase to phase, all with the label; from the baseline to the method "
        "(vs), at the end of the later phase, as is common in it. Intervals: tables/trade.csv."
    )
    heads = [pair_head(pair) for pair in pairs]
    head = ("study", "method", "phases", *heads, *(f"vs {_baselines(cards)}: {pair}" for pair in heads), "seeds")
    return Table("Trade: one gap shrinks, another grows", note, head, tuple(rows), tuple(values), words=3)


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
    if estimate.mean is None:
        return Cell(DASH, why)
    mean = pts(estimate.mean)
    return Cell(f"{mean} trade", tone="worse") if estimate.certain else Cell(mean)
