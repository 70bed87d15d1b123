"""All tables of a report by file name, and why one that is missing could not be made."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from einstellung.diagnoses.rigidity.attention_tables import attention_head_table, attention_table
from einstellung.diagnoses.rigidity.image_tables import cue_effect_seed_table, cue_effect_table, masking_table
from einstellung.diagnoses.rigidity.incremental import incremental_table
from einstellung.diagnoses.rigidity.reported import reported_table
from einstellung.guide.claims_table import claims_table
from einstellung.guide.tables import guide_table
from einstellung.report.tables import Missing, Table, delay_table, facet_table, seed_table, table_one

_NO_PREDICTIONS = "no predictions of single images were stored with these results"
_BY_IMAGE = {
    "mcnemar": ("Masked against patched, image by image", masking_table, "T2_shortcut_normal and T2_shortcut_masked"),
    "cue_effect": ("What the cue does", cue_effect_table, "T2_shortcut_normal"),
    "cue_effect_seeds": ("What the cue does, seed by seed", cue_effect_seed_table, "T2_shortcut_normal"),
}


def make_tables(card: Mapping[str, Any], proof: Mapping[str, Any] | None) -> tuple[dict[str, Table], list[Missing]]:
    """Every table that the scorecard allows. What is reported elsewhere stands there only where the protocol is the same."""
    tables = {
        "table1": table_one(card),
        "facets": facet_table(card),
        "delays": delay_table(card),
        "seeds": seed_table(card),
    }
    missing = []
    if any(record["task_incremental"] for record in card["methods"].values()):
        tables["incremental"] = incremental_table(card, (proof or {}).get("facts") or {})
    else:
        title = "Class-incremental and task-incremental accuracy"
        missing.append(Missing("incremental", title, "the timeline has no column acc_task"))
    for name, (title, make, splits) in _BY_IMAGE.items():
        table = make(card) if "per_image" in card else None
        if table is not None and table.rows:
            tables[name] = table
        else:
            why = _NO_PREDICTIONS if table is None else f"no run has matching predictions for {splits}"
            missing.append(Missing(name, title, why))
    if "attention" in card:
        tables["attention"] = attention_table(card)
        tables["attention_heads"] = attention_head_table(card)
    if "guide" in card:
        tables |= {"guide": guide_table(card["guide"]), "guide_claims": claims_table(card["guide"])}
    if card.get("reported", {}).get("methods"):
        tables["reported"] = reported_table(card)
    return tables, missing
