"""Score every phase with a cue of a stream of many, each as T2 with the phases before it as T1."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from einstellung.diagnoses.baseline import alike
from einstellung.diagnoses.card import Card
from einstellung.diagnoses.contract import Evidence
from einstellung.diagnoses.rigidity.card import RigidityCard, RigidityMethod
from einstellung.diagnoses.rigidity.habit import with_habit_effects
from einstellung.diagnoses.rigidity.naming import Naming, history_name
from einstellung.diagnoses.rigidity.phase_card import ManyPhases, PhaseMethod, PhaseRecord
from einstellung.diagnoses.rigidity.phase_matrix import phase_matrices
from einstellung.diagnoses.rigidity.projection import (
    FRESH,
    baseline_of,
    earlier_phases,
    projected,
    scored_phases,
    without_history,
)
from einstellung.diagnoses.rigidity.score import score
from einstellung.diagnoses.rigidity.settings import RigiditySettings
from einstellung.errors import InputError
from einstellung.metrics.statistics import Summary
from einstellung.registry import suggestion
from einstellung.timeline import Timeline


@dataclass(frozen=True)
class PhaseFacts:
    """What the stream's proof says of its phases; empty for foreign logs."""

    facts: Mapping[str, Any]

    def of(self, phase: str) -> Mapping[str, Any]:
        found: Mapping[str, Any] = (self.facts.get("phases") or {}).get(phase) or {}
        return found

    @property
    def cues(self) -> dict[str, str | None]:
        return {phase: own.get("cue") for phase, own in (self.facts.get("phases") or {}).items()}

    def classes(self, phases: Sequence[str]) -> int | None:
        """The number of classes of these phases together."""
        counts = [len(self.of(phase).get("classes") or ()) for phase in phases]
        return sum(counts) if counts and all(counts) else None


def check_phase(settings: RigiditySettings) -> None:
    """Refuse another phase than T2 where there are two."""
    _require_known(settings.phase, ("T2",))


def _require_known(phase: str | None, known: Sequence[str]) -> None:
    if phase is not None and phase not in known:
        raise InputError(f"phase is '{phase}', which has no cue or nothing before it: {suggestion(phase, known)}")


def score_phases(
    timeline: Timeline,
    settings: RigiditySettings,
    facts: Mapping[str, Any],
    outputs: int | None,
    siblings: Mapping[str, Card],
) -> RigidityCard:
    """The card of the chosen phase, by default the last one with a cue, and of every other one what ``phases`` holds."""
    known, phases = PhaseFacts(facts), scored_phases(timeline)
    _require_known(settings.phase, phases)
    shown = settings.phase or phases[-1]
    cards = {phase: _card(timeline, phase, settings, known, outputs, shown) for phase in phases}
    records = {
        phase: PhaseRecord(
            earlier=earlier_phases(timeline, phase),
            cue=known.cues.get(phase),
            earlier_classes=known.classes(earlier_phases(timeline, phase)),
            baseline=card.baseline if card.has_baseline else None,
            methods={method: _method(record) for method, record in card.baseline_first().methods.items()},
        )
        for phase, card in cards.items()
    }
    fresh = alike(FRESH[1], timeline.methods)
    many = ManyPhases(
        shown=shown,
        order=timeline.phase_names,
        cues=known.cues,
        records=records,
        continual=phase_matrices(timeline, fresh[0] if fresh else None),
    )
    return cards[shown].model_copy(update={"phases": with_habit_effects(many, siblings)})


def _card(
    timeline: Timeline,
    phase: str,
    settings: RigiditySettings,
    known: PhaseFacts,
    outputs: int | None,
    shown: str,
) -> RigidityCard:
    asked = settings if phase == shown else _as_available(timeline, phase, settings)
    own = timeline_of_phase(timeline, phase, asked.baseline)
    baseline = baseline_of(own, asked.baseline)
    return score(
        own,
        asked.model_copy(update={"baseline": baseline, "phase": None}),
        outputs,
        known.classes(earlier_phases(timeline, phase)),
    )


def timeline_of_phase(timeline: Timeline, phase: str, asked: str | None) -> Timeline:
    """The timeline of two phases that the card of a phase is scored from; ``asked``: the baseline that was asked for."""
    two = projected(timeline, phase)
    baseline = baseline_of(two, asked)
    return without_history(two, baseline)


def _as_available(timeline: Timeline, phase: str, settings: RigiditySettings) -> RigiditySettings:
    """The settings of the chosen phase, as far as another phase has what they ask for."""
    methods = {method.lower() for method in projected(timeline, phase).methods}
    lacks = settings.baseline is not None and settings.baseline.lower() not in methods
    return settings.model_copy(update={"final": "auto", **({"baseline": None} if lacks else {})})


def _method(record: RigidityMethod) -> PhaseMethod:
    return PhaseMethod(
        n_seeds=record.n_seeds,
        AD=_plain(record.AD),
        PD=record.PD,
        SFR_rel=record.SFR_rel,
        delta=record.delta,
        SC_patch=record.SC_patch,
        T1=record.T1,
        T1_after_T1=record.T1_after_T1,
        pattern=record.pattern,
        certainty=record.certainty,
        p_holm=record.p_holm,
        AD_by_seed={seed: one.AD for seed, one in record.per_seed.items()},
    )


def _plain(summary: Summary) -> Summary:
    """AD without who did not reach the threshold: the card of the phase says it."""
    return Summary(**{name: getattr(summary, name) for name in Summary.__dataclass_fields__})


def naming_of(card: RigidityCard) -> Naming:
    """How the card's sentences call the phase that plays T2, and its history."""
    if card.phases is None:
        return Naming("T2", "T1")
    earlier = card.phases.records[card.phases.shown].earlier
    return Naming(card.phases.shown, history_name(earlier), tuple(card.methods))


def evidence_of_card(evidence: Evidence, card: RigidityCard) -> Evidence:
    """The evidence behind the card: of many phases, that of the shown one as two phases."""
    if card.phases is None:
        return evidence
    phase = card.phases.shown
    own = timeline_of_phase(evidence.timeline, phase, card.baseline if card.has_baseline else None)
    # predictions and samples are of the stream's last phase, and of the last one with a cue
    if phase == card.phases.order[-1]:
        runs = replace(evidence.runs, phase=phase)
    elif phase == list(card.phases.records)[-1]:
        runs = replace(evidence.runs, runs=(), phase=phase)
    else:
        runs = replace(evidence.runs, runs=(), folder=None, phase=phase)
    return replace(evidence, timeline=own, runs=runs)
