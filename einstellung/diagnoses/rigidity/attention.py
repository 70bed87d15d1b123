"""Attention of the runs: per run in full, per method over seeds, with the reason for every missing value."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from einstellung.diagnoses.rigidity.card import (
    AttentionEstimate,
    AttentionHead,
    AttentionMeasures,
    AttentionOfMethod,
    AttentionOfSeed,
    AttentionRecord,
)
from einstellung.metrics.attention import attention_gain, map_similarity
from einstellung.metrics.statistics import mean_and_sd
from einstellung.results.attention_files import ROLLOUT, AttentionRun, AttentionRuns, Moment, Place
from einstellung.timeline import SC_CLEAN, SC_MASK, SC_PATCH, T1_ALL

KEYS = ("AS_cue", "AS_clean", "AS_masked", "SAG", "CTAS", "CTAS_own", "ADI")
SHARES = {"AS_cue": SC_PATCH, "AS_clean": SC_CLEAN, "AS_masked": SC_MASK}

Judged = tuple[float | None, str | None]  # a value, or why there is none


def attention_summary(runs: AttentionRuns) -> AttentionRecord:
    """Per method the seven measures at the end of T2, over seeds and seed by seed.

    ``rollout`` holds mean, sd (ddof 1) and n of every measure, ``heads`` the same for every head of every layer (head
    ``mean``: the mean map over the heads of a layer), ``per_seed`` the values of single runs, ``why_undefined`` the reasons.
    """
    seeds_of: dict[str, dict[int, AttentionRun]] = {}
    for (method, seed), run in runs.items():
        seeds_of.setdefault(method, {})[seed] = run
    return AttentionRecord(methods={method: _method(own) for method, own in seeds_of.items()})


def attention_of_run(run: AttentionRun) -> list[dict[str, Any]]:
    """Every reading of a run, with SAG for images with the cue and CTAS for those of later phases."""
    first = run.end("T1")
    rows = []
    for (moment, split, place), reading in run.readings.items():
        later = first is not None and moment[0] != "T1"
        rows.append(
            {"phase": moment[0], "epoch": moment[1], "split": split, "layer": place[0], "head": place[1]}
            | reading._asdict()
            | {
                "SAG": gain(run, moment, place)[0] if split == SC_PATCH else None,
                "CTAS": similarity(run, (first, split), (moment, split), place)[0] if later else None,
            }
        )
    return rows


def judge(run: AttentionRun, place: Place) -> dict[str, Judged]:
    """The seven measures of one place at the end of T2, each with the reason where it is undefined."""
    end, first = run.end("T2"), run.end("T1")
    if end is None:
        return dict.fromkeys(KEYS, (None, "phase T2 was not measured"))
    return {
        **{key: share(run, end, split, place) for key, split in SHARES.items()},
        "SAG": gain(run, end, place),
        "CTAS": similarity(run, (first, SC_PATCH), (end, SC_PATCH), place),
        "CTAS_own": similarity(run, (first, T1_ALL), (end, SC_PATCH), place),
        "ADI": _diversity(run, end, place),
    }


def share(run: AttentionRun, moment: Moment, split: str, place: Place) -> Judged:
    """AS: the share of attention inside the cue's box. Minus the entropy, which stands in without a box, is no share."""
    reading = run.readings.get((moment, split, place))
    if reading is None:
        return None, _not_measured(split, moment)
    if not reading.boxed:
        return None, f"{split} has no cue box"
    return reading.AS, None if reading.AS is not None else f"AS of {split} is not a number"


def gain(run: AttentionRun, moment: Moment, place: Place) -> Judged:
    """SAG: how much more of the attention the box gets with the cue in it than without."""
    with_cue, why_cue = share(run, moment, SC_PATCH, place)
    clean, why_clean = share(run, moment, SC_CLEAN, place)
    if with_cue is None or clean is None:
        return None, why_cue or why_clean
    return float(attention_gain(with_cue, clean)), None


def similarity(run: AttentionRun, one: tuple[Moment | None, str], other: tuple[Moment, str], place: Place) -> Judged:
    """CTAS: cosine of two mean maps, each given by moment and split."""
    moment, split = one
    if moment is None:
        return None, "no phase T1 ended before T2 began, so there is no earlier map"
    if not run.arrays:
        return None, "no maps were stored"
    maps = run.mean_map(moment, split, place), run.mean_map(*other, place)
    if maps[0] is None:
        return None, _not_measured(split, moment)
    if maps[1] is None:
        return None, _not_measured(other[1], other[0])
    return float(map_similarity(maps[0], maps[1])), None


def _diversity(run: AttentionRun, moment: Moment, place: Place) -> Judged:
    reading = run.readings.get((moment, SC_PATCH, place))
    if reading is None:
        return None, _not_measured(SC_PATCH, moment)
    return reading.ADI, None if reading.ADI is not None else "undefined for a single image"


def _not_measured(split: str, moment: Moment) -> str:
    return f"{split} was not measured at the end of {moment[0]}"


def _method(runs: Mapping[int, AttentionRun]) -> AttentionOfMethod:
    judged = {seed: judge(run, ROLLOUT) for seed, run in runs.items()}
    reasons = {key: _reasons([own[key][1] for own in judged.values()]) for key in KEYS}
    places = dict.fromkeys(place for run in runs.values() for place in run.places if place != ROLLOUT)
    return AttentionOfMethod(
        n_seeds=len(runs),
        rollout=AttentionMeasures(**_over_seeds(list(judged.values()))),
        why_undefined={key: why for key, why in reasons.items() if why is not None},
        heads=tuple(
            AttentionHead(layer=layer, head=head, **_over_seeds([judge(run, (layer, head)) for run in runs.values()]))
            for layer, head in places
        ),
        per_seed={
            seed: AttentionOfSeed(**{key: value for key, (value, _) in own.items()}, epoch=_epoch(runs[seed]))
            for seed, own in judged.items()
        },
    )


def _over_seeds(judged: Sequence[Mapping[str, Judged]]) -> dict[str, AttentionEstimate]:
    found = {key: mean_and_sd([own[key][0] for own in judged]) for key in KEYS}
    return {key: AttentionEstimate(mean=mean, sd=sd, n=n) for key, (mean, sd, n) in found.items()}


def _epoch(run: AttentionRun) -> float | None:
    end = run.end("T2")
    return None if end is None else end[1]


def _reasons(reasons: Sequence[str | None]) -> str | None:
    """Each reason once."""
    return "; ".join(dict.fromkeys(reason for reason in reasons if reason is not None)) or None
