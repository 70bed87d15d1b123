"""The paper's numbers beside those of a study that follows its protocol, without comment."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from einstellung.diagnoses.rigidity.published import SOURCE, TABLE_I
from einstellung.report.notation import FACETS, mean_sd
from einstellung.report.tables import Cell, Table
from einstellung.report.undefined import why_undefined

#: The paper's column -> what was measured for it. It does not say when A_T1 was taken, so both moments stand there.
COLUMNS = {
    "PD": ("PD",),
    "SFR_rel": ("SFR_rel",),
    "SC_patch": ("SC_patch",),
    "SC_mask": ("SC_mask",),
    "T1": ("T1_after_T1", "T1"),
    "NSC": ("NSC",),
}


def reported_numbers(methods: Mapping[str, Any]) -> dict[str, Any]:
    """What the paper prints for those of its methods that a scorecard holds, for ``score.json``.

    >>> reported_numbers({"sgd": ..., "mine": ...})["methods"]["sgd"]["PD"]
    {'mean': 0.028, 'sd': 0.02}
    """
    return {
        "source": SOURCE,
        "methods": {
            method: {key: {"mean": mean, "sd": sd} for key, (mean, sd) in TABLE_I[method].items()}
            for method in methods
            if method in TABLE_I
        },
    }


def reported_table(card: Mapping[str, Any]) -> Table:
    """One row per method and quantity: reported, measured, and the number of seeds measured."""
    rows, values = [], []
    for method in (name for name in card["methods"] if name in card["reported"]["methods"]):
        for column, printed in card["reported"]["methods"][method].items():
            for key in COLUMNS[column]:
                measured = card["methods"][method][key]
                moment = f" ({FACETS[key].head.removeprefix('T1 ')})" if len(COLUMNS[column]) > 1 else ""
                text = mean_sd(key, measured) + (moment if measured["mean"] is not None else "")
                rows.append(
                    (
                        Cell(method),
                        Cell("T1" if moment else FACETS[key].head),
                        Cell(mean_sd(key, printed)),
                        Cell(text, why_undefined(card, method, key) if measured["mean"] is None else None),
                        Cell(str(measured["n"])),
                    )
                )
                numbers = {"reported_mean": printed["mean"], "reported_sd": printed["sd"]}
                numbers |= {f"measured_{part}": measured[part] for part in ("mean", "sd", "n")}
                values.append({"method": method, "quantity": column, "measured_as": key, **numbers})
    return Table(
        "Reported and measured",
        f"Reported: {card['reported']['source']}. Measured: this study. Mean ± standard deviation over seeds.",
        ("method", "quantity", "reported", "measured", "seeds measured"),
        tuple(rows),
        tuple(values),
    )
