"""A log of four phases, whose every accuracy is a formula, so that the index of any phase can be worked out on paper."""

from __future__ import annotations

from typing import Any

import pandas as pd

PHASES = ("T1", "T2", "T3", "T4")
CUES = ("T2", "T4")
SPLITS = {
    **{f"{phase}_all": 100 * (place + 1) for place, phase in enumerate(PHASES)},
    **{f"{phase}_{part}": 50 for phase in CUES for part in ("shortcut_normal", "shortcut_masked")},
    **{f"{phase}_nonshortcut_normal": 60 for phase in CUES},
    **{f"{phase}_val": 20 for phase in PHASES},
}
EPOCHS = range(6)


def log(
    methods: tuple[str, ...] = ("scratch", "sgd"), seeds: tuple[int, ...] = (1, 2, 3), **names: str
) -> pd.DataFrame:
    """Rows of every phase; ``names`` gives phases other names."""
    rows = [
        {
            "method": method,
            "seed": seed,
            "phase": phase,
            "epoch": epoch,
            "split": split,
            "acc": acc,
            "loss": None,
            "n": n,
        }
        for method in methods
        for seed in seeds
        for phase in PHASES
        for epoch in EPOCHS
        for split, n in SPLITS.items()
        if (acc := accuracy(method, seed, phase, epoch, split)) is not None
    ]
    frame = pd.DataFrame(rows)
    for old, new in names.items():
        frame["phase"] = frame["phase"].replace(old, new)
        frame["split"] = frame["split"].str.replace(f"{old}_", f"{new}_", regex=False)
    return frame


def accuracy(method: str, seed: int, phase: str, epoch: int, split: str) -> float | None:
    """Own splits rise by the epoch, the continual learner's one epoch sooner; what came before halves in every phase."""
    owner, _, part = split.partition("_")
    age = PHASES.index(phase) - PHASES.index(owner)
    if part not in ("all", "val") and age:
        return None
    if part == "val" and age:
        return None
    if age < 0:
        return 0.0
    if age:
        return 0.0 if method == "scratch" else round(0.8 / 2**age, 6)
    lead = 0 if method == "scratch" or phase == "T1" else 1
    with_cue = min(0.9, 0.15 * (epoch + lead) + 0.01 * seed) if epoch else 0.0
    reliance = 0.1 if method == "scratch" else {"T2": 0.2, "T4": 0.3}.get(phase, 0.0)
    if part == "shortcut_masked":
        return round(max(with_cue - reliance, 0.0), 6)
    if part == "nonshortcut_normal":
        return round(with_cue * 0.5, 6)
    return round(with_cue, 6) if part != "all" or not epoch else (0.8 if epoch == EPOCHS[-1] else 0.4)


def config_facts(cues: dict[str, str | None], classes: int = 5) -> dict[str, Any]:
    """What the proof of such a stream says."""
    facts = {
        phase: {"classes": [f"{phase} {n}" for n in range(classes)], "chance_task": 1 / classes, "cue": cues.get(phase)}
        for phase in PHASES
    }
    return {"facts": {"chance": 1 / (4 * classes), "training_images": dict.fromkeys(PHASES, 1), "phases": facts}}
