"""``python -m benchmarks.leaderboard FOLDER ...``: add finished runs to studies/leaderboard, and rank its methods anew.

FOLDER is a results folder of the preset ``leaderboard``, or of a sweep of it over ``cue.habit``. Without one, ranking and pages
are made anew from the stored timelines.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import pandas as pd

import einstellung as e
from einstellung.api.results import Result
from einstellung.errors import InputError
from einstellung.experiments.assembly import resolve
from einstellung.files import read_json, write_json, write_text
from einstellung.report.notation import DASH, write
from einstellung.results.config import StudyConfig, build_config, merged, read_preset
from einstellung.results.folder import ResultsFolder
from einstellung.results.sweep import sweep_file

BOARD = Path(__file__).parents[1] / "studies/leaderboard"
HABITS = {"none": "no habit", "same": "the same cue in T1"}
OUTPUTS = 60  # classes in the head
REFERENCES = ("interleaved", "joint", "cumulative")
START, END = "<!-- ranking -->", "<!-- end -->"
_SPEED = ("threads", "kernels", "layout", "device", "matmul", "compile")
_ROW = ["method", "seed", "phase", "split", "epoch"]


def main(words: Sequence[str]) -> int:
    try:
        for folder in words:
            for habit, frame, record in finished_runs(Path(folder)):
                for method in add(BOARD / habit, frame, record):
                    print(f"habit {habit}: {method}")
        rank(BOARD)
    except InputError as error:
        print(error, file=sys.stderr)
        return 2
    return 0


def finished_runs(folder: Path) -> Iterator[tuple[str, pd.DataFrame, Mapping[str, Any]]]:
    """Habit, timeline and provenance of every study in a results folder; a study of other settings is refused."""
    if not folder.is_dir():
        raise InputError(f"{folder} is not a folder; give the results folder of a run of the preset 'leaderboard'")
    for study in sorted(folder.glob("cue.habit=*")) if sweep_file(folder).exists() else [folder]:
        config = ResultsFolder(study).config()
        habit = str(config.cue.options.get("habit", "none")) if config.cue else "none"
        if difference := differing(config, habit):
            raise InputError(f"{study}: {difference} is not that of the preset 'leaderboard'; runs must be comparable")
        result = e.load(study)
        assert isinstance(result, Result)
        yield habit, result.timeline, result.provenance or {}


def differing(config: StudyConfig, habit: str) -> str | None:
    """The first setting that makes runs of a study incomparable with the leaderboard's."""
    if habit not in HABITS:
        return f"cue.habit {habit}"
    preset = build_config(merged(read_preset("leaderboard"), {"cue": {"habit": habit}}), "leaderboard")
    found, wanted = (resolve(one).model_dump(mode="json") for one in (config, preset))
    for section in ("stream", "cue", "cover", "backbone", "training", "evaluation"):
        if without_speed(found[section]) != without_speed(wanted[section]):
            return section
    for method in config.methods:
        if method in preset.methods and found["learners"].get(method) != wanted["learners"].get(method):
            return f"learners.{method}"
    return None


def without_speed(section: Any) -> Any:
    """A section of a configuration without the settings that change the speed and not the question.

    >>> without_speed({"lr": 0.1, "threads": 2})
    {'lr': 0.1}
    """
    return {key: value for key, value in section.items() if key not in _SPEED} if isinstance(section, dict) else section


def add(folder: Path, frame: pd.DataFrame, record: Mapping[str, Any]) -> list[str]:
    """Store the runs of a timeline, one file per method, and where each comes from. The methods that grew.

    Runs on other data are refused, and a run that is there already must have the same numbers.
    """
    digests = folder / "data.json"
    if digests.exists() and read_json(digests) != record["data"]:
        raise InputError(f"{digests}: these runs were trained or tested on other images; runs must be comparable")
    grown, origins = [], []
    for method, rows in frame.groupby("method", sort=True):
        path = folder / "runs" / f"{method}.timeline.csv"
        stored = pd.read_csv(path) if path.exists() else rows.iloc[:0]
        new = rows[~rows["seed"].isin(stored["seed"].unique())]
        again = rows[rows["seed"].isin(stored["seed"].unique())]
        both = again.merge(stored, on=_ROW, suffixes=("", "_stored"))
        if len(both) < len(again) or not (both["acc"] - both["acc_stored"]).abs().le(1e-12).all():
            raise InputError(f"{path}: {method} has other numbers here for the same seed; runs must be comparable")
        if len(new):
            path.parent.mkdir(parents=True, exist_ok=True)
            together = pd.concat([stored, new]) if len(stored) else new
            write_text(path, together.sort_values(_ROW).to_csv(index=False))
            origins += [(str(method), int(seed)) for seed in new["seed"].unique()]
            grown.append(str(method))
    if grown:
        write_json(digests, record["data"])
        _remember(folder / "origins.csv", origins, record)
    return grown


def _remember(path: Path, runs: Sequence[tuple[str, int]], record: Mapping[str, Any]) -> None:
    """A row per run: the code, packages and processor that it was made with."""
    about = {
        "code_hash": record["code_hash"],
        "torch": record["packages"]["torch"],
        "processor": record["machine"]["processor"],
        "finished": str(record["finished"])[:10],
    }
    rows = pd.DataFrame([{"method": method, "seed": seed, **about} for method, seed in runs])
    known = [pd.read_csv(path)] if path.exists() else []
    write_text(path, pd.concat([*known, rows]).sort_values(["method", "seed"]).to_csv(index=False))


def rank(board: Path) -> None:
    """A page for each habit, and the ranking in the README."""
    text = []
    for habit, title in HABITS.items():
        folder = board / habit
        files = sorted((folder / "runs").glob("*.timeline.csv"))
        if not files:
            continue
        result = e.score(files, classes=OUTPUTS)
        for name in ("report.html", "score.json"):
            result.save(folder / name)
        text += [f"### {title[0].upper()}{title[1:]}", "", *ranking(result), ""]
    readme = board / "README.md"
    before, _, rest = readme.read_text(encoding="utf-8").partition(START)
    _, _, after = rest.partition(END)
    write_text(readme, f"{before}{START}\n\n" + "\n".join(text) + f"\n{END}{after}")


def ranking(result: Result) -> list[str]:
    """The methods by falling reliance as a Markdown table, and how often such verdicts are wrong."""
    table = result.table().sort_values("delta", ascending=False, na_position="last")
    lines = [
        "| rank | method | seeds | Δ | 95 % | SFR_rel | 95 % | AD | PD | NSC | T1 after T2 | pattern | certainty |",
        "| ---: | --- | ---: | ---: | --- | ---: | --- | ---: | ---: | ---: | ---: | --- | --- |",
    ]
    place, rates = 0, []
    for row in table.to_dict("records"):
        method, pattern = str(row["method"]), str(row["pattern"])
        record: Any = result.card.methods[method]
        ranked = method not in REFERENCES and pattern != "baseline"
        place += ranked
        cells = [
            str(place) if ranked else DASH,
            method,
            str(row["seeds"]),
            *_with_interval(row, "delta"),
            *_with_interval(row, "SFR_rel"),
            *(write(facet, _number(row[facet])) for facet in ("AD", "PD")),
            *(DASH if one.mean is None else f"{one.mean:.3f}" for one in (record.NSC, record.T1)),
            pattern if pattern == "baseline" else f"`{pattern}`",
            str(row["certainty"] or ""),
        ]
        lines.append("| " + " | ".join(cells) + " |")
        if record.error_rate and record.error_rate not in rates:
            rates.append(record.error_rate)
    return [*lines, "", *(f"- {rate}" for rate in rates)]


def _with_interval(row: Mapping[Any, Any], facet: str) -> tuple[str, str]:
    ends = [_number(row[f"{facet}_{end}"]) for end in ("low", "high")]
    return write(facet, _number(row[facet])), DASH if None in ends else " to ".join(write(facet, end) for end in ends)


def _number(value: Any) -> float | None:
    return None if pd.isna(value) else float(value)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
