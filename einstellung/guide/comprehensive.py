"""``comprehensive_results.json``: statistics over seeds, tests, bands and claims of every study below a folder."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import Any

from einstellung.diagnoses.registry import DEFAULT
from einstellung.diagnoses.rigidity.card import RigidityCard
from einstellung.diagnoses.rigidity.score import score
from einstellung.diagnoses.rigidity.settings import RigiditySettings
from einstellung.diagnoses.settings import parse_settings
from einstellung.errors import InputError
from einstellung.guide.calculator import as_guide_writes
from einstellung.guide.card import GUIDE_METRICS, GuideMethod, GuideSettings
from einstellung.guide.claims import guide_claims
from einstellung.guide.debug import debug_warnings, is_debug
from einstellung.guide.score import BANDS, guide_score
from einstellung.guide.significance import guide_tests
from einstellung.results.config import StudyConfig
from einstellung.results.examination import examine
from einstellung.results.folder import ResultsFolder
from einstellung.timeline import Timeline

STUDIES = "studies"
_TRIPLET = ("AD", "PD", "SFR_rel", "delta", "delta_S")
_SHAPE = ("name", "stream", "cue", "cover", "backbone", "training", "methods", "seeds")


def comprehensive_results(results: ResultsFolder, into: Path) -> dict[str, Any]:
    """Every study in ``into`` (as ``studies/<name>``), including ``results``, by the name of its folder.

    A study that cannot be read is listed with the reason; one without a finished run is omitted.
    """
    folders = {config.parent.resolve() for config in into.glob(f"{STUDIES}/*/config.yaml")} | {results.path.resolve()}
    studies: dict[str, Any] = {}
    for folder in sorted(folders):
        try:
            study = study_results(ResultsFolder(folder))
        except InputError as error:
            if folder == results.path.resolve():
                raise
            study = {"problem": str(error)}
        if study is not None:
            studies[folder.name] = study
    return {"variant": "guide", "bands": _bands(), "studies": studies}


def study_results(results: ResultsFolder) -> dict[str, Any] | None:
    """One study: per method, the guide's metrics over seeds and the triplet; None without a finished run.

    Read-only, because another process may be writing to that folder: uses its table as last merged.
    """
    if not results.timeline_file.exists():
        return None
    timeline, config = Timeline.read(results.timeline_file), results.config()
    whole = config.model_dump(mode="json")
    card = guide_score(timeline, guide_settings(config))
    paper = score(timeline, _index_settings(config))
    return {
        "configuration": {key: whole[key] for key in _SHAPE},
        "debug": is_debug(config),
        "adaptation_threshold": card.threshold,
        "final": card.final,
        "methods": {method: method_results(record) for method, record in card.methods.items()},
        "tests": guide_tests(card),
        "claims": [claim.to_dict() for claim in guide_claims(card)],
        "triplet": _triplet(paper),
        "checks": [check.to_dict() for check in card.checks],
        "warnings": [*debug_warnings(config), *examine(results).problems, *paper.warnings],
    }


def guide_settings(config: StudyConfig) -> GuideSettings:
    """The settings of the guide's variant in a study: its own, plus the baseline and the epoch of the index."""
    own = config.score if config.diagnosis == "guide" else config.companions.get("guide", {})
    given = parse_settings(GuideSettings, own, "guide", "companions.guide.{}".format)
    shared: dict[str, Any] = {key: config.score[key] for key in ("baseline", "final") if key in config.score}
    defaults = {key: value for key, value in shared.items() if getattr(given, key) == getattr(GuideSettings(), key)}
    return given.model_copy(update=defaults)


def _index_settings(config: StudyConfig) -> RigiditySettings:
    """The settings of the index in a study; where another diagnosis is the study's own, those that both have."""
    own = {key: value for key, value in config.score.items() if key in RigiditySettings.model_fields}
    return parse_settings(RigiditySettings, own, DEFAULT)


def method_results(record: GuideMethod) -> dict[str, Any]:
    """A method of a guide card under the guide's keys."""
    return {
        "n_seeds": record.n_seeds,
        **{metric: as_guide_writes(asdict(getattr(record, metric))) for metric in GUIDE_METRICS},
        "band": record.band,
        "why_undefined": record.why_undefined,
        "per_seed": {seed: run.to_dict() for seed, run in record.per_seed.items()},
    }


def _triplet(card: RigidityCard) -> dict[str, Any]:
    """The paper's index for the same runs; its facets are relative to the baseline and must not be mixed with these."""
    written = card.to_json()
    methods = {
        method: {
            **{facet: as_guide_writes(record[facet]) for facet in _TRIPLET},
            **{key: record[key] for key in ("pattern", "certainty", "high_rigidity", "verdict", "next_probe")},
        }
        for method, record in written["methods"].items()
        if method != card.baseline
    }
    return {"baseline": card.baseline if card.has_baseline else None, "tau": card.tau, "methods": methods}


def _bands() -> dict[str, str]:
    low, high = BANDS
    return {"low": f"below {low:g}", "moderate": f"{low:g} to {high:g}", "high": f"above {high:g}"}
