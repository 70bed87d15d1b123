"""What the Whac-A-Mole paper reports on UrbanCars, and in what a study differs from the protocol that it was measured with."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ConfigDict

from einstellung.diagnoses.shortcuts.card import GroupSizes, PublishedGaps, PublishedStudy
from einstellung.diagnoses.shortcuts.design import Design
from einstellung.diagnoses.shortcuts.settings import SelectionRule
from einstellung.results.config import StudyConfig, TrainingConfig
from einstellung.yaml_text import read_yaml

_FILE = Path(__file__).with_name("published.yaml")
_RULES = {"worst-group": "highest worst-group validation accuracy", "last": "the last epoch"}
_CONSTANT = "(paper: a constant one)"


class _Paper(BaseModel):
    """The file, as it is checked when it is read; a row has ID accuracy and gaps in per cent, by name."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    source: str
    images: str
    cues: tuple[str, ...]
    protocol: Mapping[str, Mapping[str, Any]]
    test_images_a_group: int
    methods: Mapping[str, Mapping[str, float]]
    by_identify_epochs: Mapping[str, Mapping[int, Mapping[str, float]]]


@cache
def read_paper() -> _Paper:
    """The paper's numbers and protocol."""
    return _Paper.model_validate(read_yaml(_FILE))


def published_gaps(method: str, config: StudyConfig | None = None) -> PublishedGaps | None:
    """The paper's numbers of a method, as shares; None where it has none, or where it has several and options are not known.

    >>> published_gaps("cutmix").gaps["background"], published_gaps("jtt"), published_gaps("er+lle")
    (-0.45, None, None)
    >>> published_gaps("jtt~2", StudyConfig(learners={"jtt~2": {"identify_epochs": 2}})).ID, published_gaps("sd~strong")
    (0.946, None)
    """
    paper = read_paper()
    plain, variant, _ = method.partition("~")
    if plain in paper.by_identify_epochs:
        options = config.learners.get(method, {}) if config is not None else {}
        row = paper.by_identify_epochs[plain].get(options.get("identify_epochs", -1))
    else:
        row = None if variant else paper.methods.get(method)
    if row is None:
        return None
    shares = {name: round(per_cent / 100, 6) for name, per_cent in row.items()}
    return PublishedGaps(ID=shares.pop("ID"), gaps=shares)


def published_study(
    methods: Sequence[str], design: Design, rule: SelectionRule, images: GroupSizes, config: StudyConfig | None
) -> PublishedStudy:
    """What the paper reports for the methods of a study, where the cues are those of UrbanCars and there is one phase.

    Whether the photographs are those of the paper cannot be seen from a study, so that it is always said that theirs are cars.
    """
    paper = read_paper()
    found = {}
    if design.cues == paper.cues and len(design.phases) == 1:
        found = {method: row for method in methods if (row := published_gaps(method, config)) is not None}
    differences = [f"the paper's images are {paper.images}"]
    differences += (
        ["it is not recorded how these models were trained"] if config is None else training_differences(config)
    )
    differences += measuring_differences(design.correlations.get(design.last), rule, images.group)
    return PublishedStudy(source=paper.source, methods=found, differences=tuple(differences))


def measuring_differences(
    correlations: Sequence[float] | None, rule: SelectionRule, test_images_a_group: int | None
) -> list[str]:
    """In what a study was measured in another way than the paper's, in words; what is not known is not judged.

    >>> measuring_differences([0.95, 0.95], "last", 125)
    ['the last epoch counts (paper: highest worst-group validation accuracy)']
    """
    paper = read_paper()
    (theirs,), their_rule = paper.protocol["stream"]["phases"], paper.protocol["score"]["final"]
    found = []
    if correlations is not None and list(correlations) != theirs:
        printed = ", ".join(f"{rho:g}".removeprefix("0") for rho in theirs)
        found.append(f"correlations {', '.join(f'{rho:g}' for rho in correlations)} (paper: {printed})")
    if rule != their_rule:
        found.append(f"{_RULES[rule]} counts (paper: {_RULES[their_rule]})")
    if test_images_a_group not in (None, paper.test_images_a_group):
        found.append(f"{test_images_a_group} test images per group (paper: {paper.test_images_a_group})")
    return found


def training_differences(config: StudyConfig) -> list[str]:
    """In what a study was trained in another way than the paper's models, in words."""
    found = [
        *_different("stream", config.stream.options, ("size",)),
        *_different("backbone", {"name": config.backbone.name}, ("name",)),
        *_different("training", config.training.model_dump(mode="json"), tuple(read_paper().protocol["training"])),
    ]
    stream, backbone = config.stream.options, config.backbone.options
    if stream.get("input_modality") == "features":
        found.append(
            f"the network is trained on frozen features of {stream.get('extractor')} (paper: end-to-end training on pixels)"
        )
    elif "weights" in backbone:
        start = f"weights of {Path(backbone['weights']).name}" if backbone["weights"] else "random weights"
        found.append(f"{start} at the start (paper: weights of ImageNet)")
    return found + _of_learning_rate(config.training)


def _different(section: str, own: Mapping[str, Any], keys: Sequence[str]) -> list[str]:
    """The settings of a section that are given and are not the paper's; of several phases, all must be as its one."""
    protocol = read_paper().protocol[section]
    return [
        f"{section}.{key} {_shown(own[key])} (paper: {_shown(protocol[key])})"
        for key in keys
        if key in own and _values(own[key]) != _values(protocol[key])
    ]


def _values(value: Any) -> set[Any]:
    return set(value) if isinstance(value, list | tuple) else {value}


def _shown(value: Any) -> str:
    return ", ".join(map(str, value)) if isinstance(value, list | tuple) else str(value)


def _of_learning_rate(training: TrainingConfig) -> list[str]:
    """How a learning rate falls in the first phase, in words; nothing where it does not.

    >>> _of_learning_rate(TrainingConfig(schedule="cosine")), _of_learning_rate(TrainingConfig(milestones=()))
    (['the learning rate falls along a cosine (paper: a constant one)'], [])
    >>> _of_learning_rate(TrainingConfig(milestones=[35, 45], epochs=[40], decay=0.1))
    ['the learning rate falls after epoch 35 (paper: a constant one)']
    """
    if training.schedule == "cosine":
        return [f"the learning rate falls along a cosine {_CONSTANT}"]
    within = [str(epoch) for epoch in training.milestones_of(0) if epoch < training.epochs[0]]
    if not within or training.decay == 1:
        return []
    *earlier, last = within
    listed = f"{', '.join(earlier)} and {last}" if earlier else last
    return [f"the learning rate falls after epoch {listed} {_CONSTANT}"]
