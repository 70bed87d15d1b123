"""Checks of a log that several diagnoses share: images, budgets, seeds, twins."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np

from einstellung.checks import Check
from einstellung.diagnoses.wording import counted, listed, run_name
from einstellung.metrics.curves import TOLERANCE
from einstellung.timeline import Run, Timeline

ROUNDING = 1e-6  # relative, in losses: the same images may differ by rounding, a change that acts differs by more
MUCH = 0.4  # of the longer one of two budgets

Pairs = Sequence[tuple[str, str]]  # the split of the originals, and that of their twins


def same_images(timeline: Timeline) -> Check:
    """Every split holds as many images in every run; both labels of a task may differ."""
    name = "every run was evaluated on the same number of images"
    counts: dict[str, set[int]] = {}
    for run in timeline.runs:
        for phase in timeline.phases(*run):
            for split, curve in timeline.curves(*run, phase).items():
                counts.setdefault(split, set()).update(int(n) for n in curve.n if not np.isnan(n))
    known = {split: found for split, found in counts.items() if found}
    if not known:
        return Check(name, None, "image counts were not recorded")
    odd = [f"{split}: {' or '.join(map(str, sorted(found)))}" for split, found in known.items() if len(found) > 1]
    return Check(name, not odd, listed(odd) or f"{counted(len(known), 'split')} compared")


def same_budget_over_seeds(timeline: Timeline) -> Check:
    """Seeds of a method are comparable only if trained equally long; methods may differ, and the detail says how.

    What a random buffer holds of a phase differs by a few images from seed to seed, and so do effective epochs; such seeds were
    measured as often, and none is much shorter than another.
    """
    name = "all seeds of a method have the same budget"
    uneven: list[str] = []
    groups: dict[str, list[str]] = {}
    for method in timeline.methods:
        lengths: dict[str, list[float]] = {}
        looks: dict[str, set[int]] = {}
        for seed in timeline.seeds(method):
            for phase in timeline.phases(method, seed):
                moments = np.concatenate([curve.epochs for curve in timeline.curves(method, seed, phase).values()])
                lengths.setdefault(phase, []).append(float(moments.max()))
                looks.setdefault(phase, set()).add(len(np.unique(np.round(moments, 9))))
        words = ", ".join(f"{phase} {_between(found)}" for phase, found in lengths.items())
        odd = [phase for phase in lengths if _is_uneven(lengths[phase], len(looks[phase]) > 1)]
        if odd or len({len(found) for found in lengths.values()}) > 1:
            uneven.append(f"{method}: {words} effective epochs")
        groups.setdefault(words, []).append(method)
    described = [f"{', '.join(methods)}: {budget} effective epochs" for budget, methods in groups.items()]
    return Check(name, not uneven, listed(uneven) or listed(described))


def _is_uneven(lengths: Sequence[float], looks_vary: bool) -> bool:
    short, long = min(lengths), max(lengths)
    return long - short > TOLERANCE and (looks_vary or long - short > MUCH * long)


def _between(lengths: Sequence[float]) -> str:
    short, long = f"{min(lengths):g}", f"{max(lengths):g}"
    return short if short == long else f"{short} to {long}"


def seeds_differ(timeline: Timeline) -> Check:
    """Two seeds of a method with the same curves throughout are one run under two names."""
    name = "no two seeds of a method are identical"
    seen: dict[tuple[object, ...], list[Run]] = {}
    for method, seed in timeline.runs:
        parts: list[object] = [method]
        for phase in timeline.phases(method, seed):
            for split, curve in sorted(timeline.curves(method, seed, phase).items()):
                losses = b"" if curve.loss is None else curve.loss.tobytes()
                parts += [phase, split, curve.epochs.tobytes(), curve.acc.tobytes(), losses]
        seen.setdefault(tuple(parts), []).append((method, seed))
    if all(len(timeline.seeds(method)) < 2 for method in timeline.methods):
        return Check(name, None, "no method has two seeds")
    twice = [" and ".join(map(run_name, runs)) for runs in seen.values() if len(runs) > 1]
    return Check(name, not twice, listed(twice) or f"{counted(len(timeline.runs), 'run')} compared")


def seeds_are_paired(timeline: Timeline, baseline: str | None) -> Check:
    """Every method ran with the baseline's seeds and no others."""
    name = "seeds are paired with the baseline"
    if baseline is None:
        return Check(name, None, "no baseline in the timeline")
    others = [method for method in timeline.methods if method != baseline]
    if not others:
        return Check(name, None, f"no method other than {baseline}")
    known = set(timeline.seeds(baseline))
    odd = []
    for method in others:
        seeds = set(timeline.seeds(method))
        if seeds != known:
            odd.append(
                f"{method}: only in {method} {_numbers(seeds - known)}, only in {baseline} {_numbers(known - seeds)}"
            )
    if odd:
        return Check(name, False, " | ".join(odd[:6]))
    return Check(
        name, True, f"{counted(len(known), 'common seed')} in {counted(len(others), 'method')}: {_numbers(known)}"
    )


def _numbers(numbers: Iterable[int], most: int = 8) -> str:
    ordered = sorted(numbers)
    text = ", ".join(map(str, ordered[:most])) or "none"
    return text + (f" and {len(ordered) - most} more" if len(ordered) > most else "")


def twins_are_paired(timeline: Timeline, pairs: Pairs) -> Check:
    """Twins and their originals are equally many and measured at the same epochs."""
    name = "twins and originals are evaluated alike"
    compared, uncounted, odd = 0, 0, []
    for run, phase, original, twin in _measured(timeline, pairs):
        curves = timeline.curves(*run, phase)
        if original not in curves or twin not in curves:
            odd.append(f"{run_name(run)}, {phase}: {twin if original in curves else original} is missing")
            continue
        compared += 1
        one, other = curves[original], curves[twin]
        if len(one.epochs) != len(other.epochs) or (np.abs(one.epochs - other.epochs) > TOLERANCE).any():
            odd.append(f"{run_name(run)}, {phase}: {twin} was evaluated at different epochs")
        elif (one.n != other.n)[~np.isnan(one.n) & ~np.isnan(other.n)].any():
            odd.append(f"{run_name(run)}, {phase}: {twin} has {other.n[0]:g} images, its originals {one.n[0]:g}")
        elif np.isnan(one.n).any() or np.isnan(other.n).any():
            uncounted += 1
    if not compared and not odd:
        return Check(name, None, "this timeline has no twins")
    aside = f"; image counts missing in {uncounted}" if uncounted else ""
    return Check(name, not odd, listed(odd) or f"{counted(compared, 'pair')} of curves{aside}")


def twins_change_something(timeline: Timeline, pairs: Pairs) -> Check:
    """Equal accuracies alone pass, as a net may ignore the change; equal losses as well mean the same images twice."""
    name = "twins differ from their originals"
    judged, copies = 0, []
    for run, phase, original, twin in _measured(timeline, pairs):
        curves = timeline.curves(*run, phase)
        if original not in curves or twin not in curves:
            continue
        one, other = curves[original].loss, curves[twin].loss
        if one is None or other is None or len(one) != len(other):
            continue
        known = ~np.isnan(one) & ~np.isnan(other)
        if not known.any():
            continue
        judged += 1
        if np.isclose(one[known], other[known], rtol=ROUNDING, atol=0.0).all():
            copies.append(f"{run_name(run)}, {phase}: {twin} has the same losses as {original}")
    if not judged:
        return Check(name, None, "no twins with losses in this timeline")
    return Check(name, not copies, listed(copies) or f"losses differ in {counted(judged, 'pair')} of curves")


def _measured(timeline: Timeline, pairs: Pairs) -> Iterable[tuple[Run, str, str, str]]:
    """Every pair of splits of which a run has at least one in a phase."""
    for run in timeline.runs:
        for phase in timeline.phases(*run):
            measured = timeline.curves(*run, phase)
            for original, twin in pairs:
                if original in measured or twin in measured:
                    yield run, phase, original, twin
