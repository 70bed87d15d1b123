"""What the images of a stream, or those of an audit, tell by themselves: one window, or one property, per class."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from scipy.stats import fisher_exact
from torch import Tensor

from einstellung.experiments.audited_images import is_pictures
from einstellung.probes.audit.data_map import DataMap, Told, data_map
from einstellung.results.audit_files import DataWindow
from einstellung.streams import Presentation, Stream

_FEWEST = 12  # images below which five neighbours are most of them
_ALARMS = 0.05  # of maps of images without a cue
BUDGET = 0.05


def told_windows(
    images: Tensor,
    labels: Tensor,
    budget: float = BUDGET,
    file_sizes: Sequence[int] | None = None,
    phase: str | None = None,
) -> tuple[DataWindow, ...]:
    """Of every class the window that tells it best, and every property; empty for too few images, or one class.

    A window alarms where it tells its class better than shuffled labels let any window do, and more of the class's images than
    the best window that does not overlap it (Fisher's exact test, 5 % over all classes and windows): many windows tell an object,
    one tells a cue.
    """
    if len(labels) < _FEWEST or labels.unique().numel() < 2:
        return ()
    found = data_map(images, np.asarray(labels.numpy()), budget, file_sizes)
    asked = {label: found.queries * int((labels == label).sum()) / len(labels) for label in found.classes}
    return tuple(
        _row(told, _stands_out(told, round(asked[label]), found), phase)
        for label in found.classes
        for told in (found.best(label), *found.properties_of(label))
    )


def _stands_out(told: Told, images: int, found: DataMap) -> bool:
    """Whether one window tells far more of a class's images than any window beside it."""
    if told.window is None or told.beside is None or not told.told or not images:
        return False
    both = [(round(share * images), images - round(share * images)) for share in (told.value, told.beside)]
    p = float(fisher_exact(both, alternative="greater").pvalue)
    return p * len(found.classes) * len(found.windows) <= _ALARMS


def _row(told: Told, alarm: bool, phase: str | None) -> DataWindow:
    values = {"class": told.label, "phase": phase, "box": told.window, "property": told.feature}
    return DataWindow(**values, value=told.value, null=told.null, beside=told.beside, alarm=alarm)  # type: ignore[arg-type]


def phase_windows(stream: Stream) -> dict[str, tuple[DataWindow, ...]]:
    """By phase, what its training images tell, with the cue where it is planted; empty for a stream of other inputs."""
    found = {}
    presentation = Presentation(stream)
    for phase in stream.phases:
        train = phase.train
        if is_pictures(train.images):
            found[phase.name] = told_windows(presentation.painted(train.images, train), train.labels, phase=phase.name)
    return found


def describe_phase(name: str, rows: Sequence[DataWindow], class_names: Sequence[str]) -> str:
    """One line on what the images of a phase tell."""
    windows = sorted((row for row in rows if row.box is not None), key=lambda row: row.null - row.value)
    if not windows:
        return f"{name}, the images alone: too few to say"
    best = next((row for row in windows if row.alarm), windows[0])
    alarms = sum(row.alarm for row in windows)
    told = f"one window tells '{class_names[best.label]}' in {100 * best.value:.0f} % of its images (box {_box(best)}"
    beside = f"best window beside it {100 * (best.beside or 0):.0f} %, shuffled labels at most {100 * best.null:.0f} %)"
    if alarms:
        more = f", and {alarms - 1} more class{'es' if alarms > 2 else ''} likewise" if alarms > 1 else ""
        return f"{name}, the images alone: {told}; {beside}{more}"
    if best.value > best.null:
        return f"{name}, the images alone: no window stands out; the best {told.removeprefix('one window ')}; {beside}"
    return f"{name}, the images alone: no window tells a class better than shuffled labels do"


def _box(row: DataWindow) -> str:
    return ", ".join(map(str, row.box or ()))
