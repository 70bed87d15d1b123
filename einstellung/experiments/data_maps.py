"""Cues in the images alone, of a stream or of an audit: windows and properties that predict a class."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from scipy.stats import fisher_exact
from torch import Tensor

from einstellung.experiments.audited_images import is_pictures
from einstellung.probes.audit.data_map import DataMap, WindowScore, data_map
from einstellung.results.audit_files import DataWindow
from einstellung.streams import Presentation, Stream

_FEWEST = 12  # images below which five neighbours are most of them
_ALARMS = 0.05  # of maps of images without a cue
BUDGET = 0.05


def predictive_windows(
    images: Tensor,
    labels: Tensor,
    budget: float = BUDGET,
    file_sizes: Sequence[int] | None = None,
    phase: str | None = None,
) -> tuple[DataWindow, ...]:
    """For every class, the most predictive window and every property; empty for too few images or a single class.

    A window raises an alarm if it predicts its class better than any window does with shuffled labels, and in more of the class's
    images than the best window that does not overlap it (Fisher's exact test, 5 % over all classes and windows): an object shows
    in many windows, a cue in one.
    """
    if len(labels) < _FEWEST or labels.unique().numel() < 2:
        return ()
    found = data_map(images, np.asarray(labels.numpy()), budget, file_sizes)
    asked = {label: found.queries * int((labels == label).sum()) / len(labels) for label in found.classes}
    return tuple(
        _row(score, _stands_out(score, round(asked[label]), found), phase)
        for label in found.classes
        for score in (found.best(label), *found.properties_of(label))
    )


def _stands_out(score: WindowScore, images: int, found: DataMap) -> bool:
    """Whether a window identifies far more of a class's images than any window that does not overlap it."""
    if score.window is None or score.elsewhere is None or not score.significant or not images:
        return False
    both = [(round(share * images), images - round(share * images)) for share in (score.value, score.elsewhere)]
    p = float(fisher_exact(both, alternative="greater").pvalue)
    return p * len(found.classes) * len(found.windows) <= _ALARMS


def _row(score: WindowScore, alarm: bool, phase: str | None) -> DataWindow:
    values = {"class": score.label, "phase": phase, "box": score.window, "property": score.feature}
    return DataWindow(**values, value=score.value, null=score.null, elsewhere=score.elsewhere, alarm=alarm)  # type: ignore[arg-type]


def phase_windows(stream: Stream) -> dict[str, tuple[DataWindow, ...]]:
    """For each phase, the cues in its training images (planted ones included); empty if the inputs are not images."""
    found = {}
    presentation = Presentation(stream)
    for phase in stream.phases:
        train = phase.train
        if is_pictures(train.images):
            found[phase.name] = predictive_windows(
                presentation.painted(train.images, train), train.labels, phase=phase.name
            )
    return found


def describe_phase(name: str, rows: Sequence[DataWindow], class_names: Sequence[str]) -> str:
    """One line about the cues in the images of a phase."""
    windows = sorted((row for row in rows if row.box is not None), key=lambda row: row.null - row.value)
    if not windows:
        return f"{name}, images alone: too few to say"
    best = next((row for row in windows if row.alarm), windows[0])
    alarms = sum(row.alarm for row in windows)
    found = (
        f"one window identifies '{class_names[best.label]}' in {100 * best.value:.0f} % of its images (box {_box(best)}"
    )
    others = (
        f"best window elsewhere {100 * (best.elsewhere or 0):.0f} %, shuffled labels at most {100 * best.null:.0f} %)"
    )
    if alarms:
        more = f", and {alarms - 1} more class{'es' if alarms > 2 else ''} likewise" if alarms > 1 else ""
        return f"{name}, images alone: {found}; {others}{more}"
    if best.value > best.null:
        return f"{name}, images alone: no window stands out; the best {found.removeprefix('one window ')}; {others}"
    return f"{name}, images alone: no window identifies a class better than with shuffled labels"


def _box(row: DataWindow) -> str:
    return ", ".join(map(str, row.box or ()))
