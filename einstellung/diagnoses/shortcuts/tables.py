"""Tables of a study of several shortcuts at its end: the paper's Table 3, and what reliance and gaps are made of."""

from __future__ import annotations

from einstellung.diagnoses.shortcuts.card import PublishedGaps, ShortcutsCard
from einstellung.diagnoses.shortcuts.notation import (
    NOT_MEASURED,
    describe_final,
    describe_turned,
    gap_cell,
    gap_head,
    loss_cell,
    loss_head,
    pts,
    spread_cell,
)
from einstellung.diagnoses.shortcuts.phase_tables import phase_tables
from einstellung.diagnoses.shortcuts.splits import describe_pattern
from einstellung.diagnoses.shortcuts.verdict_tables import (
    describe_losses,
    gap_difference_table,
    reliance_table,
    verdict_table,
)
from einstellung.metrics.ratios import amplification
from einstellung.prose import join
from einstellung.report.notation import DASH, number, per_cent
from einstellung.report.tables import Cell, Table

_NOT_IN_PAPER = "not in the paper"


def make_tables(card: ShortcutsCard) -> dict[str, Table]:
    """Every table that the data allow, by its file name."""
    tables = {
        "table3": gap_table(card),
        "verdicts": verdict_table(card),
        "gap_differences": gap_difference_table(card),
        "groups": group_table(card),
        "preference": preference_table(card),
        "reliance": reliance_table(card),
        **phase_tables(card),
        "seeds": seed_table(card),
    }
    return {name: table for name, table in tables.items() if table.rows}


def gap_cells(card: ShortcutsCard, method: str) -> list[Cell]:
    """Every gap of a method at the end, amplification marked."""
    own, compared = card.end(method).own, method != card.baseline
    return [gap_cell(own.gaps[gap].mean, own.amplification[gap].value if compared else None) for gap in card.gaps]


def loss_cells(card: ShortcutsCard, method: str) -> list[Cell]:
    """The reliance of a method on every cue at the end; what is certain against the baseline is marked."""
    judged, words = card.end(method).judged, card.methods[method].verdict.cues
    return [loss_cell(judged[cue].loss.mean, words[cue].name if cue in words else None) for cue in card.cues]


def gap_table(card: ShortcutsCard) -> Table:
    """The paper's Table 3: ID accuracy and every gap, amplification marked; below a method, what the paper reports."""
    rows, values = [], []
    for method, record in card.methods.items():
        end = card.end(method)
        own = end.own
        whole = Cell(per_cent(own.ID, spread=False), None if own.ID.mean is not None else NOT_MEASURED)
        worst = Cell(per_cent(end.worst_group, spread=False))
        seeds, verdict = Cell(str(record.n_seeds)), Cell(record.verdict.name)
        losses = loss_cells(card, method)
        rows.append((Cell(method), Cell("measured"), whole, *losses, *gap_cells(card, method), worst, seeds, verdict))
        factors = {gap: own.amplification[gap].value if method != card.baseline else None for gap in card.gaps}
        values.append(
            {"method": method, "source": "measured", "ID": own.ID.mean}
            | {f"{cue} reliance": end.judged[cue].loss.mean for cue in card.cues}
            | {f"{gap} gap": own.gaps[gap].mean for gap in card.gaps}
            | {f"{gap} amplification": factor for gap, factor in factors.items()}
            | {"worst_group": end.worst_group.mean, "n_seeds": record.n_seeds, "verdict": record.verdict.name}
        )
        if printed := card.reported.methods.get(method):
            rows.append(_reported_row(card, method, printed))
            values.append({**dict.fromkeys(values[-1]), "method": method, "source": "reported", "ID": printed.ID})
            values[-1] |= {f"{gap} gap": printed.gaps.get(gap) for gap in card.gaps}
    reliances = [loss_head(card, cue) for cue in card.cues]
    head = ("method", "source", "ID acc", *reliances, *map(gap_head, card.gaps), "worst group", "seeds", "verdict")
    return Table("Table 3: ID accuracy, reliance and gaps", _gap_note(card), head, tuple(rows), tuple(values), words=2)


def _reported_row(card: ShortcutsCard, method: str, printed: PublishedGaps) -> tuple[Cell, ...]:
    base = card.reported.methods.get(card.baseline)
    cells = []
    for gap in card.gaps:
        value = printed.gaps.get(gap)
        ratio = amplification(value, base.gaps.get(gap)) if base and method != card.baseline else None
        cells.append(gap_cell(value, ratio, _NOT_IN_PAPER))
    blank = Cell(DASH, _NOT_IN_PAPER)
    whole, losses = Cell(number(100 * printed.ID, digits=1)), [blank] * len(card.cues)
    return (Cell(method), Cell("reported"), whole, *losses, *cells, blank, blank, Cell(""))


def _gap_note(card: ShortcutsCard) -> str:
    images = card.images.pattern
    of = f"{images:,} test images per pattern" if images else "number of test images not recorded"
    words = [
        f"Per cent and points, mean over seeds, at the end of {card.last} ({describe_final(card)}); {of}. ID: accuracy "
        f"on patterns weighted as in training. {describe_losses(card)} ↑, ↓: conclusively higher or lower than "
        f"{card.baseline}; verdicts use these columns. Gap: accuracy where only these cues are uncommon, minus ID; ×: "
        f"multiple of the gap of {card.baseline} (shown above 1). Gaps do not enter the verdict, because the ceiling "
        "bounds them.",
        describe_turned(card, card.last),
        _selection_note(card),
    ]
    if card.reported.methods:
        words.append(f"Reported: {card.reported.source}.")
        if card.reported.differences:
            words.append(f"The protocols differ: {'; '.join(card.reported.differences)}.")
    return " ".join(word for word in words if word)


def _selection_note(card: ShortcutsCard) -> str:
    """What it means for methods that know some cues only that all are selected in the same way."""
    informed = [
        method for method in card.informed_of if any((count or 0) > 1 for count in card.end(method).choices.values())
    ]
    if card.final != "worst-group" or not informed:
        return ""
    return (
        f"The epoch of every method is selected by the worst of all groups, including that of {join(informed)}. These "
        "methods know only some cues and would select by the worst group of those; here, validation reveals the other "
        "cues as well, which favours them."
    )


def group_table(card: ShortcutsCard) -> Table:
    """Accuracy of every pattern and of the worst group: what ID accuracy and the gaps are made of."""
    rows, values = [], []
    for method in card.methods:
        end = card.end(method)
        cells = [spread_cell(end.patterns[pattern], "not measured", signed=False) for pattern in card.patterns]
        worst = spread_cell(end.worst_group, "not measured", signed=False)
        rows.append((Cell(method), *cells, worst, Cell(end.worst_group_name or DASH)))
        numbers = {name: estimate.mean for name, estimate in end.groups.items()}
        values.append({"method": method, **numbers, "worst_group": end.worst_group.mean})
    legend = "; ".join(f"A{pattern}: {describe_pattern(pattern, card.cues)}" for pattern in card.patterns)
    if card.has_turned_cues:
        legend += "; here, common means agreeing with the label in every phase"
    size = f"{card.images.group:,} test images per group" if card.images.group else "sizes not recorded"
    note = (
        f"Per cent, mean ± standard deviation over seeds; mean over classes. {legend}. Worst group: the lowest of all classes "
        f"and patterns in each seed, then the mean; {size}; its name: the group with the lowest mean."
    )
    heads = ("method", *(f"A{pattern}" for pattern in card.patterns), "worst group", "which")
    return Table("Accuracy by pattern, and the worst group", note, heads, tuple(rows), tuple(values))


def preference_table(card: ShortcutsCard) -> Table:
    """Cue preference: what the predictions on the balanced test agree with."""
    why = "known exactly only for two classes with every group measured"
    rows, values = [], []
    for method in card.methods:
        shares = card.end(method).preference
        rows.append((Cell(method), *(spread_cell(found, why, signed=False) for found in shares.values())))
        values.append({"method": method, **{what: found.mean for what, found in shares.items()}})
    on = f"{card.images.test:,} test images" if card.images.test else "the test images"
    note = (
        f"Share of the predictions on the balanced test ({on}) that agree with the label and with the value of each "
        "cue, in per cent, mean ± standard deviation over seeds. 50: no preference; below: against the cue's value. A "
        "network that uses only one cue scores 100 for it and 50 for the rest."
    )
    return Table("Cue preference", note, ("method", "the label", *card.cues), tuple(rows), tuple(values))


def seed_table(card: ShortcutsCard) -> Table:
    """The values of every seed at the end of the last phase."""
    rows, values = [], []
    patterns = [f"A{pattern}" for pattern in card.patterns]
    names = [*patterns, *(f"{gap} gap" for gap in card.gaps), "worst_group"]
    for method, record in card.methods.items():
        for seed, own in record.per_seed.items():
            epoch = number(own["chosen_epoch"], digits=1)
            rows.append(
                (Cell(method), Cell(seed), Cell(epoch), *(Cell(pts(own[name], signed=False)) for name in names))
            )
            values.append({"method": method, "seed": seed, **own})
    head = ("method", "seed", "epoch", *patterns, *map(gap_head, card.gaps), "worst group")
    return Table("Every seed", "Per cent and points.", head, tuple(rows), tuple(values), words=2)
