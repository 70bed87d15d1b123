"""The same examples under two models or more: matched by id, condition and seed, never by position."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pandas as pd

from einstellung.errors import InputError
from einstellung.gating.predictions import CLEAN, COVERED, CUE, Predictions

FloatArray = npt.NDArray[np.float64]
BEFORE, AFTER, BASELINE = "before", "after", "baseline"


@dataclass(frozen=True)
class Measured:
    """What models did under one condition: arrays [examples, seeds] by model, in the order of ``ids``.

    ``right``: 1 where the prediction is the label. ``confidence`` and ``brier``: by model, where every model has them.
    """

    ids: pd.Index
    right: Mapping[str, FloatArray]
    confidence: Mapping[str, FloatArray]
    brier: Mapping[str, FloatArray]


@dataclass(frozen=True)
class Paired:
    """All conditions; ``cue`` and ``covered`` hold the same examples. ``labels`` and ``groups`` are by id."""

    conditions: Mapping[str, Measured]
    labels: pd.Series
    groups: pd.Series | None
    seeds: tuple[str, ...]
    warnings: tuple[str, ...]

    def gain(self, model: str) -> FloatArray:
        """By example and seed: right with the cue minus right with the cue covered."""
        return self.conditions[CUE].right[model] - self.conditions[COVERED].right[model]


def pair(models: Mapping[str, Predictions]) -> Paired:
    """Match models by ids; whatever does not match is an error that names an example."""
    frames = {role: given.frame for role, given in models.items()}
    seeds, frames, warnings = _common_seeds(models, frames)
    first = models[BEFORE]
    for role, given in models.items():
        if role == BASELINE:
            continue
        if differing := set(first.conditions) ^ set(given.conditions):
            one = sorted(differing)[0]
            lacks, has = (given, first) if one in first.conditions else (first, given)
            raise InputError(f"{lacks.name} has no rows with the condition '{one}', {has.name} has; give both the same")
    labels = _by_id(models, frames, "label")
    assert labels is not None
    conditions = {}
    for condition in first.conditions:
        present = {
            role: frame[frame["condition"] == condition]
            for role, frame in frames.items()
            if condition in (CUE, COVERED) or role != BASELINE  # a scratch model is compared by its reliance only
        }
        conditions[condition] = _measured(models, present, seeds, condition)
    _require_same_ids(conditions[CUE].ids, conditions[COVERED].ids, first.name, CUE, first.name, COVERED)
    conditions[COVERED] = _reordered(conditions[COVERED], conditions[CUE].ids)
    without_baseline = {role: frame for role, frame in frames.items() if role != BASELINE}
    groups = _by_id(models, without_baseline, "group")
    return Paired(conditions, labels, groups, tuple(seeds), tuple(warnings))


def _common_seeds(
    models: Mapping[str, Predictions], frames: Mapping[str, pd.DataFrame]
) -> tuple[list[str], dict[str, pd.DataFrame], list[str]]:
    """The seeds that all models have; single runs are paired whatever their seeds are."""
    by_role = {role: given.seeds for role, given in models.items()}
    if all(len(seeds) == 1 for seeds in by_role.values()):
        seed = by_role[BEFORE][0]
        return [seed], {role: frame.assign(seed=seed) for role, frame in frames.items()}, []
    common = [seed for seed in by_role[BEFORE] if all(seed in seeds for seeds in by_role.values())]
    if not common:
        raise InputError(
            "the models have no seed in common: "
            + "; ".join(f"{models[role].name} has {', '.join(seeds)}" for role, seeds in by_role.items())
        )
    left_out = sorted({seed for seeds in by_role.values() for seed in seeds} - set(common))
    warnings = [f"Seeds that not every model has are left out: {', '.join(left_out)}."] if left_out else []
    return common, {role: frame[frame["seed"].isin(common)] for role, frame in frames.items()}, warnings


def _measured(
    models: Mapping[str, Predictions], present: Mapping[str, pd.DataFrame], seeds: Sequence[str], condition: str
) -> Measured:
    start = present[BEFORE]
    ids = pd.Index(start.loc[start["seed"] == seeds[0], "id"])
    tables: dict[str, dict[str, FloatArray]] = {"right": {}, "confidence": {}, "brier": {}}
    for role, frame in present.items():
        shown = frame.assign(right=(frame["label"] == frame["prediction"]).astype(np.float64))
        by_seed = []
        for seed in seeds:
            rows = shown[shown["seed"] == seed].set_index("id") if len(seeds) > 1 else shown.set_index("id")
            _require_same_ids(ids, rows.index, models[BEFORE].name, condition, models[role].name, condition)
            by_seed.append(rows.loc[ids])
        for column, found in tables.items():
            if column in shown:
                found[role] = np.stack([rows[column].to_numpy(dtype=np.float64) for rows in by_seed], axis=1)
    both = {column: found if {BEFORE, AFTER} <= set(found) else {} for column, found in tables.items()}
    return Measured(ids, tables["right"], both["confidence"], both["brier"])


def _reordered(measured: Measured, ids: pd.Index) -> Measured:
    places = measured.ids.get_indexer(ids)
    right, confidence, brier = (
        {role: values[places] for role, values in table.items()}
        for table in (measured.right, measured.confidence, measured.brier)
    )
    return Measured(ids, right, confidence, brier)


def _require_same_ids(
    one: pd.Index, other: pd.Index, one_name: str, one_condition: str, other_name: str, other_condition: str
) -> None:
    if len(one) == len(other) and one.isin(other).all():
        return
    missing, extra = one.difference(other), other.difference(one)
    alone, has, lacks = (
        (missing, f"{one_name} ({one_condition})", f"{other_name} ({other_condition})")
        if len(missing)
        else (extra, f"{other_name} ({other_condition})", f"{one_name} ({one_condition})")
    )
    raise InputError(f"{len(alone)} ids of {has} are not in {lacks}, e.g. '{alone[0]}': give the same examples to both")


def _by_id(models: Mapping[str, Predictions], frames: Mapping[str, pd.DataFrame], column: str) -> pd.Series | None:
    """The label or group of every example, the same for all models; None where no model has groups."""
    found: pd.Series | None = None
    owner = ""
    for role, frame in frames.items():
        if column not in frame:
            continue
        own = frame.drop_duplicates("id").set_index("id")[column]
        if found is None:
            found, owner = own, models[role].name
            continue
        common = own.index.intersection(found.index)
        differing = (own[common] != found[common]).to_numpy()
        if differing.any():
            one = common[int(differing.argmax())]
            raise InputError(
                f"id '{one}' has the {column} '{found[one]}' in {owner} and '{own[one]}' in {models[role].name}: "
                "predictions of other data cannot be compared"
            )
        found = pd.concat([found, own[~own.index.isin(found.index)]])
    return found


def deployed(paired: Paired, model: str) -> FloatArray:
    """Right answers on every example once, as it is met in use: with its cue if it has one, otherwise clean."""
    cue = paired.conditions[CUE]
    clean = paired.conditions.get(CLEAN)
    if clean is None:
        return cue.right[model]
    others = ~clean.ids.isin(cue.ids)
    return np.concatenate([cue.right[model], clean.right[model][others]])
