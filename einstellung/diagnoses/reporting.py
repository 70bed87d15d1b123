"""From a results folder, a family of them or foreign logs to cards and pages, for every diagnosis alike."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from einstellung.diagnoses.card import Card
from einstellung.diagnoses.contract import Diagnosis, Evidence, Members
from einstellung.diagnoses.registry import get_diagnosis, recognise
from einstellung.diagnoses.settings import parse_settings
from einstellung.errors import InputError
from einstellung.files import write_text
from einstellung.hashes import write_sealed
from einstellung.input_words import words_for
from einstellung.report.family import FAMILY, SWEEP, FamilyPage, Study, write_family_page
from einstellung.report.measured import measured_splits
from einstellung.report.page import Page, PageOrigin, render_page
from einstellung.report.stages import announce
from einstellung.report.table_formats import write_table
from einstellung.report.tables import Missing, Table
from einstellung.results.config import StudyConfig, to_yaml
from einstellung.results.examination import absent_runs, examine, examine_logs
from einstellung.results.family import family_file, read_family
from einstellung.results.folder import ResultsFolder, member_folder
from einstellung.results.merging import merge_timelines
from einstellung.results.run_files import RunFiles
from einstellung.results.sweep import read_sweep, sweep_file
from einstellung.timeline import ImportOptions, Timeline
from einstellung.timeline.reading import timeline_files


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
class ScoredFamily:
    """The studies of a family or a sweep by the names of their folders, and what is said of them together."""

    studies: Mapping[str, Scored]
    page: FamilyPage
    problems: tuple[str, ...] = ()  # studies that are damaged

    @property
    def table(self) -> Table | None:
        """What a terminal shows before the answer."""
        return self.page.tables[self.page.printed] if self.page.printed is not None else None


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
    problems: tuple[str, ...] = ()


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
    known = {*card.warnings}
    lacking = [one for one in (*evidence.failures, *absent_runs(evidence.absent)) if one not in known]
    card = card.model_copy(update={"warnings": (*card.warnings, *lacking)}) if lacking else card
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
    announce("scoring")
    own = evidence_of(results)
    own = replace(own, runs=replace(own.runs, probe_folder=probe_folder))
    if siblings is None and _reads_siblings(own):
        siblings, unread = _siblings(results)
        own = replace(own, failures=(*own.failures, *unread))
    return _score_study(own, siblings or {})


def _reads_siblings(evidence: Evidence) -> bool:
    config = evidence.config
    return config is not None and diagnosis_of(config, evidence.timeline.splits).reads_siblings(config)


def _score_study(evidence: Evidence, siblings: Mapping[str, Card]) -> Scored:
    assert evidence.config is not None, "the evidence of a study has its configuration"
    diagnosis = diagnosis_of(evidence.config, evidence.timeline.splits)
    config = evidence.config
    return score_evidence(diagnosis, replace(evidence, siblings=siblings), config.score, config.companions)


def evidence_of(results: ResultsFolder) -> Evidence:
    """The evidence in a results folder."""
    found = examine(results)
    timeline = found.require_timeline()
    return Evidence(
        timeline=timeline,
        proof=None if results.proof_file.name in found.left_out else results.read_if_whole(results.proof_file),
        config=results.config(),
        runs=RunFiles(results.path, tuple(timeline.runs), left_out=found.left_out),
        failures=(*found.damaged, *found.failed),
        damaged=found.damaged,
        unverified=found.unverified,
        absent=found.absent,
    )


def evidence_of_logs(paths: Sequence[Path], options: ImportOptions | None = None) -> Evidence:
    """The evidence in log files and folders of them; ``options``: how to read those of other tools."""
    folder = paths[0] if len(paths) == 1 and paths[0].is_dir() else None
    found = examine_logs(timeline_files(paths, None if options is None else options.format), paths)
    timeline = Timeline.read_many(found.files if found.damaged else paths, options)
    runs = {*timeline.runs}
    proxies = [proxy for path in paths if (proxy := _proxy(ResultsFolder(path))) is not None]
    return Evidence(
        timeline,
        proof={"facts": {"proxy": proxies[0]}} if proxies else None,
        runs=RunFiles(log_folder=folder),
        failures=found.damaged,
        damaged=found.damaged,
        unverified=found.unverified,
        absent=tuple(run for run in found.planned if run not in runs),
    )


def evidence_and_phase(
    read: Callable[[ImportOptions], Evidence], options: ImportOptions
) -> tuple[Evidence, str | None]:
    """The evidence in logs, and the phase that verdicts are to be about.

    ``phase`` is that of all rows where the log does not name it. Where it does, and there are more than two, it is one of them.
    """
    try:
        return read(options), None
    except InputError as error:
        if options.phase is None:
            raise
        try:
            evidence = read(replace(options, phase=None))
        except InputError:
            raise error from None
        if len(evidence.timeline.phase_names) <= 2:
            raise
        return evidence, options.phase


def _proxy(results: ResultsFolder) -> Any:
    """Where masks were found by an audit, the facts about them: numbers from these logs are proxies too."""
    proof = results.read_if_whole(results.proof_file) if results.path.is_dir() else None
    return (proof or {}).get("facts", {}).get("proxy")


def score_logs(paths: Sequence[Path]) -> Scored:
    """The card of logs, by the diagnosis that they were made for and its default settings."""
    evidence = evidence_of_logs(paths)
    return score_evidence(recognise(evidence.timeline.splits), evidence, {})


def report_logs(folder: Path) -> Reported:
    """Score a folder that holds logs and what their diagnosis reads beside them, and rewrite its figures, tables and page."""
    scored = score_logs([folder])
    record = ResultsFolder(folder).read_if_whole(ResultsFolder(folder).provenance_file)
    return Reported(scored, write_report(folder, scored, provenance=record))


def _siblings(results: ResultsFolder) -> tuple[dict[str, Card], list[str]]:
    """The cards of the other finished studies of the family or sweep that a folder belongs to, scored without siblings; and of
    which there is none, because they are damaged."""
    root = results.path.parent
    names = _studies_of(root)
    if results.path.name not in names:
        return {}, []
    evidence, problems = _evidence_of_all(root, [name for name in names if name != results.path.name])
    return {name: _score_study(own, {}).card for name, own in evidence.items()}, problems


def _studies_of(root: Path) -> list[str]:
    """The names of the studies of a family or a sweep."""
    if family_file(root).exists():
        return read_family(root)
    return list(read_sweep(root).points) if sweep_file(root).exists() else []


def report_study(
    results: ResultsFolder, siblings: Mapping[str, Card] | None = None, out: Path | None = None
) -> Reported:
    """Score a results folder and rewrite its figures, tables and page; or write them into ``out``, where its probes lie."""
    return _write_study(results, score_folder(results, siblings, out), out)


def _write_study(results: ResultsFolder, scored: Scored, out: Path | None = None) -> Reported:
    merge_timelines(results)
    page = write_report(
        out or results.path,
        scored,
        title=f"{scored.diagnosis.title}: {results.config().name}",
        provenance=results.read_if_whole(results.provenance_file),
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
    announce("tables")
    write_sealed(folder / "score.json", scored.to_json())
    card = scored.card.baseline_first()
    made = dict(diagnosis.tables(card))
    for other in scored.companions:
        made |= other.diagnosis.tables(other.card)
    words = words_for(evidence.facts)
    tables = {name: table.in_words(words) for name, table in made.items() if isinstance(table, Table)}
    for name, table in tables.items():
        write_table(folder / "tables", name, table)
    figures, missing = draw_figures(diagnosis.figures(evidence, card), folder / "figures")
    announce("page")
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
    family = score_family(root, names)
    for name, scored in family.studies.items():
        _write_study(ResultsFolder(root / name), scored)
    return _report_together(root, family)


def score_family(root: Path, names: Sequence[str]) -> ScoredFamily:
    """The cards of a family's studies that have finished runs, each with the others as evidence; nothing is written."""
    evidence, problems = _evidence_of_all(root, names)
    _require_any(root, evidence, problems)
    alone = {name: _score_study(own, {}) for name, own in evidence.items()}
    diagnosis = common_diagnosis({name: scored.diagnosis for name, scored in alone.items()}, FAMILY)
    studies = _with_siblings(evidence, alone)
    waiting = tuple(name for name in names if name not in evidence)
    return _together(diagnosis, studies, Members(_cards(studies), waiting), problems)


def report_sweep(root: Path) -> ReportedFamily:
    """The page of a sweep, from its finished studies; values of earlier sweeps into the same folder are shown too."""
    return _report_together(root, score_sweep(root))


def score_sweep(root: Path) -> ScoredFamily:
    """The cards of a sweep's finished studies; nothing is written."""
    sweep = read_sweep(root)
    evidence, problems = _evidence_of_all(root, list(sweep.points))
    _require_any(root, evidence, problems)
    alone = {name: _score_study(own, {}) for name, own in evidence.items()}
    diagnosis = common_diagnosis({name: scored.diagnosis for name, scored in alone.items()}, SWEEP)
    studies = _with_siblings(evidence, alone)
    waiting = tuple(name for name in sweep.points if name not in evidence)
    return _together(diagnosis, studies, Members(_cards(studies), waiting, sweep.keys, sweep.points), problems)


def _with_siblings(evidence: Mapping[str, Evidence], alone: Mapping[str, Scored]) -> dict[str, Scored]:
    """Every study with the others as evidence, where its diagnosis reads them."""
    cards = _cards(alone)
    return {
        name: _score_study(own, {other: card for other, card in cards.items() if other != name})
        if _reads_siblings(own)
        else alone[name]
        for name, own in evidence.items()
    }


def _together(
    diagnosis: Diagnosis[Any, Any], studies: Mapping[str, Scored], members: Members[Any], problems: Sequence[str]
) -> ScoredFamily:
    page: FamilyPage | None = diagnosis.family(members)
    assert page is not None, "a diagnosis that groups studies must have a page for them"
    return ScoredFamily(studies, replace(page, warnings=[*problems, *page.warnings]), tuple(problems))


def _report_together(root: Path, family: ScoredFamily) -> ReportedFamily:
    page = family.page
    shown = [
        Study(name, scored.card.checks, scored.card.warnings, scored.card.fewest_seeds)
        for name, scored in family.studies.items()
    ]
    written = write_family_page(root, page, shown)
    return ReportedFamily(family.studies, page.answer, family.table, page.data, written, family.problems)


def _cards(studies: Mapping[str, Scored]) -> dict[str, Card]:
    return {name: scored.card for name, scored in studies.items()}


def _evidence_of_all(root: Path, names: Sequence[str]) -> tuple[dict[str, Evidence], list[str]]:
    """The evidence of every study with a whole run; and a sentence for every other one that is damaged."""
    found, problems = {}, []
    for name in names:
        if not (folder := ResultsFolder(member_folder(root, name))).has_finished_runs():
            continue
        try:
            found[name] = evidence_of(folder)
        except InputError as error:
            problems.append(f"{name} is left out: {error}")
    return found, problems


def _require_any(root: Path, evidence: Mapping[str, Evidence], problems: Sequence[str]) -> None:
    if not evidence:
        raise InputError(problems[0] if problems else f"{root} has no finished run yet")


def common_diagnosis(kinds: Mapping[str, Diagnosis[Any, Any]], group: str) -> Diagnosis[Any, Any]:
    """The diagnosis that all studies have, by their names; one that has no such page, or two kinds, are refused."""
    first, common = next(iter(kinds.items()))
    for name, kind in kinds.items():
        if kind.name != common.name:
            raise InputError(
                f"study {first} measures {common.topic}, but study {name} measures {kind.topic}: a {group} needs a "
                "single diagnosis; give each its own configuration and folder"
            )
    if group not in common.grouped:
        raise InputError(
            f"study {first} measures {common.topic}, a diagnosis that has no page for a {group}: "
            + (
                "run each separately"
                if group == FAMILY
                else "list the studies under 'studies' in a configuration instead"
            )
        )
    return common
