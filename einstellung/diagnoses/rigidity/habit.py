"""Does a cue in earlier phases shorten the delay in a later one? AD in the study with them minus AD in one without, by seed."""

from __future__ import annotations

from collections.abc import Mapping

from einstellung.diagnoses.card import Card
from einstellung.diagnoses.rigidity.phase_card import HabitEffect, ManyPhases, PhaseMethod, PhaseRecord
from einstellung.metrics.arithmetic import difference
from einstellung.metrics.statistics import summarise
from einstellung.prose import join

NO_CUES = "the log does not say which phases had a cue; studies of 'einstellung run' do"
NO_EARLIER = "no earlier phase has a cue"


def with_habit_effects(phases: ManyPhases, siblings: Mapping[str, Card]) -> ManyPhases:
    """The same with the effect of earlier phases' cues, where another study of the family or sweep lacks some of them."""
    others = {name: own for name, card in siblings.items() if (own := getattr(card, "phases", None)) is not None}
    records = {phase: _record(phases, phase, record, others) for phase, record in phases.records.items()}
    return phases.model_copy(update={"records": records})


def _record(phases: ManyPhases, phase: str, record: PhaseRecord, others: Mapping[str, ManyPhases]) -> PhaseRecord:
    with_cue = [one for one in record.earlier if phases.cues.get(one)]
    if not phases.cues or not with_cue:
        return record.model_copy(update={"no_habit_effect": NO_EARLIER if phases.cues else NO_CUES})
    arms = {
        name: removed
        for name, other in others.items()
        if (removed := _removed(phases, other, phase, record)) and {*record.methods} & {*other.records[phase].methods}
    }
    if not arms:
        return record.model_copy(update={"no_habit_effect": _what_to_run(phases, with_cue)})
    arm = max(arms, key=lambda name: len(arms[name]))  # the first of those that lack most cues
    there = others[arm].records[phase].methods
    methods = {
        method: own.model_copy(update={"habit": _effect(own, there[method], arm, arms[arm])})
        if method in there and method != record.baseline
        else own
        for method, own in record.methods.items()
    }
    return record.model_copy(update={"methods": methods})


def _removed(here: ManyPhases, there: ManyPhases, phase: str, record: PhaseRecord) -> tuple[str, ...]:
    """The earlier phases whose cue the other study lacks; empty if the studies differ in anything else about the cues so far."""
    if here.order != there.order or phase not in there.records:
        return ()
    if here.cues.get(phase) != there.cues.get(phase):
        return ()
    changed = [one for one in record.earlier if here.cues.get(one) != there.cues.get(one)]
    return tuple(changed) if all(there.cues.get(one) is None for one in changed) else ()


def _effect(here: PhaseMethod, there: PhaseMethod, study: str, removed: tuple[str, ...]) -> HabitEffect:
    shared = [seed for seed in here.AD_by_seed if seed in there.AD_by_seed]
    values = [difference(here.AD_by_seed[seed], there.AD_by_seed[seed]) for seed in shared]
    return HabitEffect(study=study, phases=removed, effect=summarise(values))


def _what_to_run(phases: ManyPhases, with_cue: list[str]) -> str:
    """The comparison that would show the effect of the last earlier cue."""
    last = phases.order.index(with_cue[-1])
    rest = f", and likewise for {join(with_cue[:-1])}" if len(with_cue) > 1 else ""
    return (
        f"no study of this sweep or family lacks the cue of {join(with_cue)}: run the same configuration with "
        f"--sweep 'stream.phases.{last}.cue=null,{{}}'{rest}"
    )
