"""The report of a sweep: how the index moves with one setting, such as the size of the cue."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any
from urllib.parse import quote

from einstellung.diagnoses.rigidity.sweep_points import Sweep, sweep_record, sweep_table
from einstellung.files import write_json, write_text
from einstellung.report.measured import fewest_seeds, seeds_in_words
from einstellung.report.notation import join, write
from einstellung.report.table_formats import write_table


def write_sweep_report(folder: Path, key: str, points: Sequence[tuple[Any, Mapping[str, Any]]]) -> Path:
    """Write ``figures/sweep.*``, ``tables/sweep.*``, ``sweep.json`` and, last, ``sweep.html``; return its path.

    ``points`` are (value, scorecard) pairs; the report of each lies in ``<key>=<value>/report.html``
    (:func:`einstellung.results.sweep.folder_name`).
    """
    from einstellung.diagnoses.rigidity.figures.sweep import draw_sweep
    from einstellung.report.figures.canvas import drawing, save  # matplotlib takes most of a second to import
    from einstellung.report.figures.plan import Drawn
    from einstellung.report.page import sweep_page

    folder, sweep = Path(folder), Sweep.of(key, points)
    table = sweep_table(sweep)
    write_json(folder / "sweep.json", sweep_record(sweep))
    write_table(folder / "tables", "sweep", table)
    with drawing():
        svg = save(draw_sweep(sweep), folder / "figures", "sweep")["svg"]
    page = sweep_page(
        title=f"The index against {key}",
        answer=_answer(sweep),
        figure=Drawn("sweep", f"The facets against {key}", _caption(sweep), svg),
        table=table,
        links={point.label: quote(f"{sweep.folder_of(point)}/report.html", safe="/=,") for point in sweep.points},
        failed=_failed(sweep),
        warnings=_warnings(sweep),
        fewest_seeds=min(fewest_seeds(point.card) for point in sweep.points),
    )
    return write_text(folder / "sweep.html", page)


def _answer(sweep: Sweep) -> str:
    """Where Δ stands at the first and at the last value, for every method that has it at both."""
    first, last = sweep.points[0], sweep.points[-1]
    parts = []
    for method in sweep.methods:
        means = [point.card["methods"].get(method, {}).get("delta", {}).get("mean") for point in (first, last)]
        if len(sweep.points) > 1 and None not in means:
            parts.append(f"{method} from {write('delta', means[0])} to {write('delta', means[1])}")
    values = f"{len(sweep.points)} value{'s' if len(sweep.points) > 1 else ''} of {sweep.key}"
    moved = f" From {first.label} to {last.label}, reliance on the cue (Δ) goes in {join(parts)}." if parts else ""
    own = ", every value with a baseline of its own" if sweep.baseline in sweep.methods else ""
    return f"{join(sweep.methods)} at {values}{own}.{moved}"


def _caption(sweep: Sweep) -> str:
    words = [
        f"Mean and 95 % interval over seeds at every value of {sweep.key}; {seeds_in_words(sweep.points[0].card)}.",
        f"AD, PD and SFR_rel are against {sweep.baseline} trained with the same value; Δ is every model's own.",
        "Open: only some seeds count. A cross in the strip below a panel: the facet is undefined there, because the "
        "threshold was not reached or for the reason in the table. An arrow: the interval goes on beyond the frame.",
        "Grey: within the margin. Methods are shifted a little sideways so that they do not hide each other.",
    ]
    return " ".join(words)


def _failed(sweep: Sweep) -> list[dict[str, Any]]:
    return [
        {**check, "name": f"{sweep.key} = {point.label}: {check['name']}"}
        for point in sweep.points
        for check in point.card["checks"]
        if check["passed"] is False
    ]


def _warnings(sweep: Sweep) -> list[str]:
    """Every warning once, with the values it belongs to."""
    where: dict[str, list[str]] = {}
    for point in sweep.points:
        for warning in point.card["warnings"]:
            where.setdefault(warning, []).append(point.label)
    return [f"{sweep.key} = {join(labels)}: {warning}" for warning, labels in where.items()]
