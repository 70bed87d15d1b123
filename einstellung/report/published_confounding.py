"""What the paper of the ConCon data reports, and in what a study differs from the protocol that it was measured with.

F. P. Busch, R. Kamath, R. Mitchell, W. Stammer, K. Kersting and M. Mundt, "Where is the Truth? The Risk of Getting Confounded
in a Continual World", Tables 1 and 4 and section 4.1: mean and standard deviation over five seeds, in per cent.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

SOURCE = (
    "F. P. Busch et al., Where is the Truth? The Risk of Getting Confounded in a Continual World, Tables 1 and 4 "
    "(five seeds)"
)
SEEDS = 5
COLUMNS = ("T1", "T2", "T3", "T1@T3", "T2@T3", "unconfounded")

#: Both models trained on the unconfounded set, tested on it.
SANITY_CHECK = {"NN": (96.96, 0.44), "NeSy": (80.33, 0.91)}

#: Variant, model, our name of the method, then mean and standard deviation of every column; joint training has no old tasks.
_TABLE_4 = """
disjoint NN naive 100.0 0.00 92.2 15.58 100.0 0.00 50.0 0.03 63.6 18.02 48.1 1.81
disjoint NN ewc 100.0 0.00 99.9 0.07 100.0 0.00 50.1 0.21 60.6 13.97 47.7 2.18
disjoint NN fromp 100.0 0.00 99.8 0.14 99.4 1.00 99.2 1.53 97.9 2.41 50.2 0.17
disjoint NN er 100.0 0.00 99.6 0.36 100.0 0.03 100.0 0.00 99.6 0.22 50.1 0.10
disjoint NN der 100.0 0.00 99.9 0.07 100.0 0.03 99.2 1.31 98.1 1.47 50.2 0.08
disjoint NN bgs 100.0 0.00 99.9 0.05 100.0 0.03 95.1 4.08 96.2 2.03 50.4 0.20
disjoint NN gdumb 64.1 18.38 62.0 9.70 69.5 9.51 63.6 10.71 61.2 8.93 48.8 0.76
disjoint NN cumulative 100.0 0.00 100.0 0.03 100.0 0.03 100.0 0.05 99.9 0.08 49.9 0.00
disjoint NN joint 100.0 0.00 99.9 0.04 100.0 0.03 - - - - 50.0 0.03
disjoint NeSy naive 99.5 0.18 99.9 0.12 100.0 0.03 50.0 0.00 58.1 4.81 50.0 0.07
disjoint NeSy ewc 99.6 0.28 100.0 0.03 99.9 0.05 50.2 0.35 67.2 9.12 50.2 0.18
disjoint NeSy fromp 99.6 0.31 98.9 0.29 98.4 0.69 97.9 1.45 97.3 0.72 50.5 0.23
disjoint NeSy er 99.5 0.17 99.8 0.05 99.9 0.04 99.2 0.19 99.3 0.23 50.7 0.18
disjoint NeSy der 99.6 0.22 99.7 0.13 99.9 0.08 98.6 0.64 96.9 1.12 50.9 0.05
disjoint NeSy bgs 99.6 0.20 99.9 0.09 99.9 0.05 94.4 2.52 95.1 1.78 50.9 0.19
disjoint NeSy gdumb 99.4 0.12 97.8 0.89 98.5 0.72 98.0 0.86 98.2 0.90 50.3 0.15
disjoint NeSy cumulative 99.8 0.07 99.9 0.09 99.9 0.10 99.8 0.07 99.9 0.03 50.8 0.11
disjoint NeSy joint 99.7 0.10 99.9 0.05 99.9 0.08 - - - - 50.7 0.04
strict NN naive 100.0 0.00 100.0 0.00 100.0 0.00 49.1 0.05 48.9 0.07 50.0 0.07
strict NN ewc 100.0 0.00 99.9 0.10 100.0 0.05 49.1 0.05 48.9 0.08 50.0 0.07
strict NN fromp 100.0 0.00 59.9 8.49 69.2 4.92 67.8 10.71 59.1 6.35 51.1 2.77
strict NN er 100.0 0.00 97.7 0.50 96.4 0.59 54.6 1.76 59.6 2.71 51.0 1.24
strict NN der 100.0 0.00 98.7 0.92 96.5 2.69 52.8 4.13 55.5 5.79 49.1 0.26
strict NN bgs 100.0 0.00 99.8 0.12 99.6 0.16 50.1 1.00 49.1 1.01 49.5 0.32
strict NN gdumb 92.5 2.77 62.7 8.34 53.6 2.32 57.5 5.20 54.2 2.89 50.4 0.50
strict NN cumulative 100.0 0.00 87.0 1.57 88.8 3.65 85.9 2.65 91.0 2.89 72.6 5.78
strict NN joint 98.2 1.11 99.2 0.17 98.9 0.30 - - - - 95.7 2.04
strict NeSy naive 99.7 0.20 100.0 0.03 100.0 0.00 49.1 0.08 49.2 0.09 49.8 0.05
strict NeSy ewc 99.9 0.08 99.9 0.07 100.0 0.03 49.1 0.08 49.4 0.49 50.1 0.19
strict NeSy fromp 99.8 0.12 83.4 9.01 74.7 7.18 85.1 7.65 76.3 10.56 56.2 1.17
strict NeSy er 99.8 0.17 99.8 0.15 98.8 0.11 68.0 1.42 83.6 0.71 61.2 0.82
strict NeSy der 99.7 0.23 99.4 0.15 99.5 0.24 58.8 1.30 73.2 3.91 56.5 1.05
strict NeSy bgs 99.8 0.12 99.9 0.03 99.9 0.08 51.8 1.01 56.3 1.55 51.3 0.49
strict NeSy gdumb 99.4 0.24 85.6 1.39 82.7 1.64 80.1 2.42 84.2 2.33 56.7 1.09
strict NeSy cumulative 99.8 0.09 92.5 0.71 88.8 0.51 88.6 0.65 92.3 0.65 69.9 0.81
strict NeSy joint 88.4 0.40 92.6 0.21 89.8 0.23 - - - - 70.8 0.33
"""

#: What the paper asks of every picture, and what goes with the answer, in the words of a stream's facts.
_QUESTION = {"ground_truth": "sphere and small cube", "confounders": ["blue", "metal", "large"]}

#: What the paper trained with, by section and key of a configuration; None among the values: not a setting of that model.
_PROTOCOL: dict[str, dict[str, dict[str, Any]]] = {
    "NN": {
        "stream": {"input_modality": "pixels", "size": 224, "train": 3000, "val": 750, "test": 750, "rules": None},
        "backbone": {"name": "resnet18", "width": 64},
        "training": {
            "epochs": (50, 50, 50),
            "batch_size": 64,
            "optimiser": "adam",
            "lr": 0.001,
            "weight_decay": 0.0,
            "schedule": "steps",
            "milestones": (),
        },
    },
    "NeSy": {
        "stream": {"input_modality": "attributes", "train": 3000, "val": 750, "test": 750, "rules": None},
        "backbone": {"name": "set_transformer"},
        "training": {
            "epochs": (150, 150, 150),
            "batch_size": 64,
            "optimiser": "adam",
            "lr": 0.001,
            "weight_decay": 0.0,
            "schedule": "cosine",
            "lr_end": 1e-6,
        },
    },
}

#: The methods as the preset ``concon-paper`` has them, by model where they differ. The paper says how large buffers are, how
#: strong EWC is and for how many epochs FROMP learns; the rest is what its authors' code or those of the methods do. FROMP in
#: pictures has the prior and clip of its authors' Split MNIST; ``joined`` is ours.
_LEARNERS: dict[str, dict[str, Any]] = {
    "ewc": {"e_lambda": 1.0, "fisher_images": None},
    "fromp": {
        "buffer": 100,
        "tau": 10.0,
        "prior": {"NN": 1e-3, "NeSy": 1e-4},
        "jitter": 1e-6,
        "choice": "lambda",
        "draw": None,
        "joined": {"NN": True, "NeSy": False},
        "clip": {"NN": 1.0, "NeSy": 1000.0},
        "curvature_images": None,
        "epochs": {"NN": 30, "NeSy": None},
    },
    "er": {"buffer": 100, "draw": 64, "replay": "earlier"},
    "der": {"buffer": 100, "draw": 64, "replay": "earlier", "alpha": 0.3, "joined": False},
    "bgs": {"buffer": 100, "draw": 64, "last_layer_epochs": {"NN": 50, "NeSy": 150}},
    "gdumb": {"buffer": 100, "passes": 1},
    "joint": {"epochs": None},
}


def _read() -> dict[tuple[str, str], dict[str, dict[str, tuple[float, float]]]]:
    table: dict[tuple[str, str], dict[str, dict[str, tuple[float, float]]]] = {}
    for line in _TABLE_4.split("\n")[1:-1]:
        variant, model, method, *numbers = line.split()
        pairs = zip(COLUMNS, numbers[::2], numbers[1::2], strict=True)
        table.setdefault((variant, model), {})[method] = {
            column: (float(mean), float(sd)) for column, mean, sd in pairs if mean != "-"
        }
    return table


#: (variant, model) -> method -> column -> (mean, standard deviation), in per cent as printed.
TABLE_4 = _read()


def reported_for(variant: str | None, model: str | None) -> dict[str, dict[str, dict[str, float]]]:
    """The paper's numbers of a variant and a kind of model, as shares; empty where it has none.

    >>> reported_for("strict", "NN")["joint"]["unconfounded"]
    {'mean': 0.957, 'sd': 0.0204}
    >>> reported_for("unconfounded", "NN")
    {}
    """
    printed = TABLE_4.get((variant or "", model or ""), {})
    return {method: {column: _shares(*pair) for column, pair in columns.items()} for method, columns in printed.items()}


def reported_ceiling(model: str | None) -> dict[str, float] | None:
    """What the paper's sanity check reports for a kind of model, as shares.

    >>> reported_ceiling("NN")
    {'mean': 0.9696, 'sd': 0.0044}
    """
    return _shares(*SANITY_CHECK[model]) if model in SANITY_CHECK else None


def _shares(mean: float, sd: float) -> dict[str, float]:
    return {"mean": round(mean / 100, 6), "sd": round(sd / 100, 6)}


def protocol_differences(configuration: Mapping[str, Any], model: str | None) -> list[str]:
    """In what a resolved configuration differs from the paper's, in words; settings that it does not name are not judged.

    >>> protocol_differences({"stream": {"size": 64}, "training": {"batch_size": 64}}, "NN")
    ['stream.size 64 (paper: 224)']
    >>> protocol_differences({"learners": {"fromp": {"epochs": 2, "draw": None}, "er": {"draw": 64}}}, "NN")
    ['learners.fromp.epochs 2 (concon-paper: 30)']
    """
    found = []
    for section, settings in _PROTOCOL.get(model or "", {}).items():
        given = configuration.get(section) or {}
        for key, printed in settings.items():
            if key not in given:
                continue
            own = tuple(given[key]) if isinstance(given[key], list) else given[key]
            if own != printed and not (section == "training" and key == "epochs" and set(own) == set(printed)):
                found.append(f"{section}.{key} {_plain(own)} (paper: {_plain(printed)})")
    for method, options in (configuration.get("learners") or {}).items():
        for key, printed in _LEARNERS.get(method, {}).items() if model in _PROTOCOL else ():
            expected = printed[model] if isinstance(printed, dict) else printed
            if key in options and options[key] != expected:
                found.append(f"learners.{method}.{key} {_option(options[key])} (concon-paper: {_option(expected)})")
    seeds = configuration.get("seeds")
    if seeds is not None and len(seeds) != SEEDS:
        found.append(f"{len(seeds)} seed{'s' if len(seeds) != 1 else ''} (paper: {SEEDS})")
    return found


def question_differences(card: Mapping[str, Any]) -> list[str]:
    """In what a study asks another question than the paper, by what its stream says of itself; the unconfounded set has one, too.

    >>> question_differences({"ground_truth": "sphere", "confounders": []})
    ["ground truth 'sphere' (paper: 'sphere and small cube')"]
    """
    found = []
    if (truth := card.get("ground_truth")) is not None and truth != _QUESTION["ground_truth"]:
        found.append(f"ground truth '{truth}' (paper: '{_QUESTION['ground_truth']}')")
    if (own := list(card.get("confounders") or ())) and own != _QUESTION["confounders"]:
        found.append(f"confounders {', '.join(own)} (paper: {', '.join(_QUESTION['confounders'])})")
    return found


def _option(value: Any) -> str:
    if value is None or isinstance(value, bool):
        return {None: "null", True: "true", False: "false"}[value]
    return value if isinstance(value, str) else f"{value:g}"


def _plain(value: Any) -> str:
    if value is None:
        return "the paper's"
    return ", ".join(map(str, value)) or "none" if isinstance(value, tuple) else str(value)


def with_reported(card: Mapping[str, Any], configuration: Mapping[str, Any] | None = None) -> dict[str, Any]:
    """The card with what the paper reports for its variant and model, and in what the protocol differs."""
    variant, model = card["variant"], card["model"]
    differences = protocol_differences(configuration, model) if configuration is not None else []
    return {
        **card,
        "reported": {
            "source": SOURCE,
            "seeds": SEEDS,
            "methods": reported_for(variant, model),
            "ceiling": reported_ceiling(model),
            "differences": question_differences(card) + differences,
        },
    }
