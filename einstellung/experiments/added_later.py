"""Settings that came after the first studies: at these values they shape nothing, and older results stay what they are."""

from __future__ import annotations

from typing import Any

# section and key of the configuration
SETTINGS: dict[tuple[str, str], Any] = {
    ("stream", "shown_size"): None,
    ("backbone", "weights"): None,
    ("backbone", "stem_stride"): 1,
    ("training", "matmul"): "highest",
    ("training", "compile"): False,
    ("training", "kernels"): "torch",
    ("training", "layout"): "auto",
    ("training", "optimiser"): "sgd",
    ("training", "schedule"): "steps",
    ("training", "lr_end"): 0.0,
    ("evaluation", "subsets"): "every-epoch",
}
# options of learners
OPTIONS: dict[str, Any] = {"joined": False, "passes": 1}


def known_before(options: dict[str, Any]) -> dict[str, Any]:
    """A learner's options without those that came later and are not used.

    >>> known_before({"buffer": 500, "joined": False})
    {'buffer': 500}
    """
    return {key: value for key, value in options.items() if key not in OPTIONS or value != OPTIONS[key]}
