"""What the Whac-A-Mole paper reports on UrbanCars, and in what a study differs from the protocol that it was measured with.

Z. Li, I. Evtimov, A. Gordo, C. Hazirbas, T. Hassner, C. Canton Ferrer, C. Xu and M. Ibrahim, "A Whac-A-Mole Dilemma: Shortcuts
Come in Multiples Where Mitigating One Amplifies Others", Table 3: per cent and points, one number each.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from einstellung.report.notation import join

SOURCE = (
    "Z. Li et al., A Whac-A-Mole Dilemma: Shortcuts Come in Multiples Where Mitigating One Amplifies Others, "
    "Table 3 (UrbanCars)"
)
CUES = ["background", "co-object"]
GAPS = ("background", "co-object", "background+co-object")

#: Our name of the method (with E, the epochs before groups are inferred, where there are two), ID accuracy, and the three gaps.
_TABLE_3 = """
erm 97.6 -15.3 -11.2 -69.2
mixup 98.3 -12.6 -9.3 -61.8
cutmix 96.6 -45.0 -4.8 -86.5
cutout 97.8 -15.8 -10.4 -71.4
augmix 98.2 -10.3 -12.1 -70.2
sd 97.3 -15.0 -3.6 -36.1
cff_aug 96.8 -16.0 +0.4 -19.4
lff 97.2 -11.6 -18.4 -63.2
jtt(E=1) 95.9 -8.1 -13.3 -40.1
eiil(E=1) 95.5 -4.2 -24.7 -44.9
jtt(E=2) 94.6 -23.3 -5.3 -52.1
eiil(E=2) 95.5 -21.5 -6.8 -49.6
debian 98.0 -14.9 -10.5 -69.0
lle 96.7 -2.1 -2.7 -5.9
"""
_INFERS_AFTER = ("jtt", "eiil")  # of these the paper has one row for every number of epochs before groups are inferred

#: What the paper trained with, by section and key of a configuration.
_PROTOCOL: dict[str, dict[str, Any]] = {
    "stream": {"size": 256},
    "backbone": {"name": "resnet50"},
    "training": {
        "epochs": 300,
        "batch_size": 128,
        "optimiser": "sgd",
        "lr": 0.001,
        "momentum": 0.9,
        "weight_decay": 1e-4,
    },
}
_CORRELATIONS = [0.95, 0.95]
_CONSTANT = "(paper: a constant one)"


def _read() -> dict[str, dict[str, Any]]:
    table = {}
    for line in _TABLE_3.split("\n")[1:-1]:
        method, whole, *gaps = line.split()
        shares = [round(float(number) / 100, 6) for number in gaps]
        table[method] = {"ID": round(float(whole) / 100, 6), "gaps": dict(zip(GAPS, shares, strict=True))}
    return table


#: Method -> ID accuracy and gaps, as shares.
TABLE_3 = _read()


def reported_for(method: str, configuration: Mapping[str, Any] | None = None) -> dict[str, Any] | None:
    """The paper's numbers of a method, as shares; None where it has none, or where it has several and options are not known.

    >>> reported_for("cutmix")["gaps"]["background"], reported_for("jtt"), reported_for("er+lle")
    (-0.45, None, None)
    >>> reported_for("jtt", {"learners": {"jtt": {"identify_epochs": 2}}})["ID"]
    0.946
    >>> reported_for("jtt~2", {"learners": {"jtt~2": {"identify_epochs": 2}}})["ID"], reported_for("sd~strong")
    (0.946, None)
    """
    plain, again, _ = method.partition("~")
    if plain in _INFERS_AFTER:
        options = ((configuration or {}).get("learners") or {}).get(method) or {}
        return TABLE_3.get(f"{plain}(E={options['identify_epochs']})") if "identify_epochs" in options else None
    return None if again else TABLE_3.get(method)


def protocol_differences(card: Mapping[str, Any], configuration: Mapping[str, Any] | None) -> list[str]:
    """In what a study differs from the paper's, in words; settings that a configuration does not name are not judged.

    Without a configuration only what the card itself knows is compared.

    >>> card = {"correlations": {"T1": [0.95, 0.95]}, "phases": ["T1"], "final": "last", "images": {"group": 125}}
    >>> protocol_differences(card, {"training": {"batch_size": 64}})
    ['training.batch_size 64 (paper: 128)', 'the last epoch counts (paper: highest worst-group validation accuracy)']
    """
    found = ["how these models were trained is not known"] if configuration is None else _of_training(configuration)
    last = card["phases"][-1]
    if (own := card["correlations"].get(last)) is not None and own != _CORRELATIONS:
        found.append(f"correlations {', '.join(f'{rho:g}' for rho in own)} (paper: .95, .95)")
    if card["final"] != "worst-group":
        found.append("the last epoch counts (paper: highest worst-group validation accuracy)")
    if (size := card["images"]["group"]) is not None and size != 125:
        found.append(f"{size} test images a group (paper: 125)")
    return found


def _of_training(configuration: Mapping[str, Any]) -> list[str]:
    found = []
    for section, settings in _PROTOCOL.items():
        given = configuration.get(section) or {}
        for key, printed in settings.items():
            own = given.get(key, printed)
            if own != printed and not (isinstance(own, (list, tuple)) and set(own) == {printed}):
                shown = ", ".join(map(str, own)) if isinstance(own, (list, tuple)) else own
                found.append(f"{section}.{key} {shown} (paper: {printed})")
    stream, backbone = configuration.get("stream") or {}, configuration.get("backbone") or {}
    if stream.get("input_modality") == "features":
        found.append(
            f"the net sees frozen features of {stream.get('extractor')} (paper: it sees pixels and is trained whole)"
        )
    elif "weights" in backbone:
        start = f"weights of {Path(backbone['weights']).name}" if backbone["weights"] else "random weights"
        found.append(f"{start} at the start (paper: weights of ImageNet)")
    return found + _of_learning_rate(configuration.get("training") or {})


def _of_learning_rate(training: Mapping[str, Any]) -> list[str]:
    """How a learning rate falls, in words; nothing where it does not.

    >>> _of_learning_rate({"schedule": "cosine"}), _of_learning_rate({"schedule": "steps", "milestones": []})
    (['the learning rate falls along a cosine (paper: a constant one)'], [])
    >>> _of_learning_rate({"milestones": [35, 45], "epochs": [40], "decay": 0.1})
    ['the learning rate falls after epoch 35 (paper: a constant one)']
    """
    if training.get("schedule") == "cosine":
        return [f"the learning rate falls along a cosine {_CONSTANT}"]
    milestones = training.get("milestones") or []
    first = milestones[0] if milestones and isinstance(milestones[0], (list, tuple)) else milestones
    epochs = training.get("epochs") or []
    within = [epoch for epoch in first if not epochs or epoch < epochs[0]]
    if not within or training.get("decay") == 1:
        return []
    return [f"the learning rate falls after epoch {join(map(str, within))} {_CONSTANT}"]


def with_reported(card: Mapping[str, Any], configuration: Mapping[str, Any] | None = None) -> dict[str, Any]:
    """The card with what the paper reports for its methods, where the cues are those of UrbanCars and there is one phase.

    Whether the photographs are those of the paper cannot be seen from a card, so that it is always said that theirs are cars.
    """
    methods = {}
    if list(card["cues"]) == CUES and len(card["phases"]) == 1:
        found = {method: reported_for(method, configuration) for method in card["methods"]}
        methods = {method: printed for method, printed in found.items() if printed is not None}
    differences = ["the paper's images are UrbanCars (cars on urban and country scenes)"]
    differences += protocol_differences(card, configuration)
    return {**card, "reported": {"source": SOURCE, "methods": methods, "differences": differences}}
