"""Phase by phase: what a reader sees first, and the tables of all phases with a cue."""

from __future__ import annotations

from typing import Any

from einstellung.diagnoses.rigidity.card import RigidityCard
from einstellung.diagnoses.rigidity.naming import history_name
from einstellung.diagnoses.rigidity.phase_card import ManyPhases, PhaseRecord
from einstellung.diagnoses.rigidity.wording import PATTERNS
from einstellung.diagnoses.wording import percent
from einstellung.metrics.statistics import Summary
from einstellung.prose import join
from einstellung.report.notation import DASH, FACETS, epochs, interval, mean_sd, number
from einstellung.report.tables import Cell, Missing, Table

FACET_COLUMNS = ("AD", "PD", "SFR_rel", "delta", "T1")
_METRICS = {"average_accuracy": "average accuracy", "BWT": "BWT", "FWT": "FWT", "forgetting": "forgetting"}
_HABIT = "Do earlier cues shorten the delay?"
_NONE = Summary(None, None, 0, None, "none")


def describe_phase(card: RigidityCard) -> str:
    """The phase that the card is about, its history, and which phases have a cue."""
    assert card.phases is not None, "a card of many phases"
    phases = card.phases
    cues = join(phase for phase in phases.order if phases.cues.get(phase)) if phases.cues else ""
    known = f"; phases with a cue: {cues}" if cues else ""
    return f"{phases.shown}, after {history_name(phases.records[phases.shown].earlier)}{known}"


def phases_answer(card: RigidityCard) -> list[str]:
    """What every phase with a cue found, in a paragraph; empty with two phases."""
    phases = card.phases
    if phases is None:
        return []
    parts = [_phase_answer(phase, record) for phase, record in phases.records.items()]
    first = f"Phase by phase ({describe_phase(card).partition(',')[0]} above). {' '.join(parts)}"
    return [first, *_habit_answer(phases)]


def _phase_answer(phase: str, record: PhaseRecord) -> str:
    groups: dict[str, list[str]] = {}
    for method, own in record.methods.items():
        if own.pattern is None:
            continue
        sure = "" if own.certainty == "holds" or own.pattern == "ambiguous" else ", not conclusive"
        groups.setdefault(f"{own.pattern}{sure}", []).append(method)
    found = "; ".join(f"{join(methods)} ({pattern})" for pattern, methods in groups.items())
    return f"{phase}: {found or 'nothing to compare'}."


def _habit_answer(phases: ManyPhases) -> list[str]:
    """Effects of earlier cues whose interval excludes 0, or that none does."""
    effects = [
        (phase, method, own.habit)
        for phase, record in phases.records.items()
        for method, own in record.methods.items()
        if own.habit is not None and own.habit.effect.ci95 is not None
    ]
    if not effects:
        return []
    clear = []
    for phase, method, habit in effects:
        low, high = habit.effect.ci95 or (0.0, 0.0)
        if not low <= 0 <= high:
            moved = "shortens" if high < 0 else "lengthens"
            size = f"{epochs(abs(habit.effect.mean or 0.0))} epochs, 95 % {interval('AD', habit.effect)}"
            clear.append(f"the cue of {join(habit.phases)} {moved} {method}'s delay in {phase} ({size})")
    if not clear:
        return ["Earlier cues have no clear effect on the delay in a later phase: every interval contains 0."]
    return [f"Habit: {join(clear)}."]


def phase_tables(card: RigidityCard) -> dict[str, Table | Missing]:
    """The tables of all phases by file name; none with two phases."""
    if card.phases is None:
        return {}
    phases = card.phases
    return {
        "phases": _facets(card, phases),
        "phase_habit": _habit(phases),
        "phase_metrics": _metrics(phases),
        "phase_matrix": _matrix(phases),
    }


def _facets(card: RigidityCard, phases: ManyPhases) -> Table:
    rows, values = [], []
    for phase, record in phases.records.items():
        for method, own in record.methods.items():
            is_baseline = method == record.baseline
            shown = [
                own.facet(key) if not (is_baseline and key in ("AD", "PD", "SFR_rel")) else _NONE
                for key in FACET_COLUMNS
            ]
            pattern = "baseline" if is_baseline else own.pattern or DASH
            tone = PATTERNS[own.pattern].tone if own.pattern and own.certainty == "holds" else None
            certain = "" if own.pattern in (None, "ambiguous") else own.certainty or ""
            cells = [Cell(mean_sd(_key(key), summary)) for key, summary in zip(FACET_COLUMNS, shown, strict=True)]
            rows.append(
                (Cell(phase), Cell(method), *cells, Cell(pattern, tone=tone), Cell(certain), Cell(str(own.n_seeds)))
            )
            values.append(
                {
                    "phase": phase,
                    "method": method,
                    "baseline": record.baseline,
                    **{
                        f"{key}{end}": value
                        for key, summary in zip(FACET_COLUMNS, shown, strict=True)
                        for end, value in _numbers(summary).items()
                    },
                    "pattern": own.pattern,
                    "certainty": own.certainty,
                    "p_holm": own.p_holm,
                    "seeds": own.n_seeds,
                }
            )
    heads = [{"T1": "earlier phases"}.get(key, FACETS[key].head) for key in FACET_COLUMNS]
    return Table(
        "Phase by phase",
        "Mean ± standard deviation over seeds. Each phase with a cue against the baseline of the same phase and seed. "
        f"AD at τ = {number(card.tau, digits=2)}, in effective epochs of the phase. Earlier phases: accuracy on their test "
        "images at the end of the phase, pooled. p values are corrected over the methods of a phase, not over phases.",
        ("phase", "method", *heads, "pattern", "certainty", "n"),
        tuple(rows),
        tuple(values),
        words=2,
    )


def _key(key: str) -> str:
    return "SC_patch" if key == "T1" else key


def _numbers(summary: Summary) -> dict[str, Any]:
    low, high = summary.ci95 or (None, None)
    return {"": summary.mean, "_sd": summary.sd, "_n": summary.n, "_low": low, "_high": high}


def _habit(phases: ManyPhases) -> Table | Missing:
    rows, values = [], []
    for phase, record in phases.records.items():
        for method, own in record.methods.items():
            if own.habit is None:
                continue
            effect = own.habit.effect
            text = interval("AD", effect) if effect.ci95 else f"n = {effect.n}: no interval"
            names = join(own.habit.phases)
            rows.append(
                (
                    *map(Cell, (phase, method, names, own.habit.study)),
                    Cell(mean_sd("AD", effect)),
                    Cell(text),
                    Cell(str(effect.n)),
                )
            )
            values.append(
                {
                    "phase": phase,
                    "method": method,
                    "cue_of": names,
                    "without": own.habit.study,
                    **_named("effect", effect),
                }
            )
    if not rows:
        reasons = [
            f"{phase}: {record.no_habit_effect}" for phase, record in phases.records.items() if record.no_habit_effect
        ]
        return Missing("phase_habit", _HABIT, "; ".join(reasons) or "no phase has a cue and a history")
    return Table(
        _HABIT,
        "AD in this study minus AD in the study without the earlier cue, by seed, in effective epochs; mean ± standard "
        "deviation and 95 % interval. Below 0: the earlier cue shortens the delay.",
        ("phase", "method", "earlier cue of", "study without it", "AD here - AD there", "95 % interval", "n"),
        tuple(rows),
        tuple(values),
        words=4,
    )


def _named(name: str, summary: Summary) -> dict[str, Any]:
    return {f"{name}{end}": value for end, value in _numbers(summary).items()}


def _metrics(phases: ManyPhases) -> Table:
    rows, values = [], []
    for method, own in phases.continual.items():
        summaries = {key: own.metric(key) for key in _METRICS}
        rows.append((Cell(method), *(Cell(mean_sd("SC_patch", summary)) for summary in summaries.values())))
        values.append(
            {"method": method, **{k: v for key, one in summaries.items() for k, v in _named(key, one).items()}}
        )
    return Table(
        "Forgetting and transfer over all phases",
        "Mean ± standard deviation over seeds, from the accuracy on every phase's test images after every phase. BWT: at the "
        "end, minus after their own phase. FWT: before a phase, minus that of an untrained model. Forgetting: the best "
        "accuracy so far minus the last. Dash: not measured.",
        ("method", *_METRICS.values()),
        tuple(rows),
        tuple(values),
    )


def _matrix(phases: ManyPhases) -> Table:
    rows, values = [], []
    tested = [phase for phase in phases.order if any(phase in own.accuracy for own in phases.continual.values())]
    for method, own in phases.continual.items():
        for trained, by_test in own.accuracy.items():
            cells = [Cell(percent(mean) if (mean := by_test[one].mean) is not None else DASH) for one in tested]
            rows.append((Cell(method), Cell(trained), *cells))
            values += [
                {"method": method, "after": trained, "on": one, **_named("accuracy", by_test[one])} for one in tested
            ]
    return Table(
        "Accuracy on every phase after every phase",
        "Mean over seeds, on each phase's test images as its training shows them.",
        ("method", "after", *(f"on {phase}" for phase in tested)),
        tuple(rows),
        tuple(values),
        words=2,
    )
