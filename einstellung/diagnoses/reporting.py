"""From a results folder, a family of them or foreign logs to cards and pages, for every diagnosis alike."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from einstellung.diagnoses.card import Card
from einstellung.diagnoses.contract import Diagnosis, Evidence, Members
from einstellung.diagnoses.registry import get_diagnosis, recognise
from einstellung.diagnoses.settings import parse_settings
from einstellung.errors import InputError
from einstellung.files import write_json, write_text
from einstellung.report.family import FAMILY, SWEEP, FamilyPage, Study, write_family_page
from einstellung.report.measured import measured_splits
from einstellung.report.page import Page, PageOrigin, render_page
from einstellung.report.table_formats import write_table
from einstellung.report.tables import Missing, Table
from einstellung.results.config import StudyConfig, to_yaml
from einstellung.results.family import family_file, read_family
from einstellung.results.folder import ResultsFolder
from einstellung.results.run_files import RunFiles
from einstellung.results.sweep import read_sweep
from einstellung.timeline import Timeline


@dataclass(frozen=True)
class Scored:
    """A card with the diagnosis that made it and what it rests on.

    ``companions``: the same evidence by other diagnoses, which the configuration requests in addition.
    """

    diagnosis: Diagnosis[Any, Any]
    evidence: Evidence
    card: Card
    companions: tuple[Scored, ...] = ()

    def to_json(self) -> dict[str, Any]:
        """The card as JSON, with each companion's under its name."""
        return {**self.card.to_json(), **{other.diagnosis.name: other.card.to_json() for other in self.companions}}


@dataclass(frozen=True)
class Reported:
    """What was scored, where its page lies, and what diagnoses exported besides."""

    scored: Scored
    page: Path
    exported: tuple[Path, ...] = ()


@dataclass(frozen=True)
class ReportedFamily:
    """The studies of a family or a sweep by the names of their folders, and the page that shows them together.

    ``table``: what a terminal shows before the answer.
    """

    studies: Mapping[str, Scored]
    answer: Sequence[str]
    table: Table | None
    data: Mapping[str, Any]
    page: Path


def diagnosis_of(config: StudyConfig, splits: Sequence[str]) -> Diagnosis[Any, Any]:
    """The diagnosis that a study names; of a study that names none, the one that its splits were made for."""
    return get_diagnosis(config.diagnosis) if config.diagnosis is not None else recognise(splits)


def score_evidence(
    diagnosis: Diagnosis[Any, Any],
    evidence: Evidence,
    settings: Mapping[str, Any],
    companions: Mapping[str, Mapping[str, Any]] | None = None,
) -> Scored:
    """The card of some evidence, its methods in the order of the configuration where the diagnosis wants it."""
    card: Card = diagnosis.score(evidence, parse_settings(diagnosis.Settings, settings, diagnosis.name))
    if evidence.config is not None and diagnosis.configured_order:
        card = card.with_methods_in_order(list(evidence.config.methods))
    others = tuple(score_evidence(get_diagnosis(name), evidence, own, None) for name, own in (companions or {}).items())
    return Scored(diagnosis, evidence, card, others)


def score_folder(
    results: ResultsFolder, siblings: Mapping[str, Card] | None = None, probe_folder: Path | None = None
) -> Scored:
    """The card of a results folder. Where it belongs to a family, the other studies are part of the evidence.

    ``probe_folder``: where files of probes lie, if not in the results folder.
    """
    config, own = results.config(), evidence_of(results)
    own = replace(own, runs=replace(own.runs, probe_folder=probe_folder))
    evidence = replace(own, siblings=_siblings(results) if siblings is None else siblings)
    diagnosis = diagnosis_of(config, evidence.timeline.splits)
    return score_evidence(diagnosis, evidence, config.score, config.companions)


def evidence_of(results: ResultsFolder) -> Evidence:
    """The evidence in a results folder."""
    timeline = results.merge_timelines()
    if timeline is None:
        raise InputError(f"{results.path} holds no finished run yet")
    return Evidence(
        timeline=timeline,
        proof=results.read_optional(results.proof_file),
        config=results.config(),
        runs=RunFiles(results.path, tuple(timeline.runs)),
        failures=tuple(results.failures()),
    )


def evidence_of_logs(paths: Sequence[Path]) -> Evidence:
    """The evidence in log files and folders of them."""
    folder = paths[0] if len(paths) == 1 and paths[0].is_dir() else None
    return Evidence(Timeline.read_many(paths), runs=RunFiles(log_folder=folder))


def score_logs(paths: Sequence[Path]) -> Scored:
    """The card of logs, by the diagnosis that they were made for and its default settings."""
    evidence = evidence_of_logs(paths)
    return score_evidence(recognise(evidence.timeline.splits), evidence, {})


def report_logs(folder: Path) -> Reported:
    """Score a folder that holds logs and what their diagnosis reads beside them, and rewrite its figures, tables and page."""
    scored = score_logs([folder])
    record = ResultsFolder(folder).read_optional(ResultsFolder(folder).provenance_file)
    return Reported(scored, write_report(folder, scored, provenance=record))


def _siblings(results: ResultsFolder) -> dict[str, Card]:
    """The cards of the other finished studies of the family that a folder belongs to, scored without siblings."""
    root = results.path.parent
    if not family_file(root).exists() or results.path.name not in (names := read_family(root)):
        return {}
    others = {name: ResultsFolder(root / name) for name in names if name != results.path.name}
    return {name: score_folder(other, {}).card for name, other in others.items() if other.has_finished_runs()}


def report_study(
    results: ResultsFolder, siblings: Mapping[str, Card] | None = None, out: Path | None = None
) -> Reported:
    """Score a results folder and rewrite its figures, tables and page; or write them into ``out``, where its probes lie."""
    scored = score_folder(results, siblings, out)
    page = write_report(
        out or results.path,
        scored,
        title=f"{scored.diagnosis.title}: {results.config().name}",
        provenance=results.read_optional(results.provenance_file),
    )
    exported = [
        part.diagnosis.export(out or results.path, part.evidence, part.card) for part in (scored, *scored.companions)
    ]
    return Reported(scored, page, tuple(path for path in exported if path is not None))


def write_report(
    folder: Path, scored: Scored, *, title: str | None = None, provenance: Mapping[str, Any] | None = None
) -> Path:
    """Write ``figures/``, ``tables/``, ``score.json`` and, last, ``report.html`` into ``folder``; return the page's path.

    Every file is either whole or not there, and equal input gives equal bytes.
    """
    from einstellung.report.figures.plan import draw_figures  # matplotlib takes most of a second to import

    folder, diagnosis, evidence = Path(folder), scored.diagnosis, scored.evidence
    write_json(folder / "score.json", scored.to_json())
    card = scored.card.baseline_first()
    made = dict(diagnosis.tables(card))
    for other in scored.companions:
        made |= other.diagnosis.tables(other.card)
    tables = {name: table for name, table in made.items() if isinstance(table, Table)}
    for name, table in tables.items():
        write_table(folder / "tables", name, table)
    figures, missing = draw_figures(diagnosis.figures(evidence, card), folder / "figures")
    page = Page(
        title=title or diagnosis.title,
        kicker=diagnosis.title,
        answer=diagnosis.answer(card),
        fewest_seeds=card.fewest_seeds,
        checks=card.checks,
        warnings=card.warnings,
        figures=figures,
        tables=tables,
        missing=[*missing, *(thing for thing in made.values() if isinstance(thing, Missing))],
        conditions=diagnosis.conditions(card),
        splits=measured_splits(
            evidence.timeline.frame,
            lambda split: diagnosis.describe_split(split, card),
            lambda split: diagnosis.split_order(split, card),
        ),
        origin=PageOrigin(evidence.proof, provenance, to_yaml(evidence.config) if evidence.config else None),
        template=diagnosis.template,
        own=diagnosis.page(evidence, card),
        forest=diagnosis.forest(card),
        pictures=diagnosis.pictures(evidence, card),
        terms=diagnosis.terms(card),
        scripts=diagnosis.scripts(),
        data=diagnosis.page_data(evidence, card),
    )
    return write_text(folder / "report.html", render_page(page))


def report_family(root: Path, names: Sequence[str]) -> ReportedFamily:
    """Report every study of a family that has finished runs, then the family."""
    finished = _finished(root, names)
    alone = {name: score_folder(results, {}) for name, results in finished.items()}
    diagnosis = common_diagnosis({name: scored.diagnosis for name, scored in alone.items()}, FAMILY)
    studies = {}
    for name, results in finished.items():
        siblings = {other: scored.card for other, scored in alone.items() if other != name}
        studies[name] = report_study(results, siblings).scored
    waiting = tuple(name for name in names if name not in finished)
    return _report_together(root, diagnosis, studies, Members(_cards(studies), waiting))


def report_sweep(root: Path) -> ReportedFamily:
    """The page of a sweep, from its finished studies; values of earlier sweeps into the same folder are shown too."""
    sweep = read_sweep(root)
    finished = _finished(root, list(sweep.points))
    studies = {name: score_folder(results, {}) for name, results in finished.items()}
    diagnosis = common_diagnosis({name: scored.diagnosis for name, scored in studies.items()}, SWEEP)
    waiting = tuple(name for name in sweep.points if name not in finished)
    return _report_together(root, diagnosis, studies, Members(_cards(studies), waiting, sweep.keys, sweep.points))


def _report_together(
    root: Path, diagnosis: Diagnosis[Any, Any], studies: Mapping[str, Scored], members: Members[Any]
) -> ReportedFamily:
    page: FamilyPage | None = diagnosis.family(members)
    assert page is not None, "a diagnosis that groups studies has a page for them"
    shown = [
        Study(name, scored.card.checks, scored.card.warnings, scored.card.fewest_seeds)
        for name, scored in studies.items()
    ]
    table = page.tables[page.printed] if page.printed is not None else None
    return ReportedFamily(studies, page.answer, table, page.data, write_family_page(root, page, shown))


def _cards(studies: Mapping[str, Scored]) -> dict[str, Card]:
    return {name: scored.card for name, scored in studies.items()}


def _finished(root: Path, names: Sequence[str]) -> dict[str, ResultsFolder]:
    folders = {name: ResultsFolder(root / name) for name in names}
    finished = {name: folder for name, folder in folders.items() if folder.has_finished_runs()}
    if not finished:
        raise InputError(f"{root} holds no finished run yet")
    return finished


def common_diagnosis(kinds: Mapping[str, Diagnosis[Any, Any]], group: str) -> Diagnosis[Any, Any]:
    """The diagnosis that all studies have, by their names; one that has no such page, or two kinds, are refused."""
    first, common = next(iter(kinds.items()))
    for name, kind in kinds.items():
        if kind.name != common.name:
            raise InputError(
                f"study {first} is of {common.topic} and study {name} of {kind.topic}: a {group} has one diagnosis; give each "
                "its own configuration and folder"
            )
    if group not in common.grouped:
        raise InputError(
            f"{first} is a study of {common.topic}, and such studies have no page as a {group}: "
            + (
                "run each by itself"
                if group == FAMILY
                else "name the studies under 'studies' in a configuration instead"
            )
        )
    return common
