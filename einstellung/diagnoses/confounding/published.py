"""What the paper of the ConCon data reports, and in what a study differs from the protocol that it was measured with.

The numbers are in ``published.yaml``; the protocol is that of a preset, of which the file names what the paper states.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ConfigDict, model_validator

from einstellung.diagnoses.confounding.card import PaperEstimate, PaperResults
from einstellung.diagnoses.confounding.study import TaskDescription
from einstellung.results.config import StudyConfig, merged, read_preset
from einstellung.results.family import Family
from einstellung.yaml_text import read_yaml

_FILE = Path(__file__).with_name("published.yaml")
_MEANT = {None: "null", True: "true", False: "false"}

Printed = tuple[float, float]  # mean and standard deviation, in per cent


class _Part(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class PaperQuestion(_Part):
    """What is asked of every picture, and what goes with the answer."""

    ground_truth: str
    confounders: tuple[str, ...]


class StatedSettings(_Part):
    """The study of the preset that has a model's settings, and which of them the paper states, by section."""

    study: str
    stated: dict[str, tuple[str, ...]]


class PaperProtocol(_Part):
    """Where the settings of each kind of model are."""

    preset: str
    models: dict[str, StatedSettings]


class Paper(_Part):
    """The file; ``table_4`` is by variant, model and method, with an entry for every column."""

    source: str
    seeds: int
    question: PaperQuestion
    protocol: PaperProtocol
    sanity_check: dict[str, Printed]
    columns: tuple[str, ...]
    table_4: dict[str, dict[str, dict[str, tuple[Printed | None, ...]]]]

    @model_validator(mode="after")
    def _an_entry_for_every_column(self) -> Paper:
        for variant, models in self.table_4.items():
            for model, methods in models.items():
                for method, row in methods.items():
                    if len(row) != len(self.columns):
                        raise ValueError(f"{variant}, {model}, {method}: {len(row)} entries, not {len(self.columns)}")
        return self


@cache
def read_paper() -> Paper:
    """The published numbers.

    >>> read_paper().sanity_check["NN"]
    (96.96, 0.44)
    """
    return Paper.model_validate(read_yaml(_FILE))


def paper_results(study: TaskDescription, config: StudyConfig | None = None) -> PaperResults:
    """What the paper reports for a study's variant and model, and in what the study differs from the paper."""
    paper = read_paper()
    ceiling = paper.sanity_check.get(study.model or "")
    return PaperResults(
        source=paper.source,
        seeds=paper.seeds,
        methods=reported_for(study.variant, study.model),
        ceiling=_shares(ceiling) if ceiling else None,
        differences=(
            *question_differences(study),
            *(protocol_differences(config.model_dump(mode="json"), study.model) if config else ()),
        ),
    )


def reported_for(variant: str | None, model: str | None) -> dict[str, dict[str, PaperEstimate]]:
    """The paper's numbers of a variant and a kind of model, by method and column; empty where it has none.

    >>> reported_for("strict", "NN")["joint"]["unconfounded"]
    PaperEstimate(mean=0.957, sd=0.0204)
    >>> reported_for("unconfounded", "NN")
    {}
    """
    paper = read_paper()
    methods = paper.table_4.get(variant or "", {}).get(model or "", {})
    return {
        method: {
            column: _shares(printed) for column, printed in zip(paper.columns, row, strict=True) if printed is not None
        }
        for method, row in methods.items()
    }


def _shares(printed: Printed) -> PaperEstimate:
    mean, sd = printed
    return PaperEstimate(mean=round(mean / 100, 6), sd=round(sd / 100, 6))


def question_differences(study: TaskDescription) -> list[str]:
    """How a study's question differs from the paper's, according to its stream; the unconfounded set has a question, too.

    >>> question_differences(TaskDescription(ground_truth="sphere"))
    ["ground truth 'sphere' (paper: 'sphere and small cube')"]
    """
    asked = read_paper().question
    found = []
    if study.ground_truth is not None and study.ground_truth != asked.ground_truth:
        found.append(f"ground truth '{study.ground_truth}' (paper: '{asked.ground_truth}')")
    if study.confounders and study.confounders != asked.confounders:
        found.append(f"confounders {', '.join(study.confounders)} (paper: {', '.join(asked.confounders)})")
    return found


@cache
def _preset_values(preset: str, study: str) -> Mapping[str, Any]:
    """What a study of a preset sets."""
    family = Family.of(read_preset(preset), preset)
    assert family is not None, "the paper's preset is a family"
    return merged(family.common, family.members[study])


def protocol_differences(configuration: Mapping[str, Any], model: str | None) -> list[str]:
    """In what a resolved configuration differs from the paper's, in words; settings that it does not name are not judged.

    >>> protocol_differences({"stream": {"size": 64}, "training": {"batch_size": 64}}, "NN")
    ['stream.size 64 (paper: 224)']
    >>> protocol_differences({"learners": {"fromp": {"epochs": 2, "draw": None}, "er": {"draw": 64}}}, "NN")
    ['learners.fromp.epochs 2 (concon-paper: 30)']
    """
    paper = read_paper()
    found = []
    if (of_model := paper.protocol.models.get(model or "")) is not None:
        preset = _preset_values(paper.protocol.preset, of_model.study)
        found += _stated_differences(configuration, preset, of_model.stated)
        found += _learner_differences(configuration.get("learners") or {}, preset["learners"], paper.protocol.preset)
    seeds = configuration.get("seeds")
    if seeds is not None and len(seeds) != paper.seeds:
        found.append(f"{len(seeds)} seed{'s' if len(seeds) != 1 else ''} (paper: {paper.seeds})")
    return found


def _stated_differences(
    configuration: Mapping[str, Any], preset: Mapping[str, Any], stated: Mapping[str, tuple[str, ...]]
) -> list[str]:
    found = []
    for section, keys in stated.items():
        given = configuration.get(section) or {}
        for key in keys:
            expected = preset[section][key]
            if key not in given or given[key] == expected:
                continue
            if key == "epochs" and set(given[key]) == set(expected):
                continue  # the same for every phase, however many there are
            found.append(f"{section}.{key} {_setting(given[key])} (paper: {_setting(expected)})")
    return found


def _learner_differences(
    learners: Mapping[str, Mapping[str, Any]], expected: Mapping[str, Mapping[str, Any]], preset: str
) -> list[str]:
    return [
        f"learners.{method}.{key} {_option(value)} ({preset}: {_option(expected[method][key])})"
        for method, options in learners.items()
        for key, value in options.items()
        if key in expected.get(method, {}) and value != expected[method][key]
    ]


def _setting(value: Any) -> str:
    if value is None:
        return "the paper's"
    return ", ".join(map(str, value)) or "none" if isinstance(value, list) else str(value)


def _option(value: Any) -> str:
    if value is None or isinstance(value, bool):
        return _MEANT[value]
    return value if isinstance(value, str) else f"{value:g}"
