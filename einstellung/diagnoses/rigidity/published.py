"""What the paper reports, and whether a study follows the protocol that it was measured with.

K. Gu and W. Shi, "Diagnosing Shortcut-Induced Rigidity in Continual Learning: The Einstellung Rigidity Index (ERI)", Table I:
mean and standard deviation over four seeds. The paper shows AD in a figure only and tabulates none.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

SOURCE = (
    "K. Gu and W. Shi, Diagnosing Shortcut-Induced Rigidity in Continual Learning: The Einstellung Rigidity Index (ERI), "
    "Table I"
)

#: Our name of the method -> our key of the column -> (mean, standard deviation), as printed.
TABLE_I: dict[str, dict[str, tuple[float, float]]] = {
    "scratch_t2": {"SC_patch": (0.628, 0.007), "SC_mask": (0.608, 0.033), "NSC": (0.706, 0.007)},
    "derpp": {
        "PD": (0.027, 0.008),
        "SFR_rel": (-0.095, 0.034),
        "SC_patch": (0.601, 0.015),
        "SC_mask": (0.676, 0.010),
        "T1": (0.679, 0.004),
        "NSC": (0.796, 0.004),
    },
    "dgr": {
        "PD": (0.247, 0.023),
        "SFR_rel": (-0.141, 0.031),
        "SC_patch": (0.381, 0.020),
        "SC_mask": (0.502, 0.050),
        "T1": (0.682, 0.010),
        "NSC": (0.730, 0.007),
    },
    "ewc_on": {
        "PD": (0.022, 0.046),
        "SFR_rel": (-0.105, 0.034),
        "SC_patch": (0.606, 0.045),
        "SC_mask": (0.691, 0.044),
        "T1": (0.691, 0.007),
        "NSC": (0.804, 0.006),
    },
    "gpm": {
        "PD": (0.026, 0.026),
        "SFR_rel": (-0.112, 0.034),
        "SC_patch": (0.602, 0.026),
        "SC_mask": (0.694, 0.024),
        "T1": (0.678, 0.006),
        "NSC": (0.792, 0.009),
    },
    "sgd": {
        "PD": (0.028, 0.020),
        "SFR_rel": (-0.115, 0.028),
        "SC_patch": (0.600, 0.014),
        "SC_mask": (0.695, 0.015),
        "T1": (0.684, 0.005),
        "NSC": (0.793, 0.006),
    },
}

_SUPERCLASSES = (
    "aquatic_mammals",
    "fish",
    "flowers",
    "food_containers",
    "fruit_and_vegetables",
    "household_electrical_devices",
    "household_furniture",
    "insects",
    "large_carnivores",
    "large_man_made_outdoor_things",
    "large_natural_outdoor_scenes",
    "large_omnivores_and_herbivores",
)
_STREAM = {
    "name": "cifar100",
    "labels": "fine",
    "t1": {0, 1, 2, 3, 4, 5, 6, 7},
    "t2": {8, 9, 10, 11},
    "shortcut": {8, 9},
    "validation": 0.1,
    "duplicates": "report",
    "train_per_class": None,
    "test_per_class": None,
}
_CUE = {"name": "patch", "size": 4, "colour": [255, 0, 255], "place": "top-left", "opacity": 1.0, "share": 1.0}
_BACKBONE = {"name": "resnet18", "width": 64}
_TRAINING = {
    "epochs": [50, 50],
    "batch_size": 32,
    "lr": 0.01,
    "momentum": 0.9,
    "weight_decay": 1e-4,
    "milestones": [35, 45],
    "decay": 0.1,
}
#: The methods' own settings. A method that is not among them has none.
_LEARNERS: dict[str, dict[str, Any]] = {
    "ewc_on": {"e_lambda": 1000.0, "gamma": 1.0},
    "derpp": {"buffer": 500, "alpha": 0.1, "beta": 0.5, "draw": 32},
    "gpm": {"eps": 0.97, "eps_step": 0.003, "samples": 512},
    "dgr": {"z": 100, "generator_lr": 1e-3, "temperature": 2.0},
}


def is_papers_protocol(configuration: Mapping[str, Any]) -> bool:
    """Whether a resolved configuration is the paper's; seeds, methods, precision, device and threads may differ.

    >>> is_papers_protocol({"stream": {"name": "shapes"}, "cue": {}, "cover": "black", "backbone": {}, "training": {}})
    False
    """
    stream = dict(configuration["stream"])
    stream |= {key: _superclasses(stream[key]) for key in ("t1", "t2", "shortcut") if key in stream}
    training, learners = dict(configuration["training"]), configuration.get("learners", {})
    schedules = training.get("milestones")
    if schedules and all(isinstance(schedule, (list, tuple)) for schedule in schedules):  # one schedule for each phase
        training["milestones"] = schedules[0] if all(list(one) == list(schedules[0]) for one in schedules) else None
    sections: list[tuple[Mapping[str, Any], Mapping[str, Any]]] = [
        (stream, _STREAM),
        (configuration["cue"], _CUE),
        (configuration["backbone"], _BACKBONE),
        (training, _TRAINING),
        *((given, _LEARNERS[name]) for name, given in learners.items() if name in _LEARNERS),
    ]
    return (
        configuration["cover"] == "black"
        and configuration.get("score", {}).get("final", "auto") in ("auto", "best-val")
        and configuration.get("evaluation", {}).get("every_steps") is None  # more moments to choose a checkpoint from
        and all(
            key in given and _plain(given[key]) == value for given, wanted in sections for key, value in wanted.items()
        )
    )


def _plain(value: Any) -> Any:
    return list(value) if isinstance(value, tuple) else value


def _superclasses(chosen: Sequence[int | str]) -> set[int | str]:
    """Superclasses by number, whether they were named or numbered; their order shapes nothing.

    >>> sorted(_superclasses([9, "Large carnivores"]))
    [8, 9]
    """
    plain = [one.strip().lower().replace(" ", "_").replace("-", "_") if isinstance(one, str) else one for one in chosen]
    return {_SUPERCLASSES.index(one) if one in _SUPERCLASSES else one for one in plain}
