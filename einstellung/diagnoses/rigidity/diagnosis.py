"""Does its training history make a learner rely on the cue? The Einstellung Rigidity Index."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

from einstellung.diagnoses.baseline import alike
from einstellung.diagnoses.contract import Diagnosis, Evidence, Members
from einstellung.diagnoses.rigidity.answer import answer, overview
from einstellung.diagnoses.rigidity.besides import besides
from einstellung.diagnoses.rigidity.card import RigidityCard, StreamFacts
from einstellung.diagnoses.rigidity.corroboration import corroborate
from einstellung.diagnoses.rigidity.error_rates import with_error_rates
from einstellung.diagnoses.rigidity.family import sweep_page
from einstellung.diagnoses.rigidity.forest import make_forest
from einstellung.diagnoses.rigidity.gallery import make_gallery, picture_rows
from einstellung.diagnoses.rigidity.grid import grid_page
from einstellung.diagnoses.rigidity.page import page, page_terms
from einstellung.diagnoses.rigidity.page_data import has_curves, page_data, page_scripts
from einstellung.diagnoses.rigidity.phase_tables import describe_phase, phase_tables, phases_answer
from einstellung.diagnoses.rigidity.phases import PhaseFacts, check_phase, evidence_of_card, naming_of, score_phases
from einstellung.diagnoses.rigidity.projection import FRESH, has_many_phases
from einstellung.diagnoses.rigidity.published import follows_paper, reported_numbers
from einstellung.diagnoses.rigidity.score import score, with_run_files
from einstellung.diagnoses.rigidity.settings import DEFAULT_BASELINE, RigiditySettings
from einstellung.diagnoses.rigidity.splits import (
    describe_phase_split,
    describe_split,
    phase_split_order,
    recognises,
    split_order,
)
from einstellung.diagnoses.rigidity.tables import make_tables
from einstellung.diagnoses.rigidity.wording import describe_card_seeds, describe_margins, describe_rule
from einstellung.diagnoses.wording import percent
from einstellung.report.family import SWEEP, FamilyPage
from einstellung.report.forest import Forest
from einstellung.report.measured import describe_smoothing
from einstellung.report.notation import number
from einstellung.report.pictures import PictureRow
from einstellung.report.tables import Missing, Table
from einstellung.report.terminal import Overview
from einstellung.results.config import StudyConfig
from einstellung.results.probe_files import probed
from einstellung.results.probe_names import PROBES
from einstellung.results.run_files import RunFiles

if TYPE_CHECKING:
    from einstellung.report.figures.plan import Plan  # matplotlib takes most of a second to import


def _cue_options(evidence: Evidence) -> Mapping[str, Any] | None:
    """The options of the cue that the study plants; None where it plants none or is not a study of ours."""
    cue = None if evidence.config is None else evidence.config.cue
    return None if cue is None else cue.options


class Rigidity(Diagnosis[RigiditySettings, RigidityCard]):
    """Does a continual learner rely on a shortcut more than a model trained from scratch?"""

    name = "rigidity"
    title = "Einstellung Rigidity Index"
    topic = "the rigidity index"
    Settings = RigiditySettings
    Card = RigidityCard
    grouped: ClassVar[frozenset[str]] = frozenset({SWEEP})
    configured_order: ClassVar[bool] = False
    default_baseline: ClassVar[str] = DEFAULT_BASELINE
    undefined_without: ClassVar[str] = "AD, PD, SFR_rel and the verdicts"
    probes: ClassVar[tuple[str, ...]] = PROBES
    template: ClassVar[Path] = Path(__file__).with_name("page.html")

    def recognises(self, splits: Sequence[str]) -> bool:
        return recognises(splits)

    def score(self, evidence: Evidence, settings: RigiditySettings) -> RigidityCard:
        if has_many_phases(evidence.timeline, len(evidence.facts.get("phases") or ())):
            return _score_many(evidence, settings)
        check_phase(settings)
        facts = _stream_facts(evidence.facts)
        scored = score(evidence.timeline, settings, *((facts.outputs, facts.t1_classes) if facts else ()))
        card = with_run_files(scored, _run_files(evidence))
        card = with_error_rates(card.model_copy(update={"besides": besides(card)}))
        found, unread = probed(evidence.runs)
        proxy = _proxy(evidence.facts)
        papers = evidence.config is not None and follows_paper(evidence.config)
        return card.model_copy(
            update={
                "warnings": (*([proxy] if proxy else []), *evidence.failures, *card.warnings, *unread),
                "proxy": proxy,
                "corroboration": corroborate(card, found, evidence.runs, _cue_options(evidence)),
                "reported": reported_numbers(card.methods) if papers else None,
                "stream_facts": facts,
            }
        )

    def reads_siblings(self, config: StudyConfig) -> bool:
        return bool(config.stream.options.get("phases"))  # one of them may lack the cue of an earlier phase

    def baseline_among(self, methods: Sequence[str], n_phases: int) -> str | None:
        there = [name for name in FRESH if alike(name, methods)]
        return there[0] if n_phases > 2 and there else self.default_baseline

    def answer(self, card: RigidityCard) -> list[str]:
        first, *rest = answer(card)
        shown = "" if card.phases is None else f"In {card.phases.shown}: "
        return [f"{shown}{first}", *rest, *phases_answer(card)]

    def tables(self, card: RigidityCard) -> Mapping[str, Table | Missing]:
        made = {**naming_of(card).apply(make_tables(card)), **phase_tables(card)}
        return made if card.proxy is None else {name: _as_proxy(table, card.proxy) for name, table in made.items()}

    def figures(self, evidence: Evidence, card: RigidityCard) -> Iterable[Plan]:
        from einstellung.diagnoses.rigidity.figures.catalogue import figure_plans
        from einstellung.diagnoses.rigidity.figures.phases import phase_plans, told

        shown = evidence_of_card(evidence, card)
        plans = figure_plans(shown.timeline.frame, card, _run_files(shown))
        return [*phase_plans(card), *(told(plan, naming_of(card)) for plan in plans)]

    def overview(self, card: RigidityCard) -> Overview:
        shown = naming_of(card).apply(overview(card))
        return replace(shown, paragraphs=(*shown.paragraphs, *phases_answer(card)))

    def describe_split(self, split: str, card: RigidityCard) -> str | None:
        order = _order_of_phases(card)
        return describe_split(split) if order is None else describe_phase_split(split, order)

    def split_order(self, split: str, card: RigidityCard) -> Any:
        order = _order_of_phases(card)
        return split_order(split) if order is None else phase_split_order(split, order)

    def conditions(self, card: RigidityCard) -> Mapping[str, str]:
        shown = {} if card.phases is None else {"phase": describe_phase(card)}
        return shown | {
            **({"proxy": card.proxy} if card.proxy else {}),
            "baseline": card.baseline if card.has_baseline else "none",
            "seeds": describe_card_seeds(card),
            "accuracy": "top-1, macro over the classes of the split",
            "threshold τ": number(card.tau, digits=2),
            "curves": describe_smoothing(card.smoothing, card.window),
            "final values": naming_of(card).text(f"at {describe_rule(card)}"),
            "margins": describe_margins(card.margins),
            "floor of masked accuracies": card.floor.describe(),
        }

    def page(self, evidence: Evidence, card: RigidityCard) -> Mapping[str, Any]:
        shown, naming = evidence_of_card(evidence, card), naming_of(card)
        gallery = make_gallery(shown, card) is not None
        own = {**page(card), "over": "phase 2", "curves": has_curves(shown), "gallery": gallery}
        return {**naming.apply(own), "phase_tables": list(phase_tables(card))}

    def forest(self, card: RigidityCard) -> Forest:
        return naming_of(card).apply(make_forest(card))

    def pictures(self, evidence: Evidence, card: RigidityCard) -> Sequence[PictureRow]:
        return picture_rows(evidence_of_card(evidence, card))

    def scripts(self) -> Sequence[Path | str]:
        return page_scripts()

    def page_data(self, evidence: Evidence, card: RigidityCard) -> Mapping[str, Any]:
        return page_data(evidence_of_card(evidence, card), card, naming_of(card))

    def terms(self, card: RigidityCard) -> Mapping[str, str]:
        naming, terms = naming_of(card), page_terms()
        # by the heads of the tables, which are told too
        told = {naming.text(head): naming.text(meaning) for head, meaning in terms.items()}
        return {**naming.apply(terms), **told}

    def family(self, members: Members[RigidityCard]) -> FamilyPage:
        return sweep_page(members) if len(members.keys) == 1 else grid_page(members)


def _order_of_phases(card: RigidityCard | None) -> tuple[str, ...] | None:
    """All phases in order; None with two."""
    return None if card is None or card.phases is None else card.phases.order


def _score_many(evidence: Evidence, settings: RigiditySettings) -> RigidityCard:
    """The card of a phase in a stream of many. Attention and probes of nets compare T2 with T1 alone and are left out."""
    facts = _stream_facts(evidence.facts)
    outputs = facts.outputs if facts else None
    card = score_phases(evidence.timeline, settings, evidence.facts, outputs, evidence.siblings)
    assert card.phases is not None, "a card of many phases"
    card = with_run_files(card, _run_files(evidence_of_card(evidence, card)))
    card = with_error_rates(card.model_copy(update={"besides": besides(card)}))
    card, proxy = _told(card), _proxy(evidence.facts)
    own = PhaseFacts(evidence.facts).of(card.phases.shown) if card.phases else {}
    return card.model_copy(
        update={
            "warnings": (*([proxy] if proxy else []), *evidence.failures, *card.warnings),
            "proxy": proxy,
            "stream_facts": facts if facts is None or not own else facts.model_copy(update=_levels(own)),
        }
    )


def _told(card: RigidityCard) -> RigidityCard:
    """The card with its sentences told of its own phase; what is said of all phases stays as it is."""
    told = naming_of(card).apply(card.model_copy(update={"phases": None}))
    return told.model_copy(update={"phases": card.phases})


def _levels(of_phase: Mapping[str, Any]) -> dict[str, Any]:
    """The levels of chance of a phase."""
    return {key: of_phase.get(key) for key in ("chance_task", "cue_alone")}


def _run_files(evidence: Evidence) -> RunFiles:
    """The runs' files by method and rising seed, as the card has them."""
    methods = evidence.timeline.methods
    runs = sorted(evidence.runs.runs, key=lambda run: (methods.index(run[0]), run[1]))
    return replace(evidence.runs, runs=tuple(runs))


def _proxy(facts: Mapping[str, Any]) -> str | None:
    """Why the numbers are proxies, if the boxes were found by an audit instead of given."""
    if not (found := facts.get("proxy")):
        return None
    return (
        f"proxy: the covered boxes were found by an audit ({percent(found['area'])} of an image on average), so AD, PD "
        "and SFR_rel depend on them, not on a known cue"
    )


def _as_proxy(table: Table | Missing, why: str) -> Table | Missing:
    if isinstance(table, Missing):
        return table
    return replace(table, title=f"{table.title} (proxy)", note=f"{table.note} {why[0].upper()}{why[1:]}.".strip())


def _stream_facts(facts: Mapping[str, Any]) -> StreamFacts | None:
    if not facts.keys() - {"proxy"}:
        return None
    levels = {key: facts.get(key) for key in ("chance", "chance_task", "cue_alone")}
    known = {key: value for key, value in levels.items() if isinstance(value, int | float)}
    phases = tuple(facts.get("training_images") or ())
    return StreamFacts(**known, phases=phases)
