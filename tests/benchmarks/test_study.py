"""The comparison of whole studies: its arithmetic, and that both sides train the same thing."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest
import torch
from torch import nn

from benchmarks import sides, study
from benchmarks.accuracies import Difference, at_the_end, compared, gathered, rows_of
from benchmarks.comparison import FRAMEWORK, Comparison, Piece, configured, pieces_of
from benchmarks.study import Done, costs
from benchmarks.table import mark
from einstellung.files import read_json
from einstellung.learners.ewc_on import fisher_per_sample
from einstellung.results.config import merged

TINY = Comparison(
    "paper-fast",
    "core",
    None,
    6,
    1,
    (1, 1),
    ((1,),),
    steps=1,
    repeats=1,
    methods=("scratch_t2", "sgd", "ewc_on", "derpp"),
)


@pytest.mark.parametrize(
    ("ours", "theirs", "within"),
    [
        ([0.25, 0.5, 0.75], [0.75, 0.75, 0.75], True),  # means 1/4 apart, ours spread over 1/2
        ([0.5, 0.5, 0.5], [0.5, 0.5, 0.5], True),
        ([0.5, 0.5, 0.5], [0.5, 0.75, 1.0], True),  # theirs spread over 1/2
        ([0.0, 0.0, 0.25], [0.5, 0.5, 0.5], False),
        ([0.5, 0.5, 0.5], [0.625, 0.625, 0.625], False),
        ([0.5, 0.5], [0.625, 0.625], None),  # two seeds tell no spread
    ],
)
def test_means_may_differ_by_the_wider_spread_over_seeds(
    ours: Sequence[float], theirs: Sequence[float], within: bool | None
) -> None:
    assert Difference.of("T2_val", ours, theirs).within is within


def test_a_difference_needs_as_many_runs_on_both_sides() -> None:
    with pytest.raises(ValueError, match="3 runs against 2"):
        Difference.of("T2_val", [0.1, 0.2, 0.3], [0.1, 0.2])
    with pytest.raises(ValueError, match="different methods or splits"):
        compared({"sgd": {"T2_val": [0.1]}}, {"sgd": {"T1_all": [0.1]}})


def test_every_split_counts_in_the_row_of_a_method() -> None:
    ours = {"sgd": {"T1_all": [0.0, 0.25, 0.5], "T2_val": [0.5, 0.5, 0.5]}, "gpm": {"T1_all": [0.0, 0.25, 0.5]}}
    theirs = {"sgd": {"T1_all": [0.25, 0.25, 0.25], "T2_val": [0.75, 0.75, 0.75]}, "gpm": {"T1_all": [0.5, 0.5, 0.5]}}
    sgd, gpm = rows_of("here", compared(ours, theirs))
    assert (sgd["reached"], gpm["reached"]) == (False, True)
    assert sgd["measured"] == "0.250 on T2_val (ours 0.500, run by run 0.750; spread over 3 seeds 0.000); 1 of 2 within"


def test_few_seeds_get_one_row_that_shows_nothing() -> None:
    runs = [("sgd", {"T1_all": 0.25}), ("gpm", {"T1_all": 0.5})]
    (only,) = rows_of("here", compared(gathered(runs), gathered([runs[0], ("gpm", {"T1_all": 0.625})])))
    assert (only["reach"], only["reached"]) == ("on every split within the spread over seeds", None)
    assert mark(only) == "not shown with 1 seed"
    assert only["measured"] == "0.125 on T1_all (ours 0.500, run by run 0.625; 1 seed only)"


def test_what_is_done_once_a_run_shrinks_with_the_run() -> None:
    """paper-fast: 15 + 20 epochs of 500 images per class, rates fall after 10, 13 and 14, 18 epochs."""
    values = configured(Comparison("paper-fast", "wall", 3, 60, 12, (4, 6), ((1,),), 1, 1), "cifar100", "earlier", {})
    assert values["training"]["milestones"] == [[3], [4, 5]]
    assert values["learners"] == {
        "ewc_on": {"e_lambda": 1, "fisher_images": 640},  # 20,000 x 60 / 500 x 4 / 15
        "gpm": {"samples": 16},
        "dgr": {"generator_epochs": 3},
        "derpp": {"replay": "earlier"},
    }


def test_a_block_alternates_and_trains_every_method_with_every_seed() -> None:
    pieces = pieces_of(TINY, "shapes", (1, 2), threads=2)
    kinds = "".join(piece.kind[0] for piece in pieces)
    assert kinds == "rrrrrsrrrrrs"
    runs = [piece for piece in pieces if piece.kind == "run"]
    done = sorted((piece.values["methods"][0], piece.form, piece.values["seeds"][0]) for piece in runs)
    forms = [(method, "within") for method in TINY.methods] + [("derpp", "earlier")]
    assert done == sorted((method, form, seed) for method, form in forms for seed in (1, 2))
    for piece in runs:
        assert piece.values["training"].items() >= {**FRAMEWORK, "threads": 2}.items()
    for piece in pieces:
        if piece.kind == "study":
            assert piece.values["training"]["threads"] == 1
            assert not FRAMEWORK.keys() & piece.values["training"].keys()


def _done(kind: str, form: str, method: str, core: float, images: int = 10) -> Done:
    piece = Piece(kind, form, {"methods": [method], "seeds": [1]})
    return Done(piece, {"core": core}, {(piece.label(method), 1): {}}, {(piece.label(method), 1): {"T2": images}}, 0)


def test_runs_without_derpp_count_in_both_comparisons() -> None:
    block = [
        _done("run", "within", "sgd", 4.0),
        _done("run", "within", "derpp", 8.0),
        _done("run", "earlier", "derpp", 5.0),
        _done("study", "within", "all", 6.0),
        _done("study", "earlier", "all", 3.0),
    ]
    assert costs(block, "within", "core") == (12.0, 6.0)
    assert costs(block, "earlier", "core") == (9.0, 3.0)


def test_sides_that_took_different_steps_are_not_compared() -> None:
    with pytest.raises(ValueError, match="20} images against"):
        study.sides([[_done("study", "within", "sgd", 1.0, 20), _done("run", "within", "sgd", 1.0, 10)]])
    with pytest.raises(ValueError, match="only one side has"):
        study.sides([[_done("study", "within", "sgd", 1.0)]])


def test_fisher_information_at_a_frameworks_price_is_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    net = nn.Sequential(nn.Conv2d(3, 4, 3), nn.BatchNorm2d(4), nn.ReLU(), nn.Flatten(), nn.Linear(64, 5)).double()
    inputs, labels = torch.randn(7, 3, 6, 6).double(), torch.arange(7) % 5
    ours, theirs = fisher_per_sample(net, inputs, labels), sides.one_at_a_time(net, inputs, labels)
    for name, value in ours.items():
        torch.testing.assert_close(value, theirs[name])


def test_both_sides_take_the_same_steps_and_only_ours_shares_t1(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Given the same kernels, precision and layout, a run by itself is the study's run, bit for bit."""
    monkeypatch.setattr(torch, "set_num_threads", lambda _: None)
    singles: list[int] = []

    def counted_fisher(net: nn.Module, inputs: torch.Tensor, labels: torch.Tensor) -> dict[str, torch.Tensor]:
        singles.append(len(labels))
        return fisher_per_sample(net, inputs, labels)

    monkeypatch.setattr(sides, "fisher_one_at_a_time", counted_fisher)
    pieces = [
        replace(piece, values=merged(piece.values, {"stream": {"size": 12}}))
        for piece in pieces_of(TINY, "shapes", (1,), threads=1)
        if piece.belongs_to("earlier")
    ]
    block = []
    for number, piece in enumerate(pieces):
        out = tmp_path / str(number)
        if piece.kind == "study":
            begin = time.process_time()
            cost = sides.study(merged(piece.values, {"training": FRAMEWORK}), str(out), workers=1)
            by_others = cost["core"] - (time.process_time() - begin)
            worked = sum(read_json(file)["seconds"] for file in out.glob("*/*/status.json"))
        else:
            cost = sides.run(piece.values, str(out))
        block.append(Done.read(piece, cost, out))

    ours, theirs = study.sides([block])
    assert ours == theirs
    assert len(ours) == 4
    assert all(set(splits) >= {"T1_all", "T2_val", "T2_shortcut_masked"} for _, splits in ours)
    by_label = {label: one for one in block if one.piece.kind == "run" for label, _ in one.images}
    assert {label: one.first_phases for label, one in by_label.items()} == {
        "scratch_t2": 0,
        "sgd": 1,
        "ewc_on": 1,
        "derpp (replay: earlier)": 1,
    }
    (whole,) = (one for one in block if one.piece.kind == "study")
    assert whole.first_phases == 1
    assert whole.images["sgd", 1] == {"T1": 24 * 6, "T2": 12 * 5}
    for number, piece in enumerate(pieces):
        for status in tmp_path.glob(f"{number}/first_phases/*/status.json"):
            assert read_json(status)["real_samples"] == {"T1": 24 * 6, "T2": 0}, piece.words
    assert singles == [16]  # ewc_on by itself, and not in our study
    # the workers' core-seconds are counted, as their server has ended, too; a quarter: others may be at work on the machine
    assert by_others > worked / 4 > 0
    assert at_the_end(tmp_path / "0").keys() == {("scratch_t2", 1)}


def test_kernels_are_compiled_before_the_clock_starts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    order: list[str] = []
    monkeypatch.setattr(sides, "ready_kernels", lambda config: order.append(config.training.kernels))
    monkeypatch.setattr(sides, "_cost", lambda _: order.append("clock"))
    values = configured(TINY, "shapes", "within", {"training": {"kernels": "torch"}})
    sides.study(values, str(tmp_path / "study"), workers=1)
    assert order == ["torch", "clock"]


def test_a_step_is_timed_against_a_bare_loop(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch, "set_num_threads", lambda _: None)
    values = configured(TINY, "shapes", "within", {"training": {**FRAMEWORK, "batch_size": 4}})
    took = sides.steps(values, count=2, repeats=3, threads=[1])
    assert {name: len(times) for name, times in took["1"].items()} == {"run": 3, "bare": 3}
    assert study._honesty_row("here", took, 1)["reach"] == "within 10 %"


@pytest.mark.parametrize(
    ("run", "reached"), [([1.0, 1.08, 1.3], True), ([1.2, 1.12, 1.11], False), ([0.8, 0.85, 2], False)]
)
def test_a_slow_baseline_is_reported(run: list[float], reached: bool) -> None:
    row = study._honesty_row("here", {"1": {"run": run, "bare": [1.0, 1.0, 1.0]}}, 1)
    assert row["reached"] is reached
