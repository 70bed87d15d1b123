"""The latest accuracies of a run, for its line of progress: only what was measured anyway."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from einstellung.streams import Phase, Stream


def shown_accuracy(stream: Stream, phase: Phase, rows: Iterable[Mapping[str, Any]]) -> str:
    """The latest accuracy in a phase on validation images (else on its test images), with the cue, and with the cue covered.

    ``rows`` are those of the run's timeline, in the order of their measurement. Empty before the first measurement.
    """
    latest = {str(row["split"]): float(row["acc"]) for row in rows if row["phase"] == phase.name}
    own = [split.name for split in stream.splits if split.phase == phase.name]
    shown: dict[str, float] = {}
    groups = [name for name in stream.selected_by if name in latest and name in own]
    if f"{phase.name}_val" in latest:
        shown["val"] = latest[f"{phase.name}_val"]
    elif groups:
        shown["worst group of val"] = min(latest[name] for name in groups)
    elif f"{phase.name}_all" in latest:
        shown["test"] = latest[f"{phase.name}_all"]
    for pair in stream.pairs:
        if pair.masked is not None and pair.patched in own and {pair.patched, pair.masked} <= latest.keys():
            shown |= {"cue": latest[pair.patched], "covered": latest[pair.masked]}
    return ", ".join(f"{name} {100 * accuracy:.0f} %" for name, accuracy in shown.items())
