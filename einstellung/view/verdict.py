"""What is said of a study: the card it stored, or what its measurements so far would say."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from einstellung.diagnoses.card import Card
from einstellung.diagnoses.contract import Diagnosis, Evidence
from einstellung.diagnoses.reporting import diagnosis_of, score_evidence
from einstellung.diagnoses.stored import card_from_json
from einstellung.diagnoses.wording import counted
from einstellung.errors import InputError
from einstellung.report.tables import Table
from einstellung.timeline import Run, Timeline
from einstellung.view.measurements import Measured, phases_of
from einstellung.view.study import Snapshot


@dataclass(frozen=True)
class Verdict:
    """A card with the diagnosis that reads it. ``basis``: what it rests on; ``stored``: it is the study's own ``score.json``."""

    diagnosis: Diagnosis[Any, Any]
    card: Card
    basis: str
    stored: bool = True


@dataclass(frozen=True)
class Verdicts:
    """What can be said, the surest first, and the reason for what cannot."""

    found: tuple[Verdict, ...] = ()
    problems: tuple[str, ...] = ()


def stored_verdict(values: Mapping[str, Any], snapshot: Snapshot) -> Verdict:
    """The verdict of a study's ``score.json``; InputError where it is no card, or lacks runs that are finished."""
    diagnosis, card = card_from_json(values)
    finished = {run for run, status in snapshot.runs.items() if status.state == "finished"}
    late = [run for run in finished if not _has_run(card, run)]
    if late:
        raise InputError(
            f"score.json does not have {counted(len(late), 'run')} that finished later: update it with 'einstellung report'"
        )
    return Verdict(diagnosis, card, "the study's score.json")


def _has_run(card: Card, run: Run) -> bool:
    """Whether a card rests on a run; one that does not say what each seed gave is believed."""
    method, seed = run
    if method not in card.methods:
        return False
    each = getattr(card.methods[method], "per_seed", None)
    return each is None or seed in each or str(seed) in each


class Provisional:
    """Verdicts by measurements alone: of the finished runs and, at equal training, with the others.

    Files of single images, probes and other studies of a family are not read, so the final verdict may rest on more. What was
    said of the finished runs is kept until more of them are finished.
    """

    def __init__(self) -> None:
        self._finished: pd.DataFrame | None = None
        self._kept = Verdicts()

    def judge(self, snapshot: Snapshot, measured: Measured, proof: Mapping[str, Any] | None) -> Verdicts:
        if measured.finished is not self._finished:
            self._finished, self._kept = measured.finished, Verdicts()
            if measured.finished is not None:
                count = len(measured.finished[["method", "seed"]].drop_duplicates())
                whole = f"{count} finished of {counted(len(snapshot.runs), 'run')}"
                self._kept = _judge(snapshot, measured.finished, proof, whole if snapshot.has_runs else "timeline.csv")
        begun = {
            run: frame
            for run, frame in measured.unfinished.items()
            if snapshot.runs[run].state in ("running", "stopped") and _last_position(frame, phases_of(frame))[1] > 0
        }
        so_far = Verdicts()
        if begun:
            frame, (phase, epoch) = at_equal_training(measured.finished, begun)
            basis = (
                f"with {counted(len(begun), 'unfinished run')}, at equal training: every run is truncated at epoch "
                f"{epoch:g} of {phase}, where the slowest one is now"
            )
            so_far = _judge(snapshot, frame, proof, basis)
        return Verdicts(
            (*self._kept.found, *so_far.found), (*measured.problems, *self._kept.problems, *so_far.problems)
        )


def at_equal_training(
    finished: pd.DataFrame | None, unfinished: Mapping[Run, pd.DataFrame]
) -> tuple[pd.DataFrame, tuple[str, float]]:
    """All rows up to the phase and epoch that the slowest unfinished run has reached, and that moment.

    A run at epoch 3 beside one at epoch 50 would seem slow and poor; cut at the same epoch, both had the same chance.
    """
    parts = [finished] if finished is not None else []
    frame = pd.concat([*parts, *unfinished.values()], ignore_index=True)
    phases = phases_of(frame)
    place, epoch = min(_last_position(run, phases) for run in unfinished.values())
    reached = frame["phase"].isin(phases[:place]) | ((frame["phase"] == phases[place]) & (frame["epoch"] <= epoch))
    return frame[reached].reset_index(drop=True), (phases[place], epoch)


def _last_position(frame: pd.DataFrame, phases: Sequence[str]) -> tuple[int, float]:
    """The place of the phase and the epoch of the latest measurement."""
    place = max(phases.index(phase) for phase in frame["phase"].unique())
    return place, float(frame.loc[frame["phase"] == phases[place], "epoch"].max())


def _judge(snapshot: Snapshot, frame: pd.DataFrame, proof: Mapping[str, Any] | None, basis: str) -> Verdicts:
    config = snapshot.config
    assert config is not None, "a study with measurements must have a configuration"
    try:
        timeline = Timeline(_in_order(frame))
        diagnosis = diagnosis_of(config, timeline.splits)
        scored = score_evidence(diagnosis, Evidence(timeline, proof, config), config.score)
    except InputError as error:
        return Verdicts((), (f"no verdict yet, {basis}: {error}",))
    except Exception as error:  # noqa: BLE001 (half a study may break any diagnosis; a viewer shows the rest)
        return Verdicts((), (f"no verdict yet, {basis}: {type(error).__name__} while scoring what is there so far",))
    return Verdicts((Verdict(diagnosis, scored.card, basis, stored=False),))


def _in_order(frame: pd.DataFrame) -> pd.DataFrame:
    """Methods as a report reads them: in the order of their runs' folders."""
    codes, methods = pd.factorize(frame["method"])
    names = [f"{method}-seed" for method in methods]
    places = np.argsort(np.argsort(names))
    return frame.iloc[np.argsort(places[codes], kind="stable")]


def verdict_to_json(verdict: Verdict) -> dict[str, Any]:
    """The sentences and the table that a terminal shows, as plain values."""
    card = verdict.card.baseline_first()
    overview = verdict.diagnosis.overview(card)
    paragraphs = [p if isinstance(p, str) else f"{p.lead}{p.text}" for p in overview.paragraphs]
    failed = [f"{check.name}: {check.detail}" for check in card.checks if check.passed is False]
    return {
        "basis": verdict.basis,
        "stored": verdict.stored,
        "answer": verdict.diagnosis.answer(card),
        "paragraphs": paragraphs,
        "table": table_to_json(overview.table),
        "checks": {"failed": failed, "made": sum(check.passed is not None for check in card.checks)},
        "warnings": list(card.warnings),
        "fewest_seeds": card.fewest_seeds,
        "conditions": dict(verdict.diagnosis.conditions(card)),
    }


def table_to_json(table: Table) -> dict[str, Any]:
    return {
        "head": list(table.head),
        "rows": [[{"text": cell.text, "why": cell.why, "tone": cell.tone} for cell in row] for row in table.rows],
        "note": table.note,
        "words": table.words,
    }
