"""What the paper reports, and whether a study follows the protocol that it was measured with."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import cache
from pathlib import Path
from typing import Any

from einstellung.diagnoses.card import CardPart
from einstellung.diagnoses.rigidity.card import PrintedNumber, ReportedNumbers
from einstellung.results.config import StudyConfig, build_config, merged, read_preset
from einstellung.yaml_text import read_yaml

_SUPERCLASSES = ("t1", "t2", "shortcut")
_COMPUTING = ("precision", "device", "threads", "matmul", "compile", "kernels", "layout")  # how, not what, is trained


class PublishedTable(CardPart):
    """``published.yaml``: a table, and the protocol as a preset with what it leaves to defaults."""

    source: str
    table: Mapping[str, Mapping[str, PrintedNumber]]
    preset: str
    defaults: Mapping[str, Any]
    superclasses: tuple[str, ...]


@cache
def published() -> PublishedTable:
    return PublishedTable.model_validate(read_yaml(Path(__file__).with_name("published.yaml")))


def reported_numbers(methods: Iterable[str]) -> ReportedNumbers:
    """What the paper prints for those of its methods that a study has.

    >>> reported_numbers(["sgd", "mine"]).methods["sgd"]["PD"]
    PrintedNumber(mean=0.028, sd=0.02)
    """
    printed = published()
    return ReportedNumbers(
        source=printed.source, methods={name: printed.table[name] for name in methods if name in printed.table}
    )


def follows_paper(config: StudyConfig) -> bool:
    """Whether a resolved configuration is the paper's; seeds, methods and how it is computed may differ."""
    return not protocol_differences(config)


def protocol_differences(config: StudyConfig) -> list[str]:
    """The settings, by their dotted keys, in which a resolved configuration differs from the paper's protocol.

    >>> protocol_differences(build_config({"training": {"epochs": 10}, "cover": "mean"}))[:2]
    ['cover', 'stream.name']
    """
    given, own_learners = _settings(config), set(config.learners)
    return [
        key
        for key, wanted in _protocol().items()
        if not (key.startswith("learners.") and key.split(".")[1] not in own_learners)
        and (key not in given or given[key] != wanted)
    ]


@cache
def _protocol() -> dict[str, Any]:
    paper = published()
    return _settings(build_config(merged(read_preset(paper.preset), paper.defaults)))


def _settings(config: StudyConfig) -> dict[str, Any]:
    """What shapes the numbers of a study, by dotted keys."""
    training, stream = config.training, config.stream.model_dump(mode="json")
    stream |= {key: _numbered(stream[key]) for key in _SUPERCLASSES if key in stream}
    sections: dict[str, Mapping[str, Any]] = {
        "stream": stream,
        "cue": config.cue.model_dump(mode="json") if config.cue is not None else {},
        "backbone": config.backbone.model_dump(mode="json"),
        "training": {
            **training.model_dump(mode="json", exclude=set(_COMPUTING)),
            "milestones": [training.milestones_of(phase) for phase in range(len(training.epochs))],
        },
        "evaluation": {"every_steps": config.evaluation.every_steps},  # more moments to choose a checkpoint from
        "score": {"final": {"auto": "best-val"}.get(final := config.score.get("final", "auto"), final)},
        **{f"learners.{name}": options for name, options in config.learners.items()},
    }
    flat = {f"{section}.{key}": value for section, own in sections.items() for key, value in own.items()}
    return {"cover": config.cover, **flat}


def _numbered(chosen: Iterable[int | str]) -> set[int | str]:
    """Superclasses by number, whether they were named or numbered; their order shapes nothing.

    >>> sorted(_numbered([9, "Large carnivores"]))
    [8, 9]
    """
    known = published().superclasses
    plain = [one.strip().lower().replace(" ", "_").replace("-", "_") if isinstance(one, str) else one for one in chosen]
    return {known.index(one) if one in known else one for one in plain}
