"""What the stored predictions of a study say: one record for the scorecard, and the checks that belong to it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from einstellung.checks import Check
from einstellung.metrics.cue_effect import CueEffect, cue_effect_of_runs, over_seeds
from einstellung.metrics.image_pairs import Predictions, masking_of_runs, same_images
from einstellung.metrics.log_checks import Run

SAME_ACCURACY = 1e-6  # a timeline may have been rounded on its way through a file


def per_image(predictions: Predictions) -> dict[str, Any]:
    """Plain values, ready for strict JSON: ``masking`` by method and seed, ``cue_effect`` by method.

    >>> import pandas as pd
    >>> rows = [("T2_shortcut_normal", 3, 0, 0), ("T2_shortcut_masked", 3, 0, 1)]
    >>> table = pd.DataFrame(rows, columns=["split", "index", "label", "prediction"])
    >>> record = per_image({("sgd", 42): table})
    >>> record["masking"]["sgd"]["42"]["only_patched"], record["cue_effect"]["sgd"]["SC_mask"]["mean"]
    (1, 0.0)
    """
    masked: dict[str, dict[str, Any]] = {}
    for (method, seed), counts in masking_of_runs(predictions).items():
        masked.setdefault(method, {})[str(seed)] = counts.to_dict()
    effects: dict[str, dict[int, CueEffect]] = {}
    for (method, seed), effect in cue_effect_of_runs(predictions).items():
        effects.setdefault(method, {})[seed] = effect
    return {
        "masking": masked,
        "cue_effect": {
            method: {
                "n_seeds": len(own),
                **{key: summary.to_dict() for key, summary in over_seeds(own).items()},
                "per_seed": {str(seed): effect.to_dict() for seed, effect in own.items()},
            }
            for method, own in effects.items()
        },
    }


def per_image_checks(predictions: Predictions, card: Mapping[str, Any]) -> list[Check]:
    """Are the pairs pairs, and are the predictions those of the very checkpoint that was scored?"""
    return [same_images(predictions), same_checkpoint(predictions, card)]


def same_checkpoint(predictions: Predictions, card: Mapping[str, Any]) -> Check:
    """Accuracy recomputed from the predictions against the scorecard's, for every run that has both."""
    name = "predictions are those of the scored checkpoint"
    compared, differing = 0, []
    for run, effect in cue_effect_of_runs(predictions).items():
        for key in ("SC_patch", "SC_mask"):
            said, scored = effect.accuracy[key], _scored(card, run, key)
            if said is None or scored is None:
                continue
            compared += 1
            if abs(said - scored) > SAME_ACCURACY:
                differing.append(f"{run[0]} seed {run[1]}: {key} {said:.3f}, scored {scored:.3f}")
    if not compared:
        return Check(name, None, "no accuracy to compare")
    if not differing:
        return Check(name, True, f"{compared} accuracies recomputed from single images agree")
    detail = " | ".join(differing[:4]) + (f" | and {len(differing) - 4} more" if len(differing) > 4 else "")
    if card["final"] == "last":
        return Check(name, None, f"the score is read at the last epoch, predictions may be of an earlier one: {detail}")
    return Check(name, False, detail)


def _scored(card: Mapping[str, Any], run: Run, key: str) -> float | None:
    record = card["methods"].get(run[0])
    own = record["per_seed"].get(str(run[1])) if record is not None else None
    value: float | None = own[key] if own is not None else None
    return value
