"""Tables of what gaps are made of and stand beside: groups, cue preference, reliance by twins, every seed."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from einstellung.diagnoses.shortcuts.facets import CHANGES
from einstellung.diagnoses.shortcuts.notation import gap_head, spread_cell, turned_in
from einstellung.diagnoses.shortcuts.splits import pattern_in_words
from einstellung.report.notation import DASH, number
from einstellung.report.tables import Cell, Table

Card = Mapping[str, Any]
NO_TWINS = "no twins of this cue were measured"
NO_FRESH = "no method that starts fresh in every phase, or it is that method"


def end_of(card: Card, method: str) -> Card:
    """What a method shows at the end of the last phase."""
    record: Card = card["methods"][method]["phases"][card["phases"][-1]]
    return record


def group_table(card: Card) -> Table:
    """Accuracy of every pattern and of the worst group: what ID accuracy and the gaps are made of."""
    rows, values = [], []
    for method in card["methods"]:
        end = end_of(card, method)
        cells = [spread_cell(end["patterns"][pattern], "not measured", signed=False) for pattern in card["patterns"]]
        worst = spread_cell(end["worst_group"], "not measured", signed=False)
        rows.append((Cell(method), *cells, worst, Cell(end["worst_group_name"] or DASH)))
        numbers = {name: estimate["mean"] for name, estimate in end["groups"].items()}
        values.append({"method": method, **numbers, "worst_group": end["worst_group"]["mean"]})
    legend = "; ".join(f"A{pattern}: {pattern_in_words(pattern, card['cues'])}" for pattern in card["patterns"])
    if any(turned_in(card, phase) for phase in card["phases"]):
        legend += "; common means here, in every phase: with the label"
    size = f"{card['images']['group']:,} test images a group" if card["images"]["group"] else "sizes not recorded"
    note = (
        f"Per cent, mean ± standard deviation over seeds; mean over classes. {legend}. Worst group: the lowest of all classes "
        f"and patterns in each seed, then the mean; {size}; its name: the group with the lowest mean."
    )
    heads = ("method", *(f"A{pattern}" for pattern in card["patterns"]), "worst group", "which")
    return Table("Accuracy by pattern, and the worst group", note, heads, tuple(rows), tuple(values))


def preference_table(card: Card) -> Table:
    """Cue preference: what the predictions on the balanced test agree with."""
    rows, values = [], []
    for method in card["methods"]:
        shares = end_of(card, method)["preference"]
        why = "known exactly for two classes only, and where every group was measured"
        rows.append((Cell(method), *(spread_cell(found, why, signed=False) for found in shares.values())))
        values.append({"method": method, **{what: found["mean"] for what, found in shares.items()}})
    images = card["images"]["test"]
    on = f"{images:,} test images" if images else "the test images"
    note = (
        f"Share of the predictions on the balanced test ({on}) that agree with the label and with the value of each cue, in per "
        "cent, mean ± standard deviation over seeds. 50: no preference; below: against the cue's value. A net that sees one cue "
        "alone has 100 for it and 50 for the rest."
    )
    return Table("Cue preference", note, ("method", "the label", *card["cues"]), tuple(rows), tuple(values))


def reliance_table(card: Card) -> Table:
    """The facets per cue: accuracy with the cue common, swapped and covered; what the cue is worth, and against a fresh net."""
    rows, values = [], []
    for method, record in card["methods"].items():
        for phase in card["phases"]:
            for cue, found in record["phases"][phase]["reliance"].items():
                if found["common"]["mean"] is None:
                    continue
                accuracies = [spread_cell(found[kind], NO_TWINS, signed=False) for kind in ("common", *CHANGES)]
                worth = [spread_cell(found[f"delta_{change}"], NO_TWINS) for change in CHANGES]
                relative = [spread_cell(found[f"SFR_rel_{change}"], NO_FRESH) for change in CHANGES]
                rows.append((Cell(method), Cell(phase), Cell(cue), *accuracies, *worth, *relative))
                names = (
                    "common",
                    *CHANGES,
                    *(f"{part}_{change}" for part in ("delta", "SFR_rel") for change in CHANGES),
                )
                numbers = {name: found[name]["mean"] for name in names}
                values.append({"method": method, "phase": phase, "cue": cue, **numbers, "images": found["images"]})
    head = (
        "method",
        "phase",
        "cue",
        "common",
        *CHANGES,
        "Δ swapped",
        "Δ covered",
        "SFR_rel swapped",
        "SFR_rel covered",
    )
    note = (
        "Per cent and points, mean ± standard deviation over seeds. Common: test images in which the cue is common; swapped, "
        "covered: the very same with this cue alone swapped or covered. Δ: common minus that. SFR_rel: Δ minus that of "
        f"{card['scratch'] or 'a net that starts fresh in every phase'}, paired by seed. {_twin_images(card)}"
    )
    if any(turned_in(card, phase) for phase in card["phases"]):
        note += (
            " Common means here, in every phase: with the label; Δ below 0, the model expects the cue to go against it."
        )
    return Table("Reliance on every cue, by twins", note, head, tuple(rows), tuple(values), words=3)


def _twin_images(card: Card) -> str:
    found = {
        cue: {
            record["phases"][phase]["reliance"][cue]["images"]
            for record in card["methods"].values()
            for phase in card["phases"]
        }
        for cue in card["cues"]
    }
    known = {cue: max(counts - {None}) for cue, counts in found.items() if counts - {None}}
    return "Images: " + ", ".join(f"{cue} {count:,}" for cue, count in known.items()) + "." if known else ""


def seed_table(card: Card) -> Table:
    """What every single seed gave at the end of the last phase."""
    rows, values = [], []
    names = [f"A{pattern}" for pattern in card["patterns"]] + [f"{gap} gap" for gap in card["gaps"]] + ["worst_group"]
    for method, record in card["methods"].items():
        for seed, own in record["per_seed"].items():
            epoch = number(own["chosen_epoch"], digits=1)
            cells = [Cell(number(None if own[name] is None else 100 * own[name], digits=1)) for name in names]
            rows.append((Cell(method), Cell(seed), Cell(epoch), *cells))
            values.append({"method": method, "seed": seed, **own})
    heads = [f"A{pattern}" for pattern in card["patterns"]] + [gap_head(gap) for gap in card["gaps"]] + ["worst group"]
    return Table(
        "Every seed", "Per cent and points.", ("method", "seed", "epoch", *heads), tuple(rows), tuple(values), 2
    )
