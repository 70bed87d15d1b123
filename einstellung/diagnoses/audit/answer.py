"""The sentences that a reader of an audit sees first."""

from __future__ import annotations

from collections import Counter

from einstellung.diagnoses.audit.card import AuditCard, VerdictName
from einstellung.diagnoses.audit.error_rates import describe_alarms
from einstellung.diagnoses.wording import counted, listed, percent

_MOST = 8  # models that are named one by one
_SUMMARY: dict[VerdictName, str] = {
    "localised cue": "a localised cue was found in {}",
    "global cue suspected": "a global cue (colour, texture) is suspected in {}",
    "cue suspected": "cues are suspected but not confirmed in {}",
    "nothing found": "nothing was found in {}",
    "cannot tell": "no conclusion is possible for {}",
}


def answer(card: AuditCard) -> list[str]:
    """Several models: first how many have what. Then every model; and how far such verdicts can be trusted."""
    said = [*_summary(card)]
    for number, (name, record) in enumerate(card.methods.items()):
        if number == _MOST:
            said.append(f"{len(card.methods) - _MOST} more models are in the table.")
            break
        lead = f"{name}: " if len(card.methods) > 1 else ""
        more = len(record.verdict.sentences) - 1
        said.append(lead + record.verdict.sentences[0] + (f" {counted(more, 'more cue')} below." if more else ""))
    said.append(describe_alarms(card.error_rates))
    if alarms := [row for row in card.data if row.alarm]:
        words = [
            f"'{card.class_name(row.label)}' ({percent(row.value)} of its images, box {list(row.box or ())})"
            for row in alarms
        ]
        said.append(f"From the images alone, without any model, a single window identifies {listed(words, most=3)}.")
    return said


def _summary(card: AuditCard) -> list[str]:
    if len(card.methods) == 1:
        return []
    counts = Counter(record.verdict.name for record in card.methods.values())
    parts = [words.format(counts[name]) for name, words in _SUMMARY.items() if counts[name]]
    text = "; ".join(parts)
    return [f"Of {len(card.methods)} models: {text}."]
