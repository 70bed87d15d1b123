"""What the page asks for, as plain values ready for JSON."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Sequence
from concurrent.futures import Executor, ThreadPoolExecutor
from datetime import datetime
from pathlib import Path
from typing import Any

from einstellung.diagnoses.wording import counted
from einstellung.errors import InputError
from einstellung.results.examination import damaged_lines
from einstellung.results.folder import ResultsFolder
from einstellung.view.catalogue import Catalogue, Found
from einstellung.view.comparison import Compared, compare
from einstellung.view.measurements import Measured, StudyMeasurements, curves, phases_of
from einstellung.view.plain_files import signature
from einstellung.view.study import Snapshot, StudyReader
from einstellung.view.verdict import Provisional, Verdict, Verdicts, stored_verdict, verdict_to_json

_MOST_COMPARED = 8
_FIRST_SPLITS = 4


class UnknownStudyError(Exception):
    """No study has this key."""


class Api:
    """Answers for one set of folders. Studies are found by key; nothing is written anywhere."""

    def __init__(self, folders: Sequence[Path]) -> None:
        self.catalogue = Catalogue(folders)
        self._reader = StudyReader()
        self._studies: dict[str, _Study] = {}
        self._lock = threading.Lock()
        self._background = ThreadPoolExecutor(1, "verdicts")

    def studies(self) -> dict[str, Any]:
        """Every study, and every sweep or family, with its state; a damaged folder with the reason.

        Verdicts that are not known yet are ``pending``: they are made in the background, so that the list never waits.
        """
        rows = [self._row(found) for found in self.catalogue.all().values()]
        return {"folders": [str(root) for root in self.catalogue.roots], "studies": rows, "now": time.time()}

    def study(self, key: str) -> dict[str, Any]:
        """The state of a study: its runs, its jobs, how long it will take."""
        found = self._found(key)
        snapshot = self._snapshot(found)
        progress = snapshot.progress or {}
        return {
            **self._facts(found, snapshot),
            "version": snapshot.version,
            "methods": list(snapshot.config.methods) if snapshot.config else [],
            "seeds": list(snapshot.config.seeds) if snapshot.config else [],
            "runs": [
                {
                    "method": method,
                    "seed": seed,
                    "state": run.state,
                    "done": run.done,
                    "where": run.where,
                    "reason": run.reason,
                }
                for (method, seed), run in snapshot.runs.items()
            ]
            if snapshot.has_runs or snapshot.progress is not None
            else [],
            "jobs": [
                {"label": job["label"], "kind": job["kind"], "done": job["done"], "where": job["where"]}
                for job in progress.get("jobs", [])
                if job["state"] == "running"
            ],
            "share": progress.get("share"),
            "seconds_left": progress.get("seconds_left"),
            "silent": snapshot.silent,
        }

    def verdict(self, key: str) -> dict[str, Any]:
        """What the study stored, or what its measurements say so far."""
        found = self._found(key)
        snapshot = self._snapshot(found)
        verdicts = self._kept(key).verdicts(snapshot, self._reader)
        return {
            "version": snapshot.version,
            "verdicts": [verdict_to_json(verdict) for verdict in verdicts.found],
            "problems": list(verdicts.problems),
        }

    def curves(self, key: str, phase: str | None, splits: Sequence[str]) -> dict[str, Any]:
        """The accuracies of a phase on some splits, by epoch."""
        snapshot = self._snapshot(self._found(key))
        kept = self._kept(key)
        measured = kept.measured(snapshot)
        frame = measured.together
        if frame is None:
            return {
                "version": snapshot.version,
                "phases": [],
                "splits": [],
                "curves": {},
                "problems": list(measured.problems),
            }
        phases = phases_of(frame)
        phase = phase if phase in phases else phases[-1]
        known = kept.in_order(sorted(frame.loc[frame["phase"] == phase, "split"].unique()), snapshot, self._reader)
        chosen = [split for split in known if split in splits] or known[:_FIRST_SPLITS]
        return {
            "version": snapshot.version,
            "phases": phases,
            "phase": phase,
            "splits": known,
            "chosen": chosen,
            "curves": curves(frame, phase, chosen),
            "problems": list(measured.problems),
        }

    def compare(self, keys: Sequence[str]) -> dict[str, Any]:
        """Two studies or more side by side."""
        if not 2 <= len(dict.fromkeys(keys)) == len(keys) <= _MOST_COMPARED:
            raise InputError(f"choose two to {_MOST_COMPARED} different studies to compare")
        studies = []
        for key in keys:
            found = self._found(key)
            snapshot = self._snapshot(found)
            verdicts = self._kept(key).verdicts(snapshot, self._reader)
            if not verdicts.found:
                raise InputError(f"{found.label}: {'; '.join(verdicts.problems) or 'nothing is measured yet'}")
            studies.append(Compared(key, found.label, verdicts.found[0], snapshot.config))
        return compare(studies)

    def page(self, key: str, name: str) -> Path | None:
        """The file of a study's or a group's page; None where there is none of this name."""
        found = self.catalogue.get(key)
        page = found.page if found is not None else None
        return page if page is not None and page.name == name else None

    def _row(self, found: Found) -> dict[str, Any]:
        if found.group_page is not None:
            changed = signature(found.path / found.group_page)
            age = None if changed is None else time.time() - changed.changed / 1e9
            return {**self._identity(found), "kind": found.group_page.removesuffix(".html"), "age": age}
        try:
            snapshot = self._snapshot(found)
            row = self._facts(found, snapshot)
            kept = self._kept(found.key)
            row["pending"] = kept.request(snapshot, self._reader, self._background)
            if (verdicts := kept.latest) is not None:
                first = verdicts.found[0] if verdicts.found else None
                row["verdict"] = first.diagnosis.answer(first.card.baseline_first())[0] if first else None
                row["provisional"] = first is not None and not first.stored
                row["why"] = "; ".join(verdicts.problems) if first is None else None
        except InputError as error:
            reason = _one_line(error).replace(f"{found.path}{os.sep}", "")
            return {**self._identity(found), "kind": "damaged", "why": reason}
        except Exception as error:  # noqa: BLE001 (one damaged folder must not hide the others)
            return {**self._identity(found), "kind": "damaged", "why": f"cannot be read ({type(error).__name__})"}
        return row

    def _identity(self, found: Found) -> dict[str, Any]:
        page = found.page
        return {
            "key": found.key,
            "label": found.label,
            "page": f"page/{found.key}/{page.name}" if page is not None else None,
        }

    def _facts(self, found: Found, snapshot: Snapshot) -> dict[str, Any]:
        counts = snapshot.counts
        state = f"{counts['finished']} of {counted(len(snapshot.runs), 'run')}" if snapshot.has_runs else ""
        return {
            **self._identity(found),
            "kind": "study",
            "name": snapshot.config.name if snapshot.config is not None else None,
            "state": snapshot.state if snapshot.config is not None else "scored",
            "finished_runs": state,
            "failed_runs": counts["failed"] + counts["unreadable"],
            "share": (snapshot.progress or {}).get("share"),
            "seconds_left": (snapshot.progress or {}).get("seconds_left"),
            "age": self._age(snapshot),
        }

    def _age(self, snapshot: Snapshot) -> float | None:
        """Seconds since the study ended or, while it has not, began."""
        try:
            record = self._reader.json(snapshot.path / "provenance.json") or {}
            stamp: str = record.get("finished") or record["started"]
            return max(0.0, time.time() - datetime.fromisoformat(stamp).timestamp())
        except (InputError, KeyError, TypeError, ValueError, OverflowError, OSError):
            pass
        for name in ("score.json", "config.yaml"):
            if (found := signature(snapshot.path / name)) is not None:
                return max(0.0, time.time() - found.changed / 1e9)
        return None

    def _found(self, key: str) -> Found:
        found = self.catalogue.get(key)
        if found is None or found.group_page is not None:
            raise UnknownStudyError(key)
        return found

    def _snapshot(self, found: Found) -> Snapshot:
        return self._reader.snapshot(found.path, found.root)

    def _kept(self, key: str) -> _Study:
        with self._lock:
            return self._studies.setdefault(key, _Study())


class _Study:
    """What is kept in memory of one study: its measurements, and what was last said of it."""

    def __init__(self) -> None:
        self.latest: Verdicts | None = None
        self._measurements = StudyMeasurements()
        self._provisional = Provisional()
        self._reading, self._judging = threading.Lock(), threading.Lock()  # curves need not wait for a verdict
        self._moment = ""
        self._requested = ""

    def measured(self, snapshot: Snapshot) -> Measured:
        with self._reading:
            return self._measurements.read(snapshot)

    def verdicts(self, snapshot: Snapshot, reader: StudyReader) -> Verdicts:
        with self._judging:
            if self.latest is None or self._moment != snapshot.moment:
                try:
                    self.latest = self._judge(snapshot, reader)
                except Exception as error:  # noqa: BLE001 (a damaged file may cause anything; the state is shown all the same)
                    self.latest = Verdicts((), (f"its files cannot be judged ({type(error).__name__})",))
                self._moment = snapshot.moment
            return self.latest

    def request(self, snapshot: Snapshot, reader: StudyReader, background: Executor) -> bool:
        """Have verdicts made in the background if they are not of this moment; whether that is so."""
        if self.latest is not None and self._moment == snapshot.moment:
            return False
        if self._requested != snapshot.moment:
            self._requested = snapshot.moment
            background.submit(self.verdicts, snapshot, reader)
        return True

    def in_order(self, splits: list[str], snapshot: Snapshot, reader: StudyReader) -> list[str]:
        """Splits as the diagnosis lists them, where it can say; an earlier card of the study will do."""
        found = (self.latest or self.verdicts(snapshot, reader)).found
        if not found:
            return splits
        verdict: Verdict = found[0]
        return sorted(splits, key=lambda split: verdict.diagnosis.split_order(split, verdict.card))

    def _judge(self, snapshot: Snapshot, reader: StudyReader) -> Verdicts:
        problems: tuple[str, ...] = ()
        if not snapshot.running:
            problems = tuple(damaged_lines(ResultsFolder(snapshot.path))) if snapshot.config is not None else ()
            try:
                values = reader.json(snapshot.path / "score.json")
                if values is not None:
                    return Verdicts((stored_verdict(values, snapshot),), problems)
            except InputError as error:
                problems = (*problems, _one_line(error))
        if snapshot.config is None:
            return Verdicts((), problems)
        try:
            proof = reader.json(snapshot.path / "proof.json")
        except InputError:
            proof = None
        verdicts = self._provisional.judge(snapshot, self.measured(snapshot), proof)
        if not verdicts.found and not problems:
            waiting = snapshot.has_runs or snapshot.running
            problems = (
                "nothing is measured yet" if waiting else "score.json is missing: 'einstellung report' writes it",
            )
        return Verdicts(verdicts.found, (*problems, *verdicts.problems))


def _one_line(error: Exception) -> str:
    return " ".join(str(error).split())
