"""Intervals over test images: against a bootstrap in plain loops, against the binomial law, and what they do to verdicts."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import pandas as pd
import pytest

from einstellung.checks import Check
from einstellung.diagnoses.shortcuts.estimates import GapEstimate
from einstellung.diagnoses.shortcuts.images import CHECK, RESAMPLES, shares_drawn
from einstellung.diagnoses.shortcuts.score import score_shortcuts

from .timelines import BOTH, groups, predictions_of, rows_of, timeline_of, two_cues

WEIGHTS = {"11": 0.9025, "10": 0.0475, "01": 0.0475, "00": 0.0025}
Said = dict[tuple[str, int], pd.DataFrame]


def made(ends: Mapping[str, Mapping[str, float]], n: int, spread: float = 0.0, seeds=(1, 2, 3)):
    """A timeline and the predictions that it was measured from."""
    rows, said = [], {}
    draws = np.random.default_rng(5)
    for method, patterns in ends.items():
        for place, seed in enumerate(seeds):
            shifted = {p: acc + (spread * (place - 1) if "0" in p else 0) for p, acc in patterns.items()}
            splits = {split: round(acc * n) / n for split, acc in groups(shifted).items()}
            rows += rows_of(method, seed, "T1", splits, n=n)
            said[method, seed] = predictions_of(splits, n, draws)
    return timeline_of(rows), said


def scored(timeline, said: Said):
    return score_shortcuts(timeline, **BOTH, predictions=lambda rule: (said, []))


def check_of(card) -> Check:
    (found,) = [check for check in card.checks if check.name == CHECK]
    return found


ENDS = {"erm": two_cues(1.0, 0.9, 0.7, 0.4), "lff": two_cues(0.95, 0.7, 0.9, 0.5)}


def test_the_interval_is_that_of_a_bootstrap_in_plain_loops():
    n = 20
    timeline, said = made(ENDS, n, spread=0.1)
    card = scored(timeline, said)
    generator = np.random.default_rng(0)
    shares = {f"group_{y}_{p}": shares_drawn(generator, n) for p in WEIGHTS for y in "01"}

    def accuracy(method: str, split: str, times: np.ndarray) -> float:
        """Of the images drawn again, the mean over seeds; the predictions' rows may stand in any order."""
        total = 0.0
        for seed in (1, 2, 3):
            frame = said[method, seed]
            for image, share in zip(sorted(frame[frame.split == split]["index"]), times, strict=True):
                (row,) = frame[frame["index"] == image].itertuples()
                total += share * (row.prediction == row.label) / 3
        return total

    few = 12  # resamples worked out by hand
    gaps: dict[str, list[float]] = {"lff": [], "erm": []}
    for resample in range(few):
        for method, found in gaps.items():
            acc = {split: accuracy(method, split, shares[split][resample]) for split in groups(ENDS["erm"])}
            by_pattern = {p: (acc[f"group_0_{p}"] + acc[f"group_1_{p}"]) / 2 for p in WEIGHTS}
            found.append(by_pattern["10"] - sum(WEIGHTS[p] * by_pattern[p] for p in WEIGHTS))
    by_hand = np.subtract(gaps["lff"], gaps["erm"])
    with pytest.MonkeyPatch.context() as patch:
        drawn = iter(shares.values())
        patch.setattr("einstellung.diagnoses.shortcuts.images.shares_drawn", lambda *_: next(drawn)[:few])
        card = scored(timeline, said)
    own = card.methods["lff"].phases["T1"].own
    assert own.difference["co-object"].images95 == pytest.approx(np.quantile(by_hand, [0.025, 0.975]))
    assert own.gaps["co-object"].images95 == pytest.approx(np.quantile(gaps["lff"], [0.025, 0.975]))
    assert own.gaps["co-object"].ci95 != pytest.approx(own.gaps["co-object"].images95)


def test_draws_are_whole_images_and_the_same_every_time():
    shares = shares_drawn(np.random.default_rng(0), 7)
    assert shares.shape == (RESAMPLES, 7)
    np.testing.assert_allclose(shares.sum(axis=1), 1)
    np.testing.assert_allclose((shares * 7).round(), shares * 7)
    np.testing.assert_array_equal(shares, shares_drawn(np.random.default_rng(0), 7))
    assert abs(shares.mean() - 1 / 7) < 1e-12


def test_both_intervals_together_hold_as_often_as_they_say():
    """Means over five seeds on 60 images, both drawn anew each time: about 95 of 100 intervals hold what is true."""
    draws = np.random.default_rng(3)
    held = {"seeds": 0, "both": 0}
    times = 400
    for _ in range(times):
        ease, luck = draws.normal(0, 0.3, 60), draws.normal(0, 0.02, 5)  # of images, and of seeds
        values = ease[None] + luck[:, None] + draws.normal(0, 0.1, (5, 60))  # true mean: 0
        means = values.mean(axis=1)
        half = 2.776 * means.std(ddof=1) / np.sqrt(5)
        redrawn = shares_drawn(np.random.default_rng(0), 60) @ values.mean(axis=0)
        mean = means.mean()
        for name, images95 in (("seeds", None), ("both", tuple(np.quantile(redrawn, [0.025, 0.975])))):
            low, high = GapEstimate(mean, means.std(ddof=1), 5, (mean - half, mean + half), "t", images95).bounds
            held[name] += low <= 0 <= high
    assert held["both"] / times > 0.92
    assert held["seeds"] / times < 0.75  # alone, they know nothing of other images


def test_its_width_is_that_of_the_binomial_law():
    """A pattern has 2 n images; where all others are right, the gap from all common is their accuracy minus 1."""
    n, p = 200, 0.7
    timeline, said = made({"erm": two_cues(1.0, p, 1.0, 1.0)}, n)
    low, high = scored(timeline, said).methods["erm"].phases["T1"].alone.gaps["co-object"].images95
    # the three seeds' right answers are shuffled apart, so an image's mean over seeds has a third of the variance
    expected = 2 * 1.96 * np.sqrt(p * (1 - p) / (2 * n) / 3)
    assert high - low == pytest.approx(expected, rel=0.15)
    same = dict.fromkeys(said, said["erm", 1])
    low, high = scored(timeline, same).methods["erm"].phases["T1"].alone.gaps["co-object"].images95
    assert high - low == pytest.approx(2 * 1.96 * np.sqrt(p * (1 - p) / (2 * n)), rel=0.1)  # one model thrice


@pytest.mark.parametrize(("n", "word"), [(10, "undecided"), (400, "amplified")])
def test_few_images_leave_undecided_what_seeds_agree_about(n, word):
    ends = {"erm": two_cues(1.0, 0.9, 0.7, 0.4), "lff": two_cues(1.0, 0.8, 0.7, 0.4)}
    timeline, said = made(ends, n)
    verdicts = {
        "seeds alone": score_shortcuts(timeline, **BOTH),
        "images too": scored(timeline, said),
    }
    words = {name: card.methods["lff"].verdict.gaps["co-object"] for name, card in verdicts.items()}
    assert words["seeds alone"].name == "amplified"
    assert words["images too"].name == word
    assert check_of(verdicts["images too"]).passed is True
    assert verdicts["images too"].image_resamples == RESAMPLES
    difference = verdicts["images too"].methods["lff"].phases["T1"].own.difference["co-object"]
    low, high = difference.bounds
    sentence = verdicts["images too"].methods["lff"].verdict.sentence
    assert f"95 % [{100 * low:.1f}, {100 * high:.1f}]" in sentence
    assert (low, high) == pytest.approx(difference.images95)  # the seeds are the same here


def test_predictions_of_another_epoch_are_not_used():
    timeline, said = made(ENDS, 20)
    other = said["lff", 2].copy()
    row = other.index[other["prediction"] == other["label"]][0]
    other.loc[row, "prediction"] = 1 - other.loc[row, "label"]
    card = scored(timeline, {**said, ("lff", 2): other})
    assert check_of(card).passed is None
    assert "lff seed 2: group_0_11 0.900, scored 0.950" in check_of(card).detail
    assert card.image_resamples is None
    assert card.methods["lff"].phases["T1"].own.gaps["co-object"].images95 is None
    assert card.methods == score_shortcuts(timeline, **BOTH).methods
    assert card.warnings[-1].startswith("verdicts go by the intervals over seeds alone: lff seed 2")


def test_runs_on_other_images_are_not_compared():
    timeline, said = made(ENDS, 20)
    other = said["lff", 3].assign(index=said["lff", 3]["index"] + 7)
    card = scored(timeline, {**said, ("lff", 3): other})
    assert "lff seed 3: other images in group_0_11" in check_of(card).detail
    missing = {run: frame for run, frame in said.items() if run != ("erm", 1)}
    assert "erm seed 1: no predictions of every group" in check_of(scored(timeline, missing)).detail


def test_the_order_of_rows_means_nothing():
    timeline, said = made(ENDS, 20, spread=0.1)
    turned = {run: frame.iloc[::-1].reset_index(drop=True) for run, frame in said.items()}
    assert scored(timeline, turned) == scored(timeline, said)
