"""What the images of a stream, or those of an audit, tell by themselves: one window, or one property, per class."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from torch import Tensor

from einstellung.experiments.audited_images import is_pictures
from einstellung.probes.audit.data_map import DataMap, Told, data_map
from einstellung.results.audit_files import DataWindow
from einstellung.streams import Presentation, Stream

_FEWEST = 12  # images below which five neighbours are most of them
BUDGET = 0.05


def told_windows(
    images: Tensor,
    labels: Tensor,
    budget: float = BUDGET,
    file_sizes: Sequence[int] | None = None,
    phase: str | None = None,
) -> tuple[DataWindow, ...]:
    """Of every class the window that tells it best, and every property; empty for too few images, or one class.

    A window alarms where it tells its class better than shuffled labels ever let a window do, and better by as much than every
    window beside it: objects are told by many windows, a cue by one.
    """
    if len(labels) < _FEWEST or labels.unique().numel() < 2:
        return ()
    found = data_map(images, np.asarray(labels.numpy()), budget, file_sizes)
    return tuple(
        _row(told, found, phase) for label in found.classes for told in (found.best(label), *found.properties_of(label))
    )


def _row(told: Told, found: DataMap, phase: str | None) -> DataWindow:
    margin = found.null  # of shuffled labels, above chance
    alone = told.beside is None or told.value - told.beside > margin
    values = {"class": told.label, "phase": phase, "box": told.window, "property": told.property}
    alarm = told.window is not None and told.told and alone
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
        return f"{name}, the images alone: no window tells a class far better than those beside it; at best, {told}; {beside}"
    return f"{name}, the images alone: no window tells a class better than shuffled labels do"


def _box(row: DataWindow) -> str:
    return ", ".join(map(str, row.box or ()))
