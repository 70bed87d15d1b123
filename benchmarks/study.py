"""A whole comparative study: ours against run by run in fp32, the same steps with the same seeds on both sides.

Ours is one study through our own launcher: T1 trained once per seed for all learners whose T1 is the same; precision, kernels and
layout as they resolve on this machine; a worker with one thread for every core. Run by run trains each method with each seed
by itself, T1 included every time, in fp32 with torch's own kernels and layout and the Fisher information of one image at a time.
Loading, augmentation, evaluation, Fisher information, bases, generators, checkpoints and tables are inside the timers; ours also
hold the proof of the stream and the start of the workers. Both sides alternate: a slow phase of the machine hits both.
"""

from __future__ import annotations

import tempfile
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass
from itertools import groupby
from pathlib import Path
from statistics import median
from typing import Any

from benchmarks.accuracies import at_the_end, compared, gathered, rows_of
from benchmarks.comparison import FORMS, Comparison, Piece, by_itself, configured, counted, pieces_of
from benchmarks.measuring import ratios, row
from benchmarks.sides import asked
from benchmarks.time_left import TimeLeft
from einstellung.errors import InputError
from einstellung.experiments.machine import usable_cores
from einstellung.files import read_json
from einstellung.sources import load_cifar100

# Half of the classes: so that a short form is short.
_HALF = {"stream": {"t1": [0, 1, 2, 3], "t2": [8, 10], "shortcut": [8]}}
SHORT = Comparison("paper", "core", None, 5, 1, (1, 1), ((42,),), 1, 3, changes=_HALF)
# Few images, so that three seeds of the paper's net show a spread of accuracies, in few classes; study_narrow learns for longer.
LONG = Comparison(
    "paper",
    "core",
    2.7,
    12,
    3,
    (1, 1),
    ((42,), (123,), (456,)),
    steps=4,
    repeats=5,
    changes={"stream": {"labels": "superclass"}},
)
CLOCKS = {"core": "core-seconds", "wall": "seconds"}
WEIGHTS = {"run": 1.0, "study": 2.5}  # how much longer a study of ours takes than a run by itself, roughly
Accuracies = list[tuple[str, dict[str, float]]]  # of runs, by label


@dataclass(frozen=True)
class Done:
    """A piece, its cost by clock, and for every run in it by (label, seed): final accuracies and number of images."""

    piece: Piece
    cost: dict[str, float]
    accuracies: dict[tuple[str, int], dict[str, float]]
    images: dict[tuple[str, int], dict[str, int]]
    first_phases: int

    @classmethod
    def read(cls, piece: Piece, cost: dict[str, float], folder: Path) -> Done:
        statuses = [read_json(file) for file in sorted(folder.glob("runs/*/status.json"))]
        return cls(
            piece,
            cost,
            {(piece.label(method), seed): accs for (method, seed), accs in at_the_end(folder).items()},
            {(piece.label(status["method"]), status["seed"]): status["real_samples"] for status in statuses},
            len(list(folder.glob("first_phases/*/status.json"))),
        )


def measure(short: bool) -> dict[str, Any]:
    """The full ResNet-18, in core-seconds; :mod:`benchmarks.study_narrow` has the narrow one, in wall time."""
    return compare(SHORT if short else LONG, usable_stream(), usable_cores())


def usable_stream() -> str:
    """Real images if available."""
    return "cifar100" if _has_cifar100() else "shapes"


def compare(comparison: Comparison, stream: str, cores: int) -> dict[str, Any]:
    """Both sides of one comparison: the rows, and all that was measured."""
    took = asked(
        "steps",
        values=configured(comparison, stream, "within", by_itself("sgd", 1, 1)),
        count=comparison.steps,
        repeats=comparison.repeats,
        threads=[1] if comparison.clock == "core" else sorted({1, cores}),
    )
    threads = quickest(took)
    blocks = [pieces_of(comparison, stream, seeds, threads) for seeds in comparison.blocks]
    left = TimeLeft(WEIGHTS[piece.kind] for block in blocks for piece in block)
    done = [measured(block, cores, comparison.clock, left) for block in blocks]
    ours, theirs = sides(done)
    differences = compared(gathered(ours), gathered(theirs))
    width = blocks[0][0].values["backbone"]["width"]
    where = f"ResNet-18 width {width} on {stream}"
    return {
        "rows": [
            *(_gain_row(where, comparison, form, done, threads, cores) for form in FORMS),
            _honesty_row(where, took, threads),
            *rows_of(where, differences),
        ],
        "comparison": asdict(comparison),
        "stream": stream,
        "steps": took,
        "pieces": [
            {"words": one.piece.words, "values": one.piece.values, "first_phases": one.first_phases, **one.cost}
            for block in done
            for one in block
        ],
        "accuracies": {"ours": gathered(ours), "run by run": gathered(theirs)},
    }


def measured(block: Sequence[Piece], cores: int, clock: str, left: TimeLeft) -> list[Done]:
    """The pieces of a block, done.

    For core-seconds, runs are parallel like our workers, one per core, so that both sides share memory and caches alike.
    For wall time, runs are sequential.
    """
    found: list[Done] = []
    with tempfile.TemporaryDirectory() as place:

        def work(piece: Piece) -> Done:
            folder = Path(place) / str(block.index(piece))
            workers = {"workers": cores} if piece.kind == "study" else {}
            cost = asked(piece.kind, values=piece.values, out=str(folder), **workers)
            left.log(WEIGHTS[piece.kind], f"{piece.words}: {cost['core']:.1f} core-seconds in {cost['wall']:.1f} s")
            return Done.read(piece, cost, folder)

        for kind, pieces in groupby(block, key=lambda piece: piece.kind):
            with ThreadPoolExecutor(cores if clock == "core" and kind == "run" else 1) as pool:
                found += pool.map(work, pieces)
    return found


def sides(blocks: Sequence[Sequence[Done]]) -> tuple[Accuracies, Accuracies]:
    """The accuracies of our runs and of the single runs; both runs of a pair must have used equally many images."""
    by_kind: dict[str, dict[tuple[str, int], Done]] = {"study": {}, "run": {}}
    for one in (one for block in blocks for one in block):
        for run in one.images:
            by_kind[one.piece.kind].setdefault(run, one)
    ours, theirs = by_kind["study"], by_kind["run"]
    if set(ours) != set(theirs):
        raise ValueError(f"only one side has {sorted(set(ours) ^ set(theirs))}")
    for run in ours:
        if ours[run].images[run] != theirs[run].images[run]:
            raise ValueError(f"{run}: {ours[run].images[run]} images against {theirs[run].images[run]} by itself")
    return [(run[0], ours[run].accuracies[run]) for run in ours], [
        (run[0], theirs[run].accuracies[run]) for run in ours
    ]


def costs(block: Sequence[Done], form: str, clock: str) -> tuple[float, float]:
    """The cost of a block run by run and as our study, with derpp in one of its forms."""
    belonging = [one for one in block if one.piece.belongs_to(form)]
    by_kind = {kind: [one.cost[clock] for one in belonging if one.piece.kind == kind] for kind in ("run", "study")}
    return sum(by_kind["run"]), sum(by_kind["study"])


def quickest(took: Mapping[str, Mapping[str, Sequence[float]]]) -> int:
    """The number of threads with which a single run is fastest.

    >>> quickest({"1": {"run": [2.0, 2.5, 2.0]}, "2": {"run": [1.5, 9.0, 1.75]}})
    2
    """
    return int(min(took, key=lambda threads: median(took[threads]["run"])))


def _gain_row(
    where: str, comparison: Comparison, form: str, blocks: Sequence[Sequence[Done]], threads: int, cores: int
) -> dict[str, Any]:
    theirs, ours = zip(*(costs(block, form, comparison.clock) for block in blocks), strict=True)
    gain = ratios(theirs, ours)
    seeds = sum(map(len, comparison.blocks))
    size = " + ".join(map(str, comparison.epochs))
    unit = CLOCKS[comparison.clock]
    return row(
        f"{where}, {len(comparison.methods)} methods x {counted(seeds, 'seed')}, {comparison.train_per_class} images per class, "
        f"{size} epochs: {unit} run by run in fp32 ({counted(threads, 'thread')}) / as our study "
        f"({counted(cores, 'worker')} x 1 thread); derpp with replay: {form}",
        f"{gain.words() if gain.n > 1 else f'{gain.median:.2f}'}; {sum(theirs):,.0f} / {sum(ours):,.0f} {unit}",
        "no target" if comparison.reach is None else f"at least {comparison.reach:g}",
        None if comparison.reach is None else gain.median >= comparison.reach,
        run_by_run=list(theirs),
        ours=list(ours),
    )


def _honesty_row(where: str, took: Mapping[str, Mapping[str, Sequence[float]]], threads: int) -> dict[str, Any]:
    """Run by run must be as fast as a plain loop: a ratio against a slow baseline would be meaningless."""
    ratio = ratios(took[str(threads)]["run"], took[str(threads)]["bare"])
    others = [
        f"; {counted(int(other), 'thread')} would take {ratios(times['run'], took[str(threads)]['run']).median:.2f} times as long"
        for other, times in took.items()
        if int(other) != threads
    ]
    return row(
        f"{where}: a step of sgd run by run / a step of a bare loop in plain torch, {counted(threads, 'thread')}",
        ratio.words() + "".join(others),
        "within 10 %",
        abs(ratio.median - 1) <= 0.1,
    )


def _has_cifar100() -> bool:
    try:
        load_cifar100()
    except InputError:
        return False
    return True
