"""What a study of confounded tasks was about: what its configuration and its stream's proof say."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from einstellung.diagnoses.confounding.card import Perception
from einstellung.files import digest
from einstellung.results.config import StudyConfig

NESY_BACKBONE = "set_transformer"


@dataclass(frozen=True)
class TaskDescription:
    """The question that all tasks share, and the kind of model; unknown for a foreign log."""

    variant: str | None = None
    model: str | None = None
    ground_truth: str | None = None
    confounders: tuple[str, ...] = ()
    input_modality: str | None = None
    perceived: Perception | None = None
    ceiling_key: str | None = None


def describe_tasks(config: StudyConfig | None, facts: Mapping[str, Any]) -> TaskDescription:
    """The description of a study. The proof overrides the configuration: a folder of pictures has its own rules."""
    perceived = facts.get("perceived")
    return TaskDescription(
        variant=facts.get("variant") or (config.stream.options.get("variant") if config else None),
        model=model_of(config) if config else None,
        ground_truth=facts.get("ground_truth"),
        confounders=tuple(facts.get("confounders") or ()),
        input_modality=facts.get("input_modality"),
        perceived=Perception(**perceived) if perceived else None,
        ceiling_key=_ceiling_key(config, facts) if config else None,
    )


def model_of(config: StudyConfig) -> str:
    """The paper's name for the kind of model: NeSy reasons over objects, NN gets pixels."""
    return "NeSy" if config.backbone.name == NESY_BACKBONE else "NN"


def _ceiling_key(config: StudyConfig, facts: Mapping[str, Any]) -> str:
    """The same for studies whose ceilings are comparable: the same net on the same inputs, and the same question."""
    options = config.stream.options
    shown = {key: options.get(key) for key in ("input_modality", "size", "perception", "rules")}
    asked = facts.get("ground_truth")
    return digest({"backbone": config.backbone.model_dump(mode="json"), "asked": asked, **shown})
