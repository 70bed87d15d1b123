"""Random logs and settings, each from a seed: small, and full of what scoring has to get right.

Ties (accuracies are k / n, thresholds are decimals), censoring, splits, phases, seeds and cells that are missing, runs that are
copies, names that are hostile, floors, and settings of every kind, wrong ones among them.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from einstellung.timeline import Timeline

NAMES = ("sgd", "er", "derpp", "2", "10", "__proto__", "constructor", "</script>", "naïve ∆ {x}", "SGD", "sgd_long")
SEEDS = (1, 2, 3, 42, 7, 11, 123, -4, 2**60 + 1, 19, 5, 6, 8)
PATCHED, MASKED, NSC, T1 = "T2_shortcut_normal", "T2_shortcut_masked", "T2_nonshortcut_normal", "T1_all"
EXTRA = ("T2_shortcut_clean", "T2_shortcut_elsewhere", "T2_nonshortcut_patched", "T2_group_night", "T2_group___proto__")
ODD = ("T2_shortcut_maskd", "mine", "T1_val", "T3_x")
GRIDS = (
    [0.0, 1.0, 2.0, 3.0, 4.0, 5.0],
    [1.0, 2.0, 3.0, 4.0],
    [k / 3 for k in range(10)],
    [0.5, 1.0, 1.5, 2.0, 4.0, 6.0],
    [0.0, 1.0],
    [0.0],
    [2.0],
)


#: How a method differs from the baseline: speed, accuracy with the cue, accuracy with it covered; so that every pattern occurs.
SCENARIOS = {
    "red-flag": (3.0, 0.05, -0.2),
    "avoidance": (3.0, -0.1, 0.2),
    "transfer": (0.9, -0.05, 0.05),
    "shared": (1.0, 0.0, 0.0),
    "any": None,
}


@dataclass(frozen=True)
class RandomLog:
    """A log with the facts of its stream, the study's settings, and other settings with a choice of methods and seeds.

    Settings are texts as on a command line.
    """

    timeline: Timeline
    proof: dict[str, Any] | None
    own: dict[str, str]
    other: dict[str, str]
    methods: list[str] | None
    seeds: list[int] | None


def random_log(seed: int) -> RandomLog:
    rng = np.random.default_rng([20, seed])
    timeline = Timeline(_frame(rng))
    own = _settings(rng, timeline)
    # What a card does not tell: whether the default baseline and rule were named, and how the baseline was spelt.
    if own.get("baseline", "scratch_t2").lower() == "scratch_t2" or own["baseline"] not in timeline.methods:
        own.pop("baseline", None)
    if own.get("final") == "best-val":
        del own["final"]
    methods, seeds = _choice(rng, timeline)
    return RandomLog(timeline, _proof(rng), own, _settings(rng, timeline), methods, seeds)


def _chance(rng: np.random.Generator, p: float) -> bool:
    return bool(rng.random() < p)


def _frame(rng: np.random.Generator) -> pd.DataFrame:
    baseline = rng.choice(["scratch_t2"] * 8 + ["Scratch_T2", "er"])
    others = rng.choice(NAMES, size=rng.integers(0, 4), replace=False)
    methods = [name for name in dict.fromkeys([baseline, *others]) if name != baseline or _chance(rng, 0.95)] or ["sgd"]
    rng.shuffle(methods)
    seeds = list(
        rng.choice(SEEDS, size=rng.choice([1, 2, 3, 4, 5, 12], p=[0.1, 0.15, 0.4, 0.2, 0.1, 0.05]), replace=False)
    )
    grid = GRIDS[rng.choice(len(GRIDS), p=[0.3, 0.25, 0.15, 0.15, 0.05, 0.05, 0.05])]
    n = int(rng.choice([8, 10, 20, 50, 500]))
    style = {
        "task": _chance(rng, 0.4),
        "within": _chance(rng, 0.5),
        "loss": rng.choice(["none", "some", "all"]),
        "uncounted": _chance(rng, 0.2),
        "holes": _chance(rng, 0.3),
        "val": rng.choice(["none", "all", "some"]),
        "t1": _chance(rng, 0.5),
        "nsc": _chance(rng, 0.75),
        "extra": _chance(rng, 0.4),
        "odd": _chance(rng, 0.15),
        "floor": _chance(rng, 0.15),
        "steady": _chance(rng, 0.15),  # seeds that do not differ
        "noise": rng.choice([0.003, 0.02]),
    }
    base = (rng.uniform(0.4, 1.0), rng.uniform(0.7, 0.9), rng.choice([0.0, 0.3, 0.5, 0.7, 0.75, 0.95]))
    rows: list[dict[str, Any]] = []
    for method in methods:
        change = SCENARIOS[rng.choice(list(SCENARIOS))] if method != baseline else (1.0, 0.0, 0.0)
        if change is None:
            change = (rng.uniform(0.3, 3.0), rng.uniform(-0.5, 0.2), rng.uniform(-0.5, 0.5))
        rate = base[0] * change[0]
        level = {PATCHED: base[1] + change[1], MASKED: base[2] + change[2]}
        if change[1] < 0 < change[2]:  # a benign pattern needs a net that hardly relies on the cue
            level[MASKED] = level[PATCHED] - rng.uniform(-0.01, 0.03)
        level[NSC] = rng.choice([0.0, rng.uniform(0.1, 0.9), rng.uniform(0.1, 0.9), 0.5])
        if style["floor"]:
            level[PATCHED], level[MASKED] = rng.choice([0.04, 0.8]), rng.choice([0.0, 0.03])
        for own in seeds:
            if len(seeds) > 1 and _chance(rng, 0.08):
                continue
            noise = np.random.default_rng(5) if style["steady"] else rng
            rows += _run(rng, noise, style, str(method), int(own), level, rate, grid, n)
    if not rows:
        return _frame(rng)
    if _chance(rng, 0.05) and len(methods) > 1:  # a run under two names
        first = [row for row in rows if row["method"] == rows[0]["method"] and row["seed"] == rows[0]["seed"]]
        rows += [row | {"method": "copy"} for row in first]
    frame = pd.DataFrame(rows)
    if _chance(rng, 0.3):
        frame = frame.sample(frac=1, random_state=int(rng.integers(1000)))
    return frame.reset_index(drop=True)


def _run(rng, noise, style, method, seed, level, rate, grid, n) -> list[dict[str, Any]]:
    rows = []
    splits = [PATCHED, MASKED, *([NSC] if style["nsc"] else []), T1]
    splits += [split for split in EXTRA if style["extra"] and _chance(rng, 0.8)]
    splits += [split for split in ODD if style["odd"] and _chance(rng, 0.3)]
    if style["val"] == "all" or (style["val"] == "some" and _chance(rng, 0.5)):
        splits.append("T2_val")
    if _chance(rng, 0.1):
        splits = [split for split in splits if _chance(rng, 0.7)] or [PATCHED]
    copied = _chance(rng, 0.06)
    phases = ["T2"] if _chance(rng, 0.97) else ["T3"]
    if style["t1"] and (method.lower() != "scratch_t2" or _chance(rng, 0.1)):
        phases.insert(0, "T1")
    for phase in phases:
        curves: dict[tuple[str, float], float] = {}
        for split in splits:
            goal = level.get(split, rng.uniform(0, 1) if split != "T2_val" else level[PATCHED])
            if split == T1:
                goal = 0.6 if phase == "T1" else rng.choice([0.0, 0.02, 0.3])
            for epoch in grid:
                if style["holes"] and _chance(rng, 0.12):
                    continue
                if phase == "T1" and split != T1 and _chance(rng, 0.7):
                    continue
                value = goal * (1 - np.exp(-rate * epoch)) + noise.normal(0, style["noise"])
                if split == T1 and phase == "T2":
                    value = goal + 0.5 * np.exp(-epoch) * ("T1" in phases) + noise.normal(0, 0.01)
                acc = round(min(max(value, 0.0), 1.0) * n) / n
                curves[split, epoch] = curves.get((PATCHED, epoch), acc) if copied and split == MASKED else acc
        for (split, epoch), acc in curves.items():
            row = {"method": method, "seed": seed, "phase": phase, "epoch": epoch, "split": split, "acc": acc}
            row["loss"] = (
                None if style["loss"] == "none" or (style["loss"] == "some" and _chance(rng, 0.5)) else 1 - acc
            )
            if copied and split == MASKED and row["loss"] is not None:
                row["loss"] += 0.1 * _chance(rng, 0.3)
            row["n"] = None if style["uncounted"] and _chance(rng, 0.5) else n + (_chance(rng, 0.01) * 10)
            if style["task"]:
                row["acc_task"] = None if _chance(rng, 0.1) else round(min(acc * 1.2, 1) * n) / n
            if style["within"]:
                row["acc_within"] = None if _chance(rng, 0.1) else round((acc + 1) / 2 * n) / n
            rows.append(row)
    return rows


def _proof(rng: np.random.Generator) -> dict[str, Any] | None:
    if _chance(rng, 0.5):
        return None
    classes, own = rng.choice([(4, 2), (10, 5), (60, 20), (20, 20)])
    facts = {"chance": 1 / classes, "chance_task": 1 / own, "training_images": {"T1": 10, "T2": 10}}
    return {"facts": facts}


def _settings(rng: np.random.Generator, timeline: Timeline) -> dict[str, str]:
    def number(*values: float) -> str:
        return str(rng.choice(np.array(values, dtype=object)))

    wrong = _chance(rng, 0.06)
    found = {
        "tau": number(0.6, 0.5, 0.45, 0.3, 0.8, 0.05, 1, 0.125) if not wrong else number(0, 1.5, "abc", "nan", -1),
        "window": number(1, 2, 3, 4, 7),
        "smoothing": str(rng.choice(["trailing", "centred", "none"])),
        "tau_grid": str(rng.choice(["0.3,0.35,0.4", "0.6", "0.123,0.5,0.5", "0.9,0.1,0.25"])),
        "final": str(rng.choice(["auto", "last", "best-val"], p=[0.5, 0.4, 0.1])),
        "margins": ",".join(number(*choice) for choice in ((1, 0, 0.5, 3), (0.02, 0, 0.1), (0.02, 0, 0.05, 0.2))),
        "classes": number(2, 4, 10, 60, 100),
        "baseline": str(rng.choice([*timeline.methods, timeline.methods[0].upper()])),
    }
    if wrong:
        slip = {
            "window": number(0, 2.5, "x"),
            "smoothing": "none ",
            "final": "best",
            "margins": "-1,0.02,0.02",
            "classes": "1",
            "baseline": timeline.methods[0] + "x",
            "tau_grid": "0.3,2",
            "tuo": "1",
        }
        found |= {key: value for key, value in slip.items() if _chance(rng, 0.2)}
        found |= {"tau": "0.6"} if _chance(rng, 0.7) else {}
    rare = {"baseline": 0.15, "classes": 0.3, "tau_grid": 0.4}
    return {key: value for key, value in found.items() if _chance(rng, rare.get(key, 0.6))}


def _choice(rng: np.random.Generator, timeline: Timeline) -> tuple[list[str] | None, list[int] | None]:
    def part(things: list[Any], odd: Any) -> list[Any] | None:
        if _chance(rng, 0.6):
            return None
        kept = [thing for thing in things if _chance(rng, 0.7)] or things[:1]
        return [*kept, odd] if _chance(rng, 0.05) else kept

    seeds = sorted({seed for _, seed in timeline.runs})
    return part(list(timeline.methods), "sdg"), part(seeds, 99)
