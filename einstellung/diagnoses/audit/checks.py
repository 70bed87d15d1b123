"""Checks of an audit, shown with its verdicts."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from einstellung.checks import Check
from einstellung.diagnoses.checks import same_images
from einstellung.diagnoses.wording import counted, listed, percent
from einstellung.results.audit_files import COVERED_SPLIT, NORMAL_SPLIT, AuditFile
from einstellung.timeline import Run, Timeline

_ROUNDING = 1e-3  # in a share: the same images may be classified in batches of another size


def audit_checks(audit: AuditFile, timeline: Timeline, runs: Mapping[str, Run]) -> list[Check]:
    """All checks; ``runs``: the row of every model in the timeline."""
    return [
        _same_accuracy(audit, timeline, runs),
        _findings_beat_controls(audit),
        _classes_have_images(audit, timeline),
        same_images(_without_findings(timeline)),
    ]


def _without_findings(timeline: Timeline) -> Timeline:
    """Without covered images: models differ in what was found, and finding 1 of one is not that of another."""
    frame = timeline.frame
    return Timeline(frame[~frame["split"].str.startswith(COVERED_SPLIT)].reset_index(drop=True))


def _same_accuracy(audit: AuditFile, timeline: Timeline, runs: Mapping[str, Run]) -> Check:
    """The timeline measured models in a pass of its own."""
    name = "a second pass over the images reproduces the audit's accuracy"
    odd = []
    for model, run in runs.items():
        measured = float(timeline.curve(*run, "T1", NORMAL_SPLIT)[1][-1])
        if abs(measured - audit.models[model].accuracy) > _ROUNDING:
            odd.append(f"{model}: {percent(measured)}, not {percent(audit.models[model].accuracy)}")
    return Check(name, not odd, listed(odd) or f"{counted(len(runs), 'model')} compared")


def _findings_beat_controls(audit: AuditFile) -> Check:
    name = "every finding beats all three controls, and no suspicion does"
    odd = [
        f"{model}, class {found.label}"
        for model, one in audit.models.items()
        for wanted, several in ((True, one.findings), (False, one.suspicions))
        for found in several
        if (found.beats.count == 3) is not wanted
    ]
    count = sum(len(one.findings) + len(one.suspicions) for one in audit.models.values())
    return Check(name, not odd, listed(odd) or f"{count} findings and suspicions")


def _classes_have_images(audit: AuditFile, timeline: Timeline) -> Check:
    """A class of few images hides its cue: no interval excludes anything."""
    name = "every class has at least 10 images"
    largest = timeline.frame.groupby("split")["n"].max()
    splits = {label: f"{NORMAL_SPLIT}_class{label}" for label in audit.class_names}
    measured = {label: largest[split] for label, split in splits.items() if split in largest.index}
    if any(np.isnan(count) for count in measured.values()):
        return Check(name, None, "the numbers of images were not recorded")
    counts = {label: int(count) for label, count in measured.items()}
    few = [f"'{audit.class_names[label]}' has {count}" for label, count in counts.items() if count < 10]
    return Check(
        name, not few, listed(few) or f"{len(counts)} classes, {min(counts.values(), default=0)} images or more"
    )
