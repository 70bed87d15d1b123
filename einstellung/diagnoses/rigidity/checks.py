"""Timeline checks, run and shown with every score."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import numpy as np

from einstellung.checks import Check
from einstellung.diagnoses.checks import ROUNDING, seeds_are_paired
from einstellung.diagnoses.rigidity.words import say
from einstellung.diagnoses.wording import counted
from einstellung.metrics.curves import TOLERANCE, last_value, unwatched_epochs, value_at
from einstellung.metrics.proportions import wilson_interval
from einstellung.timeline import KNOWN_SPLITS, SC_MASK, SC_PATCH, T1_ALL, VAL, Curve, Run, Timeline
from einstellung.timeline.schema import FloatArray, IntArray
from einstellung.timeline.split_names import meant_split

Curves = Mapping[str, Curve]

UNSEEN_AT_MOST = 0.05  # accuracy of a model, trained on T2 with one head for all classes, on classes it never saw
LEARNED_ABOVE = 0.10  # where T1's classes are not counted: 4 times chance with the paper's 40


def log_checks(timeline: Timeline, baseline: str | None, t1_classes: int | None = None) -> list[Check]:
    """Run all checks; ``baseline`` is its name in the timeline, or None.

    ``t1_classes``: the number of T1's classes, where it is known.
    """
    checks: list[Callable[[], Check]] = [
        lambda: baseline_never_saw_t1(timeline, baseline),
        lambda: t1_was_learned(timeline, baseline, t1_classes),
        lambda: patched_and_masked_match(timeline),
        lambda: mask_does_something(timeline),
        lambda: same_budget(timeline),
        lambda: no_run_twice(timeline),
        lambda: seeds_are_paired(timeline, baseline),
        lambda: splits_are_known(timeline),
    ]
    return [check() for check in checks]


def _runs(runs: Sequence[Run], most: int = 6) -> str:
    text = ", ".join(f"{method} seed {seed}" for method, seed in runs[:most])
    return text + (f" and {len(runs) - most} more" if len(runs) > most else "")


def baseline_never_saw_t1(timeline: Timeline, baseline: str | None) -> Check:
    """The baseline has no T1 phase and does not recognise T1 classes."""
    name = say("check baseline")
    if baseline is None:
        return Check(name, None, say("why: no baseline"))
    trained = [(baseline, seed) for seed in timeline.seeds(baseline) if timeline.curves(baseline, seed, "T1")]
    if trained:
        return Check(name, False, say("T1 rows", runs=_runs(trained)))
    finals = {
        seed: last_value(*timeline.curve(baseline, seed, "T2", T1_ALL), after=0.0) for seed in timeline.seeds(baseline)
    }
    measured = {seed: value for seed, value in finals.items() if value is not None}
    if not measured:
        return Check(name, None, say("T1 unmeasured", baseline=baseline))
    seed = max(measured, key=lambda key: measured[key])
    highest = f"{measured[seed]:.3f}"
    detail = say("T1 highest", baseline=baseline, value=highest, seed=seed, most=UNSEEN_AT_MOST)
    return Check(name, measured[seed] <= UNSEEN_AT_MOST + TOLERANCE, detail)


def starts_fresh(timeline: Timeline, method: str, seed: int, baseline: str | None) -> bool:
    """Whether a run was not trained on T1: the baseline and, by design, some other methods.

    Those have no T1 rows and know no more about T1 at the start of T2 than an untrained network: almost nothing, or as much as
    the baseline of the same seed before its first step.
    """
    if method == baseline:
        return True
    if timeline.curves(method, seed, "T1"):
        return False
    known = value_at(*timeline.curve(method, seed, "T2", T1_ALL), 0.0)
    untrained = None if baseline is None else value_at(*timeline.curve(baseline, seed, "T2", T1_ALL), 0.0)
    return known is not None and known <= max(LEARNED_ABOVE, untrained or 0.0) + TOLERANCE


def t1_was_learned(timeline: Timeline, baseline: str | None, t1_classes: int | None = None) -> Check:
    """Runs with a T1 phase learned T1: at its end, the lower bound of Wilson's interval is above chance.

    A run without a T1 phase may start from scratch by design and is not checked.
    """
    name = say("check T1")
    known: dict[Run, float] = {}
    images: dict[Run, float | None] = {}
    fresh: list[Run] = []
    for method, seed in timeline.runs:
        if method == baseline:
            continue
        value = last_value(*timeline.curve(method, seed, "T1", T1_ALL))
        if value is None:
            value = value_at(*timeline.curve(method, seed, "T2", T1_ALL), 0.0)
        unrecorded = value is None and not timeline.curves(method, seed, "T1")
        if unrecorded or starts_fresh(timeline, method, seed, baseline):
            fresh.append((method, seed))
        elif value is not None:
            known[method, seed], images[method, seed] = value, t1_images(timeline, method, seed)
    aside = say("T1 fresh", runs=_runs(fresh)) if fresh else ""
    if not known:
        return Check(name, None, say("T1 unknown", fresh=aside))
    lowest = min(known, key=lambda run: known[run])
    detail = say("T1 lowest", value=f"{known[lowest]:.3f}", run=_runs([lowest]))
    if t1_classes is None:
        needed = say("T1 above", least=LEARNED_ABOVE)
        return Check(name, known[lowest] > LEARNED_ABOVE, detail + needed + aside)
    least, n = known[lowest], images[lowest]
    if n is not None:
        least = wilson_interval(least, int(n))[0]
        detail += say("T1 interval", least=f"{least:.3f}", n=int(n))
    else:
        detail += say("T1 uncounted")
    detail += say("T1 chance", chance=f"{1 / t1_classes:.3f}", classes=t1_classes)
    return Check(name, least > 1 / t1_classes + TOLERANCE, detail + aside)


def t1_images(timeline: Timeline, method: str, seed: int) -> float | None:
    """The number of T1's test images; None where it was not recorded."""
    for phase in ("T1", "T2"):
        curve = timeline.curves(method, seed, phase).get(T1_ALL)
        if curve is not None and (known := curve.n[~np.isnan(curve.n)]).size:
            return float(known[-1])
    return None


def patched_and_masked_match(timeline: Timeline) -> Check:
    """Both splits contain the same images, evaluated at the same epochs."""
    name = say("check pairs")
    found: dict[str, list[Run]] = {}
    for method, seed in timeline.runs:
        if (kind := pairing(timeline.curves(method, seed, "T2"))) is not None:
            found.setdefault(kind, []).append((method, seed))
    if not found:
        return Check(name, None, say("no pairs"))
    epochs, images = found.get("epochs", []), found.get("images", [])
    detail = say("pairs", runs=counted(sum(map(len, found.values())), "run"))
    if uncounted := found.get("uncounted"):
        detail += say("uncounted", n=len(uncounted))
    if epochs:
        detail += say("other epochs", runs=_runs(epochs))
    if images:
        detail += say("other images", runs=_runs(images))
    return Check(name, not epochs and not images, detail)


def pairing(t2: Curves) -> str | None:
    """How a run's patched and masked curves match; None if one is missing.

    'alike'; 'epochs' or 'images' if these differ; 'uncounted' if image counts were not recorded.
    """
    if SC_PATCH not in t2 or SC_MASK not in t2:
        return None
    patched, masked = t2[SC_PATCH], t2[SC_MASK]
    if len(patched.epochs) != len(masked.epochs) or (np.abs(patched.epochs - masked.epochs) > TOLERANCE).any():
        return "epochs"
    if np.isnan(patched.n).any() or np.isnan(masked.n).any():
        return "uncounted"
    return "images" if (patched.n != masked.n).any() else "alike"


def mask_does_something(timeline: Timeline) -> Check:
    """A masked split with exactly the patched split's values points to a mask that covers nothing, or to a copy.

    Equal accuracies alone are not an error: a model may ignore the cue. Its loss still changes when the cue is covered.
    """
    name = say("check mask")
    found: dict[str, list[Run]] = {"copy": [], "open": [], "loss": [], "acc_task": [], "acc": []}
    for method, seed in timeline.runs:
        if (kind := mask_effect(timeline.curves(method, seed, "T2"))) is not None:
            found[kind].append((method, seed))
    judged = sum(map(len, found.values()))
    if judged == 0:
        return Check(name, None, say("mask unjudged"))
    details = [say(f"mask {kind}", runs=_runs(runs)) for kind, runs in found.items() if runs and kind != "acc"]
    if differ := found["acc"]:
        details.append(say("mask acc", n=len(differ), runs=counted(judged, "run")))
    # Without losses, equal curves that change are the only evidence, and they count against the mask.
    return Check(name, not found["copy"] and not found["open"], "; ".join(details))


def mask_effect(t2: Curves) -> str | None:
    """What covering the cue changes in a run: 'acc', else as :func:`_other_difference`; None where it cannot be judged."""
    if SC_PATCH not in t2 or SC_MASK not in t2:
        return None
    patched, masked = t2[SC_PATCH], t2[SC_MASK]
    shared, here, there = np.intersect1d(patched.epochs, masked.epochs, return_indices=True)
    trained = shared > TOLERANCE
    # Constant curves (all 0, all 1) and single measurements may agree by chance.
    if trained.sum() < 2 or np.ptp(patched.acc[here][trained]) == 0:
        return None
    return (
        _other_difference(patched, masked, here, there)
        if np.array_equal(patched.acc[here], masked.acc[there])
        else "acc"
    )


def _other_difference(patched: Curve, masked: Curve, here: IntArray, there: IntArray) -> str:
    """Where two splits of equal accuracy differ: in 'loss', in 'acc_task', nowhere ('copy'), or unknown ('open')."""

    def differ(one: FloatArray | None, other: FloatArray | None) -> bool | None:
        if one is None or other is None:
            return None
        known = ~np.isnan(one[here]) & ~np.isnan(other[there])
        close = np.isclose(one[here][known], other[there][known], rtol=ROUNDING, atol=0.0)
        return not close.all() if len(close) else None

    losses_differ = differ(patched.loss, masked.loss)
    if losses_differ:
        return "loss"
    if differ(patched.acc_task, masked.acc_task):
        return "acc_task"
    return "open" if losses_differ is None else "copy"


def same_budget(timeline: Timeline) -> Check:
    """Delays and final accuracies are comparable only if all runs have the same training budget and evaluation epochs."""
    name = say("check budget")
    grids: dict[bytes, list[Run]] = {}
    spans: dict[bytes, tuple[float, int]] = {}
    for method, seed in timeline.runs:
        epochs = epoch_grid(timeline.curves(method, seed, "T2"))
        if len(epochs):
            grids.setdefault(epochs.tobytes(), []).append((method, seed))
            spans[epochs.tobytes()] = (float(epochs[-1]), len(epochs))
    if not grids:
        return Check(name, None, say("no grid"))
    lengths = {
        grid: {"epochs": counted(budget, "epoch"), "points": counted(points, "point")}
        for grid, (budget, points) in spans.items()
    }
    if len(grids) == 1:
        everywhere = say("only run" if len(timeline.runs) == 1 else "all runs", n=len(timeline.runs))
        (measured,) = lengths.values()
        return Check(name, True, say("one grid", runs=everywhere, **measured))
    described = [say("grid", runs=_runs(runs, 3), **lengths[grid]) for grid, runs in grids.items()]
    return Check(name, False, " | ".join(described[:6]))


def epoch_grid(t2: Curves) -> FloatArray:
    """The epochs at which a run was measured in T2, after the start."""
    # If subsets are measured only at the end, the validation curve defines the grid; the selected epoch differs between runs.
    curve = t2.get(VAL if (unwatched_epochs(t2) > TOLERANCE).any() else SC_PATCH)
    return np.empty(0) if curve is None else np.round(curve.epochs[curve.epochs > TOLERANCE], 9)


def no_run_twice(timeline: Timeline) -> Check:
    """Two runs with the same T2 curves throughout are one run under two names."""
    name = say("check twice")
    seen: dict[tuple[object, ...], list[Run]] = {}
    for method, seed in timeline.runs:
        if parts := fingerprint(timeline.curves(method, seed, "T2")):
            seen.setdefault(parts, []).append((method, seed))
    compared = sum(map(len, seen.values()))
    if compared < 2:
        return Check(name, None, say("few runs"))
    # Constant curves (all 0, all 1) may agree by chance.
    twice = [runs for runs in seen.values() if len(runs) > 1 and moves(timeline.curves(*runs[0], "T2"))]
    if twice:
        return Check(name, False, say("equal runs", runs=" | ".join(_runs(runs) for runs in twice[:6])))
    return Check(name, True, say("runs differ", n=compared))


def copied_methods(timeline: Timeline) -> set[str]:
    """Methods of which two seeds have the same T2 curves throughout: they are one run, and no evidence of a spread."""
    found = set()
    for method in timeline.methods:
        curves = [timeline.curves(method, seed, "T2") for seed in timeline.seeds(method)]
        parts = [fingerprint(t2) for t2 in curves if moves(t2)]
        if len(set(parts)) < len(parts):
            found.add(method)
    return found


def fingerprint(t2: Curves) -> tuple[object, ...]:
    """Equal for runs with the same T2 curves throughout; empty without T2."""
    parts: list[object] = []
    for split in sorted(t2):
        trained = t2[split].epochs > TOLERANCE
        parts += [split, t2[split].epochs[trained].tobytes(), t2[split].acc[trained].tobytes()]
    return tuple(parts)


def moves(t2: Curves) -> bool:
    """Whether a curve of a run changes after the start."""
    return any(
        len(trained := curve.acc[curve.epochs > TOLERANCE]) >= 2 and bool(np.ptp(trained) > 0) for curve in t2.values()
    )


def splits_are_known(timeline: Timeline) -> Check:
    """Other splits are ignored; one that looks like a misspelt name fails the check."""
    name = say("check splits")
    unknown = [split for split in timeline.splits if split not in KNOWN_SPLITS]
    slips = {split: meant for split in unknown if (meant := meant_split(split)) is not None}
    if slips:
        asked = ", ".join(say("split meant", split=split, meant=meant) for split, meant in slips.items())
        return Check(name, False, say("splits not used", splits=asked))
    aside = say("splits aside", splits=", ".join(unknown)) if unknown else ""
    known = counted(len(timeline.splits) - len(unknown), "known split")
    return Check(name, True, say("splits known", known=known, aside=aside))
