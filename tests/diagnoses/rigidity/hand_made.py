"""Scorecards and timelines written by hand, so that what a report must show can be worked out on paper."""

from __future__ import annotations

import math
from pathlib import Path
from statistics import fmean, stdev
from typing import Any

import numpy as np
import pandas as pd

from einstellung.diagnoses.rigidity.card import RigidityCard

T_95 = {2: 12.7062, 3: 4.3027, 4: 3.1824, 5: 2.7764}
CONTINUAL = ("average_accuracy", "BWT", "FWT", "forgetting", "intransigence")
KEYS = ("SC_patch", "SC_mask", "NSC", "T1", "T1_after_T1", "SC_clean", "NSC_patched", "SC_elsewhere")
OPTIONAL = {
    "SFR_rel_within": "no acc_within",
    "delta_within": "no acc_within",
    "SC_patch_within": "no acc_within",
    "SC_mask_within": "no acc_within",
    "NSC_within": "no acc_within",
    "PD_NSC": "no NSC",
    "PD_specific": "no NSC",
    "share_lost": "no masked images",
}
DERIVED = ("AD", "PD", "SFR_rel", "CSR_rel", "delta", "PD_NSC", "PD_specific", "share_lost")


def estimate(values: list[float | None]) -> dict[str, Any]:
    known = [value for value in values if value is not None]
    n = len(known)
    if n == 0:
        return {"mean": None, "sd": None, "n": 0, "ci95": None, "interval": "none"}
    mean = fmean(known)
    if n == 1:
        return {"mean": mean, "sd": None, "n": 1, "ci95": None, "interval": "n = 1: no interval"}
    half = T_95[n] * stdev(known) / math.sqrt(n)
    return {"mean": mean, "sd": stdev(known), "n": n, "ci95": [mean - half, mean + half], "interval": "t"}


def seed(E: float | None, patch: float | None, mask: float | None, **more: Any) -> dict[str, Any]:  # noqa: N803
    """One run's own values; what compares it with the baseline is worked out by :func:`scorecard`."""
    return {"E": E, "SC_patch": patch, "SC_mask": mask, **more}


def typed(values: dict[str, Any]) -> RigidityCard:
    """The card of plain values, such as a test may have changed."""
    return RigidityCard.model_validate(values)


def scorecard(runs: dict[str, dict[str, dict[str, Any]]], **methods: dict[str, Any]) -> dict[str, Any]:
    """A scorecard with tau 0.6 of ``runs`` (method -> seed -> values); ``methods`` overrides verdicts and the like."""
    reference = runs.get("scratch_t2", {})
    records = {name: _record(name, own, reference) | methods.get(name, {}) for name, own in runs.items()}
    return {
        "variant": "paper",
        "baseline": "scratch_t2",
        "tau": 0.6,
        "window": 3,
        "smoothing": "trailing",
        "final": "last",
        "margins": {"AD": 1.0, "PD": 0.02, "SFR_rel": 0.02},
        "tau_grid": [0.5, 0.6],
        "floor": {"level": 0.05, "chance": 1 / 60, "classes": 60},
        "methods": records,
        "checks": [],
        "warnings": [],
    }


def _record(name: str, own: dict[str, dict[str, Any]], reference: dict[str, dict[str, Any]]) -> dict[str, Any]:
    is_baseline = name == "scratch_t2"
    rows = {label: _row(values, None if is_baseline else reference.get(label)) for label, values in own.items()}
    facets = {key: estimate([row[key] for row in rows.values()]) for key in (*DERIVED, *KEYS)}
    censored = {
        label: _who(name, row["E"], reference[label]["E"])
        for label, row in rows.items()
        if row["paired"] and row["AD"] is None
    }
    facets["AD"]["censored"] = censored
    paired = [label for label, row in rows.items() if row["paired"]]
    facets["delta_S"] = estimate(
        [_minus(reference[label]["SC_patch"], reference[label]["SC_mask"]) for label in paired]
    )
    lacking = {key: why for key, why in OPTIONAL.items() if key not in facets or facets[key]["mean"] is None}
    undefined = {"statistic": None, "p": None, "p_holm": None, "d_z": None}
    return {
        "n_seeds": len(rows),
        **facets,
        **dict.fromkeys(lacking),
        "why_undefined": lacking,
        "task_incremental": None,
        "AD_tau": {
            "0.50": {"mean": None if is_baseline else -1.0, "sd": None, "n": len(paired), "censored": {}},
            "0.60": {key: facets["AD"][key] for key in ("mean", "sd", "n", "censored")},
        },
        "pattern": None if is_baseline else "ambiguous",
        "certainty": None if is_baseline else "leans",
        "high_rigidity": None,
        "verdict": None if is_baseline else f"Ambiguous: what {name} does.",
        "conditions": [],
        "next_probe": None,
        "tests": {key: {"test": "paired t", "n": facets[key]["n"], **undefined} for key in ("PD", "SFR_rel", "AD")},
        "survival": None,
        "continual": dict.fromkeys(CONTINUAL, estimate([])),
        "per_seed": rows,
    }


def _who(name: str, own: float | None, base: float | None) -> str:
    if own is None:
        return "both" if base is None else name
    return "scratch_t2"


def _minus(left: float | None, right: float | None) -> float | None:
    return None if left is None or right is None else left - right


def _row(values: dict[str, Any], base: dict[str, Any] | None) -> dict[str, Any]:
    own = {key: values.get(key) for key in KEYS}
    delta = _minus(own["SC_patch"], own["SC_mask"])
    delta_s = _minus(base["SC_patch"], base["SC_mask"]) if base else None
    return {
        "E": values["E"],
        "AD": _minus(values["E"], base["E"]) if base else None,
        "PD": _minus(base["SC_patch"], own["SC_patch"]) if base else None,
        "SFR_rel": _minus(delta, delta_s),
        "CSR_rel": None if delta is None or delta_s is None else abs(delta) - abs(delta_s),
        "SFR_rel_within": None,
        "PD_NSC": _minus(base.get("NSC"), own["NSC"]) if base else None,
        "PD_specific": _minus(_minus(base["SC_patch"], own["SC_patch"]), _minus(base.get("NSC"), own["NSC"]))
        if base
        else None,
        "delta": delta,
        "delta_within": None,
        "share_lost": None if delta is None or not own["SC_patch"] else delta / own["SC_patch"],
        **own,
        "checkpoint_epoch": 10,
        "paired": base is not None,
    }


#: patched ceiling, rate, masked ceiling, NSC ceiling, T1 after T1, T1 after T2
CURVES = {
    "scratch_t2": (0.75, 0.30, 0.48, 0.62, None, 0.0),
    "sgd": (0.82, 0.75, 0.40, 0.70, 0.65, 0.02),
    "derpp": (0.58, 0.40, 0.47, 0.66, 0.64, 0.45),
}


def timeline_frame(
    curves: dict[str, tuple[Any, ...]] = CURVES, seeds: tuple[int, ...] = (42, 43, 44), epochs: int = 8
) -> pd.DataFrame:
    """Exponential learning curves that differ from seed to seed; derpp never reaches 0.6."""
    rows = []
    for method, (patch, rate, mask, nonshortcut, after_t1, after_t2) in curves.items():
        for place, seed_ in enumerate(seeds):
            shift = 0.02 * (place - (len(seeds) - 1) / 2)
            own = rate * (1 + 0.15 * (place - 1))
            for epoch in range(epochs + 1):
                grown = 1 - math.exp(-own * epoch)
                values = {
                    "T2_shortcut_normal": (patch + shift) * grown,
                    "T2_shortcut_masked": (mask + shift / 2) * grown**1.3,
                    "T2_nonshortcut_normal": nonshortcut * grown,
                    "T1_all": after_t2 if after_t1 is None else after_t2 + (after_t1 - after_t2) * math.exp(-epoch),
                }
                rows += [(method, seed_, "T2", float(epoch), split, acc) for split, acc in values.items()]
                if after_t1 is not None:
                    rows.append((method, seed_, "T1", float(epoch), "T1_all", after_t1 * (1 - math.exp(-0.5 * epoch))))
    frame = pd.DataFrame(rows, columns=["method", "seed", "phase", "epoch", "split", "acc"])
    return frame.assign(loss=1 - frame["acc"], n=500)


def write_samples(path: Path) -> Path:
    """Eight images of 8x8 with a magenta 2x2 patch."""
    original = np.arange(8 * 8 * 8 * 3, dtype=np.uint8).reshape(8, 8, 8, 3) // 2
    patched, masked = original.copy(), original.copy()
    patched[:, :2, :2] = (255, 0, 255)
    masked[:, :2, :2] = 0
    names = np.array([f"class_{number}" for number in range(8)])
    augmented = original[:, :, ::-1]
    np.savez(path, original=original, patched=patched, masked=masked, raw=original, augmented=augmented, captions=names)
    return path


def write_pictures(path: Path) -> Path:
    """Forty images of 8x8 with a dot that wanders, as a learner would leave them."""
    images = np.zeros((40, 8, 8, 3), dtype=np.uint8)
    for number, image in enumerate(images):
        image[number % 8, number // 8] = (250, number, 20)
    np.savez(path, generated=images)
    return path


#: What a model says about four images of the shortcut classes 20 and 21, and about four of class 30.
SAID = {
    "T2_shortcut_normal": [20, 20, 21, 21],
    "T2_shortcut_elsewhere": [20, 20, 21, 3],
    "T2_shortcut_masked": [20, 3, 3, 3],
    "T2_shortcut_clean": [20, 3, 21, 3],
    "T2_nonshortcut_normal": [30, 30, 30, 21],
    "T2_nonshortcut_patched": [20, 20, 30, 21],
}


def prediction_frame(**said: list[int] | None) -> pd.DataFrame:
    """The predictions of one run: :data:`SAID`, with other answers, or without a split (None)."""
    rows = []
    for split, answers in {**SAID, **said}.items():
        shortcut = "nonshortcut" not in split
        labels, first = ([20, 20, 21, 21], 100) if shortcut else ([30] * 4, 200)
        for place, (label, answer) in enumerate(zip(labels, answers or [], strict=False)):
            rows.append((split, first + place, label, answer))
    return pd.DataFrame(rows, columns=["split", "index", "label", "prediction"])
