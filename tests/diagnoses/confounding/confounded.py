"""Timelines of confounded tasks for the tests: accuracies given by hand, or printed in the paper."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import pandas as pd

from einstellung.diagnoses.confounding.card import ConfoundingCard
from einstellung.diagnoses.confounding.score import score_tasks
from einstellung.diagnoses.confounding.study import TaskDescription
from einstellung.results.config import StudyConfig, read_preset
from einstellung.results.family import Family
from einstellung.timeline import Timeline

CONFOUNDERS = ("blue", "metal", "large")

COLUMNS = ["method", "seed", "phase", "epoch", "split", "acc", "loss", "n"]

#: Mean 0 and standard deviation (ddof 1) 1, for five seeds.
STEPS = (-1.2649110640673518, -0.6324555320336759, 0.0, 0.6324555320336759, 1.2649110640673518)

#: Figure 6, NN, disjoint: after every phase, positives and negatives of T1, T2, T3 and the unconfounded set, in per cent.
#: The leading digits of one number (naive, T1 positives after T2) cannot be read; any share would do.
FIGURE_6: dict[str, list[tuple[list[float], list[float]]]] = {
    "naive": [
        ([100.00, 0.00, 0.00, 43.39], [100.00, 100.00, 100.00, 59.07]),
        ([0.84, 99.89, 17.68, 97.12], [84.37, 84.43, 84.56, 4.96]),
        ([0.03, 27.23, 100.00, 92.03], [100.00, 100.00, 100.00, 4.19]),
    ],
    "er": [
        ([100.00, 14.24, 14.00, 47.25], [100.00, 100.00, 100.00, 55.47]),
        ([99.95, 99.25, 20.83, 97.01], [100.00, 100.00, 100.00, 5.92]),
        ([100.00, 99.15, 99.97, 99.55], [100.00, 100.00, 100.00, 0.69]),
    ],
    "cumulative": [
        ([100.00, 0.19, 0.00, 43.39], [100.00, 100.00, 100.00, 59.07]),
        ([100.00, 99.95, 1.44, 97.44], [100.00, 100.00, 100.00, 5.12]),
        ([99.95, 99.89, 100.00, 99.60], [100.00, 100.00, 99.95, 0.27]),
    ],
}


def figure_6_ends() -> dict[str, dict[str, dict[str, float]]]:
    """The same as shares by method, phase and split."""
    ends: dict[str, dict[str, dict[str, float]]] = {}
    for method, phases in FIGURE_6.items():
        for number, row in enumerate(phases, start=1):
            for label, values in zip(("positive", "negative"), row, strict=True):
                for what, value in zip(("T1", "T2", "T3", "unconfounded"), values, strict=True):
                    ends.setdefault(method, {}).setdefault(f"T{number}", {})[f"{what}_{label}"] = value / 100
    return ends


def both(**means: float) -> dict[str, float]:
    """The same accuracy for positives and negatives of each task."""
    return {f"{what}_{label}": value for what, value in means.items() for label in ("positive", "negative")}


def twins(task: str, positive: tuple[float, float], negative: tuple[float, float]) -> dict[str, float]:
    """Accuracies on images that have a twin and on the twins."""
    pairs = {"positive": positive, "negative": negative}
    return {
        f"{task}_{label}_{kind}": value
        for label, pair in pairs.items()
        for kind, value in zip(("paired", "twin"), pair, strict=True)
    }


def study(
    ends: Mapping[str, Mapping[str, Mapping[str, float]]],
    *,
    seeds: Sequence[int] = (1, 2, 3),
    spread: float = 0.0,
    epochs: int = 4,
    start: bool = True,
    **changes: Any,
) -> Timeline:
    """Curves that rise in a straight line from one half to their ends (method -> phase -> split -> accuracy).

    Seeds differ by ``spread`` times :data:`STEPS`, as far as accuracies allow, and a little in their losses.
    """
    rows = []
    for method, phases in ends.items():
        for place, seed in enumerate(seeds):
            shift = spread * STEPS[place + (len(STEPS) - len(seeds)) // 2]
            for phase, splits in phases.items():
                for split, end in splits.items():
                    last = min(max(end + shift, 0.0), 1.0)
                    for epoch in range(0 if start else 1, epochs + 1):
                        acc = 0.5 + (last - 0.5) * epoch / epochs
                        rows.append(
                            (method, seed, phase, float(epoch), split, acc, 1.5 - acc + seed / 1000, images(split))
                        )
    return Timeline(pd.DataFrame(rows, columns=COLUMNS).assign(**changes))


def curve(split: str, *acc: float, method: str = "naive", seed: int = 1, phase: str = "T1") -> pd.DataFrame:
    """One curve, measured after epochs 1, 2, ..."""
    points = enumerate(acc, start=1)
    rows = [(method, seed, phase, float(epoch), split, value, None, 500) for epoch, value in points]
    return pd.DataFrame(rows, columns=COLUMNS)


def images(split: str) -> int:
    if split.endswith(("_paired", "_twin")):
        return 600
    return 1500 if split.endswith(("_train", "_val")) else 750


def three_tasks() -> dict[str, dict[str, dict[str, float]]]:
    """A strict study by hand: scratch, naive and cumulative lean on each confounder, joint does not."""
    confounded = {
        "T1": both(T1=1.0, T2=0.5, T3=0.5, unconfounded=0.5),
        "T2": both(T1=0.5, T2=1.0, T3=0.5, unconfounded=0.5),
        "T3": both(T1=0.5, T2=0.5, T3=1.0, unconfounded=0.5),
    }
    cumulative = {
        "T1": both(T1=1.0, T2=0.5, T3=0.5, unconfounded=0.5),
        "T2": both(T1=0.9, T2=0.88, T3=0.55, unconfounded=0.62),
        "T3": both(T1=0.86, T2=0.9, T3=0.89, unconfounded=0.72),
    }
    joint = {"T3": both(T1=0.98, T2=0.99, T3=0.99, unconfounded=0.95)}
    ends = {"scratch": confounded, "naive": confounded, "cumulative": cumulative, "joint": joint}
    leaning = {"scratch": 0.30, "naive": 0.20, "cumulative": 0.60, "joint": 0.94}
    for method, phases in ends.items():
        copy = {phase: dict(splits) for phase, splits in phases.items()}
        for splits in copy.values():
            for task in ("T1", "T2", "T3"):
                splits |= {f"{task}_train": min(1.0, splits[f"{task}_positive"] + 0.01)}
                splits |= {f"{task}_val": splits[f"{task}_positive"]}
                splits |= twins(task, (0.98, leaning[method]), (0.97, leaning[method] + 0.02))
        ends[method] = copy
    return ends


def joint_ends(tasks: float, unconfounded: float) -> dict[str, dict[str, dict[str, float]]]:
    """Joint training by its accuracies."""
    return {"joint": {"T3": both(T1=tasks, T2=tasks, T3=tasks, unconfounded=unconfounded)}}


def papers_config(*changes: str) -> StudyConfig:
    """The paper's own configuration (NN, strict) with these settings changed."""
    family = Family.of(read_preset("concon-paper"), "concon-paper")
    assert family is not None
    return family.studies("concon-paper", changes)["nn-strict"]


def card_of(timeline: Timeline, variant: str = "strict") -> ConfoundingCard:
    """The card of a study with pixels, of images that are smaller than the paper's."""
    described = TaskDescription(variant=variant, model="NN", confounders=CONFOUNDERS)
    return score_tasks(timeline, study=described, config=papers_config("stream.size=64"))
