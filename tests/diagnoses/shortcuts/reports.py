"""Reports of several shortcuts for the tests: what they are made of, and how they are written."""

from __future__ import annotations

import csv
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from hypothesis import strategies as st

from einstellung.diagnoses.contract import Evidence
from einstellung.diagnoses.reporting import Scored, write_report
from einstellung.diagnoses.shortcuts.diagnosis import Shortcuts
from einstellung.diagnoses.shortcuts.published import read_paper
from einstellung.diagnoses.shortcuts.settings import ShortcutsSettings
from einstellung.files import write_bytes, write_json
from einstellung.report.figures.canvas import render, settle
from einstellung.results.config import StudyConfig, build_config, merged
from einstellung.results.folder import ResultsFolder
from einstellung.results.run_files import RunFiles
from einstellung.timeline import Timeline

from .timelines import CUES, groups, rows_of, timeline_of, two_cues

TWINS = {f"{cue}_{kind}": acc for cue in CUES for kind, acc in (("common", 0.9), ("swapped", 0.4), ("covered", 0.6))}
PROOF = {
    "stream": "composites",
    "facts": {"protocol": "several shortcuts", "cues": list(CUES), "correlations": {"T1": [0.95, 0.95]}},
    "checks": [{"name": "sources are disjoint", "passed": True, "detail": "3 splits"}],
}
MOVED = {
    "erm": {"T1": two_cues(0.95, 0.95, 0.55, 0.55), "T2": two_cues(0.95, 0.65, 0.8, 0.5)},
    "scratch": {"T1": two_cues(0.95, 0.95, 0.55, 0.55), "T2": two_cues(0.95, 0.6, 0.95, 0.6)},
    "er+lle": {"T1": two_cues(0.95, 0.95, 0.85, 0.85), "T2": two_cues(0.95, 0.9, 0.94, 0.9)},
}
CORRELATIONS = st.sampled_from([None, (0.95, 0.5), (1.0, 1.0), {"T2": (0.5, 0.95)}])


def paper_config(**changes: Any) -> StudyConfig:
    """The paper's own protocol as a configuration, with some changes."""
    constant = merged(read_paper().protocol, {"training": {"milestones": []}})
    return build_config(merged(constant, changes))


def write_page(
    folder: Path,
    timeline: Timeline,
    correlations: Any,
    *,
    title: str | None = None,
    proof: Mapping[str, Any] | None = None,
    provenance: Mapping[str, Any] | None = None,
    config: StudyConfig | None = None,
    **settings: Any,
) -> tuple[Scored, str]:
    """Score a timeline, write its report into a folder, which may hold samples; what was scored, and the page."""
    evidence = Evidence(timeline, proof, config, RunFiles(folder))
    diagnosis = Shortcuts()
    card = diagnosis.score(evidence, ShortcutsSettings(cues=CUES, correlations=correlations, **settings))
    scored = Scored(diagnosis, evidence, card)
    page = write_report(folder, scored, title=title, provenance=provenance)
    return scored, page.read_text(encoding="utf-8")


def write_study(
    folder: Path, timeline: Timeline, correlations: Mapping[str, Any] | None = None, **config: Any
) -> ResultsFolder:
    """A results folder as a run leaves it, with one finished run for each method and seed."""
    results = ResultsFolder(folder)
    results.write_config(build_config({"diagnosis": "shortcuts", "methods": timeline.methods, **config}))
    facts = {**PROOF["facts"], **({"correlations": correlations} if correlations else {})}
    write_json(results.proof_file, {**PROOF, "facts": facts})
    for (method, seed), frame in timeline.frame.groupby(["method", "seed"]):
        run = results.path / "runs" / f"{method}-seed{seed}"
        write_json(run / "status.json", {"state": "finished"})
        Timeline(frame.reset_index(drop=True)).write(run / "timeline.csv")
    return results


def save_as_svg(figure, folder, name):
    """All formats hold the same; one takes a third of the time."""
    settle(figure)
    content = render(figure, "svg")
    write_bytes(folder / f"{name}.svg", content)
    return {"svg": content}


def write_samples(path: Path) -> Path:
    names = [f"group_{label}_{pattern}" for label in "01" for pattern in ("11", "10", "01", "00")] + list(TWINS)
    np.savez(path, **{name: np.full((8, 8, 8, 3), 9 * place, dtype=np.uint8) for place, name in enumerate(names)})
    return path


def table_of(folder: Path, name: str) -> list[dict[str, str]]:
    with (folder / "tables" / f"{name}.csv").open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


@st.composite
def odd_timelines(draw):
    """Any part of two cues' groups, of their validation and their twins, in any phases, seeds and epochs."""
    splits = [*groups(two_cues(0, 0, 0, 0)), *groups(two_cues(0, 0, 0, 0), "val"), *TWINS, "T1_train", "another"]
    runs = st.tuples(
        st.sampled_from(["erm", "scratch", "a_$b$"]), st.integers(1, 3), st.sampled_from(["T1", "T2", "T3"])
    )
    rows = []
    for method, seed, phase in draw(st.lists(runs, min_size=1, max_size=7, unique=True)):
        kept = splits if draw(st.booleans()) else draw(st.lists(st.sampled_from(splits), min_size=1, unique=True))
        for epoch in draw(st.sampled_from([[0.0], [2.0], [0.0, 1.0, 2.5]])):
            values = {split: draw(st.sampled_from([0.0, 0.5, 0.9, 1.0])) for split in kept}
            rows += rows_of(method, seed, phase, values, epochs=(epoch,), n=draw(st.sampled_from([None, 5])))
    return timeline_of([*rows, ("erm", 9, "T2", 1.0, "group_1_10", 0.5, None, None)])
