"""Flips: T1 images lost by learning T2, images only the baseline gets right, and other classes' images when given the cue."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import numpy.typing as npt

from einstellung.metrics.flips import flips as flips_of
from einstellung.probes.nets.subject import Subject
from einstellung.results.probe_files import Change, FlipReading
from einstellung.timeline import HABIT_MASK, HABIT_PATCH, NSC, NSC_PATCHED, SC_MASK, SC_PATCH, T1_ALL

Correct = npt.NDArray[np.bool_]


def flips(subject: Subject) -> Iterator[FlipReading]:
    """T1's images before and after T2; T2's by the baseline and by the net; NSC images before and after they get the cue."""
    net = subject.net
    if subject.first is not None:
        for split in (T1_ALL, HABIT_PATCH, HABIT_MASK):
            if split in net.splits:
                yield _reading("T1", split, subject.first.correct(split), net.correct(split))
    if subject.baseline is not None:
        for split in (SC_PATCH, SC_MASK, NSC, NSC_PATCHED):
            if split in net.splits:
                yield _reading("baseline", split, subject.baseline.correct(split), net.correct(split))
    if {NSC, NSC_PATCHED} <= net.splits:
        yield _reading("cue", NSC_PATCHED, net.correct(NSC), net.correct(NSC_PATCHED))


def _reading(change: Change, split: str, before: Correct, after: Correct) -> FlipReading:
    found = flips_of(before, after)
    return FlipReading(change=change, split=split, n=found.n, negative=found.negative, positive=found.positive)
