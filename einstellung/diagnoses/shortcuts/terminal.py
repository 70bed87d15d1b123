"""A card of several shortcuts as lines of plain text: one row per method, then the verdicts in words."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from einstellung.diagnoses.confounding.terminal import aligned
from einstellung.diagnoses.shortcuts.answer import shortcut_answer
from einstellung.diagnoses.shortcuts.measure_tables import end_of
from einstellung.diagnoses.shortcuts.notation import UP, gap_cell, gap_head
from einstellung.diagnoses.shortcuts.tables import final_in_words, gap_verdict
from einstellung.report.measured import seeds_in_words
from einstellung.report.notation import baseline_first, per_cent

_MOST_IN_WORDS = 9  # methods; of more, the table says enough


def shortcuts_in_words(card: Mapping[str, Any]) -> list[str]:
    """The columns of the paper's Table 3 with the verdicts, the answer, and a sentence for every method."""
    card = baseline_first(card)
    rows = [["method", "ID", *(gap_head(gap) for gap in card["gaps"]), "worst", "verdict"]]
    for method, record in card["methods"].items():
        end = end_of(card, method)
        ratios = {gap: end["own"]["amplification"][gap]["value"] for gap in card["gaps"]}
        gaps = [
            gap_cell(
                end["own"]["gaps"][gap]["mean"],
                ratios[gap] if method != card["baseline"] else None,
                gap_verdict(record, gap),
            ).text
            for gap in card["gaps"]
        ]
        worst = per_cent(end["worst_group"], spread=False)
        rows.append([method, per_cent(end["own"]["ID"], spread=False), *gaps, worst, record["verdict"]["name"]])
    legend = (
        f"Per cent and points, mean over seeds; {seeds_in_words(card)}; {final_in_words(card)} of {card['phases'][-1]}. "
        f"(×2.94): so many times the gap of {card['baseline']}; {UP}: the interval agrees."
    )
    lines = [*aligned(rows), "", legend]
    for paragraph in shortcut_answer(card):
        lines += ["", paragraph]
    if len(card["methods"]) > _MOST_IN_WORDS:
        return [*lines, "", "Every verdict in words: --json, or the page (--out)."]
    for method, record in card["methods"].items():
        lines += ["", f"{method}: {record['verdict']['sentence']}"]
    return lines
