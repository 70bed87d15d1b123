"""The report of a study, and the guide's files beside it where they are asked for."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from einstellung.guide.comprehensive import STUDIES
from einstellung.guide.files import COMPREHENSIVE, write_guide_files
from einstellung.guide.score import guide_score
from einstellung.report.study import report_study
from einstellung.results.folder import ResultsFolder
from einstellung.timeline import Timeline


def report_with_guide_files(results: ResultsFolder, into: Path | None = None) -> tuple[dict[str, Any], Path]:
    """The scorecard and the path of the page, and the guide's files where ``into`` or ``guide_files: true`` asks for them.

    Without ``into`` they go to the root of the guide's command for a study that lies below one, else to the results folder.
    """
    card, page = report_study(results)
    if into is not None or results.config().guide_files:
        write_guide_files(results, into or guide_place(results))
    return card, page


def guide_place(results: ResultsFolder) -> Path:
    """Where the guide's files of a study lie unless another place is asked for."""
    study, root = results.path, results.path.parent.parent
    return root if study.parent.name == STUDIES and (root / COMPREHENSIVE).exists() else study


def guide_card(results: ResultsFolder) -> dict[str, Any]:
    """The guide's scores of a study whose timelines are merged."""
    return guide_score(Timeline.read(results.timeline_file), results.config().score.settings()).to_dict()
