"""Measurements of one run of several shortcuts at the chosen epoch of every phase, and how soon it learned each phase."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np

from einstellung.diagnoses.shortcuts.design import Design
from einstellung.diagnoses.shortcuts.estimates import Weighting
from einstellung.diagnoses.shortcuts.gaps import Turned, in_distribution, shortcut_gaps
from einstellung.diagnoses.shortcuts.settings import SelectionRule, ShortcutsSettings
from einstellung.diagnoses.shortcuts.splits import GROUP, VALIDATION, group_split
from einstellung.errors import InputError
from einstellung.metrics.arithmetic import mean_of
from einstellung.metrics.curves import (
    SAME_ACCURACY,
    TOLERANCE,
    FloatArray,
    shared_epochs,
    smooth,
    times_to_thresholds,
    value_at,
)
from einstellung.timeline import Curve, Timeline

Curves = Mapping[str, Curve]


@dataclass(frozen=True)
class ShortcutRun:
    """One run; what was not measured is None.

    ``chosen``: the epoch of every phase that counts; ``choices``: among how many it was chosen; ``looks``: at how many epochs
    after 0 anything was measured, only one where a method has a single result. ``reached``: effective epochs until ID accuracy
    was at the threshold, None where it never was; ``watched``: the phases whose curve is known.
    """

    method: str
    seed: int
    design: Design
    chosen: Mapping[str, float]
    choices: Mapping[str, int]
    looks: Mapping[str, int]
    values: Mapping[str, Mapping[str, float]]
    images: Mapping[str, int]
    reached: Mapping[str, float | None] = field(default_factory=dict)
    watched: frozenset[str] = frozenset()

    def value(self, phase: str, split: str) -> float | None:
        """Accuracy on a split at the chosen epoch of a phase."""
        return self.values.get(phase, {}).get(split)

    def groups(self, phase: str) -> dict[tuple[str, str], float | None]:
        """Accuracy by (class, pattern)."""
        return {group: self.value(phase, group_split(*group)) for group in self.design.groups}

    def patterns(self, phase: str) -> dict[str, float | None]:
        """Accuracy by pattern: the mean over classes."""
        groups = self.groups(phase)
        return {
            pattern: mean_of([groups[label, pattern] for label in self.design.labels])
            for pattern in self.design.patterns
        }

    def worst_group(self, phase: str) -> float | None:
        """The lowest accuracy of any group; None if one was not measured."""
        found = list(self.groups(phase).values())
        return None if None in found else min(value for value in found if value is not None)

    def id_accuracy(self, phase: str) -> float | None:
        """ID accuracy at the chosen epoch of a phase, with that phase's own weights."""
        return in_distribution(self.patterns(phase), self.design.weights.get(phase))

    def gaps(self, phase: str, weighting: Weighting = "own", turned: Turned | None = None) -> dict[str, float | None]:
        """Every gap at the chosen epoch of a phase; ``turned``: in another sense than that of the weighting."""
        design = self.design
        turned = turned if turned is not None else design.turned_in(phase, weighting)
        return shortcut_gaps(self.patterns(phase), design.cues, design.weights_for(phase, weighting, turned), turned)


Runs = Mapping[int, ShortcutRun]


def pairs_with(own: Runs, other: Runs) -> list[tuple[ShortcutRun, ShortcutRun]]:
    """The runs of a method beside those of another with the same seeds."""
    return [(run, other[seed]) for seed, run in own.items() if seed in other]


def selection_rule(timeline: Timeline, design: Design, final: str) -> SelectionRule:
    """The rule that picks the epoch of the last phase, the same for all runs; what was asked for must be possible.

    Through several phases a learner is judged as it is, at the end of each, unless selection is asked for.
    """
    if final == "last" or (final == "auto" and len(design.phases) > 1):
        return "last"
    fewest, most, where, choice = None, 0, "", True
    last = design.last
    for method, seed in timeline.runs:
        if last not in timeline.phases(method, seed):
            continue
        curves = timeline.curves(method, seed, last)
        count = len(candidates(curves, design))
        most = max(most, count)
        choice = choice and count >= min(2, looks(curves))
        if fewest is None or count < fewest:
            fewest, where = count, f"{method} seed {seed}, phase {last}"
    if final == "worst-group" and not fewest:
        raise InputError(
            f"final 'worst-group' needs all val_ and group_ splits at one or more epochs after 0, missing for {where}: "
            "measure val_{y}_{pattern} too, or choose last"
        )
    return "worst-group" if final == "worst-group" or (fewest and most > 1 and choice) else "last"


def rule_of(phase: str, design: Design, rule: SelectionRule) -> SelectionRule:
    """The rule of one phase: only the last is selected; of an earlier one, what the next began with is what counts."""
    return rule if phase == design.last else "last"


def looks(curves: Curves) -> int:
    """At how many epochs after 0 anything was measured."""
    epochs = np.unique(np.concatenate([curve.epochs for curve in curves.values()]))
    return int((epochs > TOLERANCE).sum())


def candidates(curves: Curves, design: Design) -> FloatArray:
    """The epochs at which every group was measured, in validation and in test; epoch 0 is never chosen."""
    names = [*design.splits(VALIDATION), *design.splits()]
    if any(name not in curves for name in names):
        return np.empty(0)
    shared = shared_epochs([_measured(curves[name]) for name in names])
    return shared[shared > TOLERANCE]


def _measured(curve: Curve) -> FloatArray:
    return curve.epochs[~np.isnan(curve.acc)]


def chosen_epoch(curves: Curves, design: Design, rule: SelectionRule) -> float | None:
    r"""The epoch that counts: the last at which anything was measured, or

    .. math:: \min \arg\max_{e > 0} \min_{y, p} A^{val}_{y,p}(e)

    the first of equals (within 1e-12). None where there is none after epoch 0.
    """
    if rule == "last":
        last = max(float(curve.epochs[-1]) for curve in curves.values())
        return last if last > TOLERANCE else None
    epochs = candidates(curves, design)
    if not len(epochs):
        return None
    worst = np.min([_at(curves[name], epochs) for name in design.splits(VALIDATION)], axis=0)
    return float(epochs[np.argmax(worst >= worst.max() - SAME_ACCURACY)])


def _at(curve: Curve, epochs: FloatArray) -> FloatArray:
    return curve.acc[np.searchsorted(curve.epochs, epochs - TOLERANCE)]


def measure_run(
    timeline: Timeline, method: str, seed: int, design: Design, settings: ShortcutsSettings, rule: SelectionRule
) -> ShortcutRun:
    """Read one run."""
    chosen: dict[str, float] = {}
    choices: dict[str, int] = {}
    looked: dict[str, int] = {}
    values: dict[str, dict[str, float]] = {}
    images: dict[str, int] = {}
    reached: dict[str, float | None] = {}
    for phase in timeline.phases(method, seed):
        curves = timeline.curves(method, seed, phase)
        of_phase = rule_of(phase, design, rule)
        epoch = chosen_epoch(curves, design, of_phase)
        if epoch is None:
            continue
        chosen[phase], choices[phase] = epoch, len(candidates(curves, design)) if of_phase == "worst-group" else 1
        looked[phase] = looks(curves)
        found = {split: value_at(curve.epochs, curve.acc, epoch) for split, curve in curves.items()}
        values[phase] = {split: value for split, value in found.items() if value is not None}
        images |= {split: int(curve.n[-1]) for split, curve in curves.items() if not np.isnan(curve.n[-1])}
        if (watched := id_curve(curves, design, phase)) is not None:
            smoothed = smooth(*watched, settings.window, settings.smoothing)
            (reached[phase],) = times_to_thresholds(watched[0], smoothed, [settings.tau])
    return ShortcutRun(method, seed, design, chosen, choices, looked, values, images, reached, frozenset(reached))


def id_curve(curves: Curves, design: Design, phase: str) -> tuple[FloatArray, FloatArray] | None:
    """ID accuracy over a phase, on test groups or, where these were seen once only, on validation groups; else None."""
    weights = design.weights.get(phase)
    if weights is None:
        return None
    for kind in (GROUP, VALIDATION):
        if any(name not in curves for name in design.splits(kind)):
            continue
        epochs = shared_epochs([_measured(curves[name]) for name in design.splits(kind)])
        if np.count_nonzero(epochs > TOLERANCE) < 2:
            continue
        shares = [weights[pattern] / len(design.labels) for _, pattern in design.groups]
        accuracies = [_at(curves[name], epochs) for name in design.splits(kind)]
        return epochs, np.array(shares) @ np.array(accuracies)
    return None
