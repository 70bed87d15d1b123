"""Tables of the proxies: what their masks cost each class, and the controls of the deletion maps."""

from __future__ import annotations

from typing import Any

from einstellung.diagnoses.audit.card import AuditCard
from einstellung.diagnoses.audit.cells import PROXY_NOTE, control_cell, flat, interval
from einstellung.report.notation import DASH, number
from einstellung.report.tables import Cell, Missing, Table
from einstellung.results.audit_files import Beats, ProxyRow


def proxies_table(card: AuditCard) -> Table | Missing:
    rows, values = [], []
    compared = any(row.sfr_rel is not None for record in card.methods.values() for row in record.proxies)
    for name, record in card.methods.items():
        for row in record.proxies:
            rows.append(
                (
                    Cell(name),
                    Cell(card.class_name(row.label)),
                    Cell(f"{row.proxy}: {row.method}"),
                    Cell(number(row.budget, digits=2)),
                    Cell(number(row.area)),
                    Cell(f"{number(row.delta, signed=True)} proxy"),
                    Cell(interval(row.ci95)),
                    *([_compared(row)] if compared else []),
                    Cell(str(row.n)),
                )
            )
            values.append({"model": name, "name": card.class_name(row.label), **_flat_proxy(row)})
    if not rows:
        return Missing("proxies", "Proxies by class and budget", "no proxy was measured")
    head = ("model", "class", "proxy", "budget", "area", "Δ", "95 %", *(["SFR_rel"] if compared else []), "images")
    note = (
        f"{PROXY_NOTE} Masks were fitted on different images from those used for evaluation. budget: the maximum share of "
        "pixels." + (" SFR_rel: Δ minus Δ of the baseline under the same masks on the same images." if compared else "")
    )
    return Table("Proxies by class and budget", note, head, tuple(rows), tuple(values), words=3)


def proxy_controls_table(card: AuditCard) -> Table | Missing:
    """The deletion maps of occlusion and attribution, with their controls; other replacements are controls of each other."""
    rows, values = [], []
    for name, record in card.methods.items():
        for row in record.proxies:
            if row.beats is None:
                continue
            fillings = row.fillings.values()
            rows.append(
                (
                    Cell(name),
                    Cell(card.class_name(row.label)),
                    Cell(f"{row.proxy}: {row.method}"),
                    Cell(number(row.budget, digits=2)),
                    Cell(f"{number(row.fillings.get('black'), signed=True)} proxy"),
                    control_cell(row.nsc, row.beats.nsc),
                    Cell(number(row.random, signed=True), tone=None if row.beats.random else "warning"),
                    Cell(interval(row.random_ci95)),
                    Cell(
                        f"{number(min(fillings), signed=True)} to {number(max(fillings), signed=True)}",
                        tone=None if row.beats.fillings else "warning",
                    ),
                    Cell(f"{row.beats.count} of 3"),
                )
            )
            values.append({"model": name, "name": card.class_name(row.label), **_flat_proxy(row)})
    if not rows:
        return Missing("proxy_controls", "Controls of the proxies", "no deletion map was measured")
    head = ("model", "class", "proxy", "budget", "Δ", "NSC", "random", "95 % of random", "fillings", "beats")
    most = max(row["random_masks"] or 0 for row in values)
    note = (
        f"{PROXY_NOTE} On up to 20 images of the class. NSC: Δ of the mask on images of other classes; random: mean Δ of {most} "
        "masks of equal area and shape elsewhere, and the middle 95 % of them; fillings: the smallest and largest Δ with black, "
        "mean colour, noise, blur and inpainting; beats: how many of the three controls the mask beats."
    )
    return Table("Controls of the proxies", note, head, tuple(rows), tuple(values), words=3)


def _compared(row: ProxyRow) -> Cell:
    if row.sfr_rel is None:
        return Cell(DASH, "no baseline")
    return Cell(f"{number(row.sfr_rel, signed=True)} {interval(row.sfr_rel_ci95)} proxy")


def _flat_proxy(row: ProxyRow) -> dict[str, Any]:
    values = flat(row)
    fillings, beats = values.pop("fillings"), values.pop("beats")
    return (
        values
        | {f"beats_{name}": (beats or {}).get(name) for name in Beats.model_fields}
        | {f"filling_{name}": value for name, value in fillings.items()}
    )
