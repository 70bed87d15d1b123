"""A phase of a stream of many, in the role of T2: the phases before it are its history, T1.

The index is defined for two phases. Phase k of n is scored by projecting the timeline onto two: phase k becomes T2, with its own
splits; the phase before it becomes T1, measured on the test images of all earlier phases together (``T1_all``, pooled by their
numbers of images). Everything else is left out, and the scoring is that of two phases.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache

import pandas as pd

from einstellung.diagnoses.baseline import alike
from einstellung.diagnoses.rigidity.checks import LEARNED_ABOVE
from einstellung.metrics.curves import TOLERANCE
from einstellung.timeline import NSC, OPTIONAL_COLUMNS, SC_MASK, SC_PATCH, T1_ALL, Timeline
from einstellung.timeline.split_names import as_second_phase

FRESH = ("scratch_t2", "scratch")  # baselines, in the order of preference
NEW_NETS = (*FRESH, "scratch_pair")  # methods that start every phase with a new net
_MOMENT = ["method", "seed", "phase", "epoch"]


def has_many_phases(timeline: Timeline, planned: int = 2) -> bool:
    """Whether the timeline has other phases than T1 and T2 with test images of their own, and one that can be scored.

    ``planned``: how many phases the stream has; an unfinished study may not have reached the third.
    """
    scored = scored_phases(timeline)
    if scored and planned > 2:
        return True
    others = [phase for phase in timeline.phase_names if phase not in ("T1", "T2")]
    return bool(scored) and any(phase in scored or splits_with_test_images(timeline, phase) for phase in others)


def scored_phases(timeline: Timeline) -> tuple[str, ...]:
    """The phases with a cue and something before them, in order: those that measured their own images with it."""
    frame = timeline.frame
    measured = {(phase, split) for phase, split in frame[["phase", "split"]].drop_duplicates().itertuples(index=False)}
    found = []
    for place, phase in enumerate(timeline.phase_names):
        is_first = phase == "T1" if phase[:1] == "T" and phase[1:].isdigit() else place == 0
        own = {f"{phase}{split.removeprefix('T2')}" for split in (SC_PATCH, SC_MASK)}
        if not is_first and any((phase, split) in measured for split in own):
            found.append(phase)
    return tuple(found)


def earlier_phases(timeline: Timeline, phase: str) -> tuple[str, ...]:
    """The phases before one."""
    names = timeline.phase_names
    return names[: names.index(phase)]


def splits_with_test_images(timeline: Timeline, phase: str) -> tuple[str, ...]:
    """The splits that together hold a phase's test images as training shows them; empty where they were not measured."""
    splits = set(timeline.splits)
    if f"{phase}_all" in splits:
        return (f"{phase}_all",)
    both = tuple(f"{phase}{split.removeprefix('T2')}" for split in (SC_PATCH, NSC))
    return both if set(both) <= splits else ()


def pooled(frame: pd.DataFrame, splits: Sequence[str], name: str) -> pd.DataFrame:
    """Several splits as one, weighted by their images: rows for the moments at which all of them were measured.

    >>> rows = {"method": "a", "seed": 1, "phase": "T3", "epoch": 1.0, "split": ["T1_all", "T2_all"]}
    >>> table = pd.DataFrame({**rows, "acc": [0.9, 0.3], "loss": float("nan"), "n": [100.0, 200.0]})
    >>> pooled(table, ["T1_all", "T2_all"], "T1_all")[["acc", "n"]].values.tolist()
    [[0.5, 300.0]]
    """
    parts = frame[frame["split"].isin(splits)]
    groups = parts.groupby(_MOMENT, sort=False)
    parts = parts[groups["split"].transform("size") == len(splits)]
    known = parts["n"].notna().groupby([parts[key] for key in _MOMENT], sort=False).transform("all")
    weight = parts["n"].where(known, 1.0)
    keys = [parts[key] for key in _MOMENT]
    total = weight.groupby(keys, sort=False).sum()
    columns = [column for column in ("acc", "loss", "acc_task", "top5") if column in parts]
    means = {
        column: (parts[column] * weight).groupby(keys, sort=False).sum(min_count=len(splits)) / total
        for column in columns
    }
    counts = parts["n"].groupby(keys, sort=False).sum(min_count=len(splits))
    found = pd.DataFrame({**means, "n": counts}).reset_index()
    found["split"] = name
    return found


@lru_cache(maxsize=16)
def projected(timeline: Timeline, phase: str) -> Timeline:
    """The timeline of a phase (T2) and its history (T1); runs that skipped the phase are left out."""
    frame, earlier = timeline.frame, earlier_phases(timeline, phase)
    now = frame[frame["phase"] == phase]
    runs = pd.MultiIndex.from_frame(now[["method", "seed"]].drop_duplicates())
    before = [_phase_before(timeline, method, seed, earlier) for method, seed in runs]
    kept = {(method, seed, one) for (method, seed), one in zip(runs, before, strict=True) if one is not None}
    history = frame[pd.MultiIndex.from_frame(frame[["method", "seed", "phase"]]).isin(list(kept))] if kept else now[:0]
    names = _new_names(timeline, phase)
    parts = []
    for rows, role in ((history, "T1"), (now, "T2")):
        own = rows[rows["split"].isin(list(names))]
        parts.append(own.assign(phase=role, split=own["split"].map(names)))
        if past := [split for one in earlier for split in splits_with_test_images(timeline, one)]:
            parts.append(pooled(rows, past, T1_ALL).assign(phase=role))
    table = pd.concat([part for part in parts if len(part)], ignore_index=True)
    columns = [column for column in frame.columns if column in table and not table[column].isna().all()]
    needed = [column for column in frame.columns if column not in OPTIONAL_COLUMNS or column in columns]
    order = {method: place for place, method in enumerate(timeline.methods)}
    table = table.reindex(columns=needed).sort_values("method", key=lambda column: column.map(order), kind="stable")
    return Timeline(table.reset_index(drop=True))


def _new_names(timeline: Timeline, phase: str) -> dict[str, str]:
    """What the splits of a phase's rows are called where it is T2; those of other phases are left out, unknown ones are kept."""
    names = {}
    for split in timeline.splits:
        owners = [one for one in timeline.phase_names if split.startswith(f"{one}_")]
        owner = max(owners, key=len, default=None)
        if owner is None:
            names[split] = split
        elif owner == phase and split != f"{phase}_all":
            names[split] = str(as_second_phase(split, phase))
    return names


def _phase_before(timeline: Timeline, method: str, seed: int, earlier: Sequence[str]) -> str | None:
    own = timeline.phases(method, seed)
    return next((one for one in reversed(earlier) if one in own), None)


def baseline_of(timeline: Timeline, asked: str | None) -> str | None:
    """The baseline of a projected timeline: the one that was asked for, else scratch_t2, else scratch."""
    if asked is not None:
        found = alike(asked, timeline.methods)
        return found[0] if len(found) == 1 else asked
    return next((found[0] for name in FRESH if len(found := alike(name, timeline.methods)) == 1), None)


@lru_cache(maxsize=16)
def without_history(timeline: Timeline, baseline: str | None) -> Timeline:
    """A projected timeline without T1 of the runs that enter T2 with a new net.

    ``scratch`` and ``scratch_pair`` do, by their names; another baseline does if it knows next to nothing as T2 begins.
    """
    frame = timeline.frame
    fresh = frame["method"].str.lower().isin(NEW_NETS)
    if baseline is not None and baseline.lower() not in NEW_NETS:
        own = frame["method"] == baseline
        start = frame[own & (frame["phase"] == "T2") & (frame["split"] == T1_ALL) & (frame["epoch"] <= TOLERANCE)][
            "acc"
        ]
        if len(start) and bool((start <= LEARNED_ABOVE + TOLERANCE).all()):
            fresh = fresh | own
    return Timeline(frame[~(fresh & (frame["phase"] == "T1"))].reset_index(drop=True))
