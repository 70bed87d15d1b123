"""Intervals over test images: against a bootstrap by hand and the binomial law, by source object; what they decide."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import pandas as pd
import pytest

from einstellung.checks import Check
from einstellung.diagnoses.shortcuts.answer import make_answer
from einstellung.diagnoses.shortcuts.estimates import GapEstimate
from einstellung.diagnoses.shortcuts.images import CHECK
from einstellung.diagnoses.shortcuts.score import score_shortcuts
from einstellung.diagnoses.shortcuts.tables import make_tables
from einstellung.metrics.clusters import RESAMPLES, cluster_bootstrap, percentile_interval
from einstellung.metrics.image_pairs import PREDICTION_COLUMNS, by_split

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


def divided(said: Said):
    return {run: by_split(frame) for run, frame in said.items()}


def scored(timeline, said: Said):
    return score_shortcuts(timeline, **BOTH, predictions=lambda rule: (divided(said), []))


def check_of(card) -> Check:
    (found,) = [check for check in card.checks if check.name == CHECK]
    return found


ENDS = {"erm": two_cues(1.0, 0.9, 0.7, 0.4), "lff": two_cues(0.95, 0.7, 0.9, 0.5)}


def drawn_by_hand(n: int) -> dict[str, np.ndarray]:
    """How often every image of a group is drawn: group after group, as shares [resamples, images]."""
    generator = np.random.default_rng(0)
    return {f"group_{y}_{p}": generator.multinomial(n, np.full(n, 1 / n), RESAMPLES) / n for p in WEIGHTS for y in "01"}


def test_the_interval_is_that_of_a_bootstrap_by_hand():
    n = 20
    timeline, said = made(ENDS, n, spread=0.1)
    shares = drawn_by_hand(n)

    def patterns(method: str) -> dict[str, np.ndarray]:
        """Of the images drawn again, the mean over seeds and classes; the predictions' rows may stand in any order."""
        found = dict.fromkeys(WEIGHTS, 0.0)
        for seed in (1, 2, 3):
            frame = said[method, seed].sort_values("index")
            for split, own in frame.groupby("split"):
                right = (own["prediction"] == own["label"]).to_numpy(dtype=float)
                found[split[-2:]] = found[split[-2:]] + shares[split] @ right / 6
        return found

    by_method = {method: patterns(method) for method in ENDS}
    gaps = {
        method: own["10"] - sum(weight * own[p] for p, weight in WEIGHTS.items()) for method, own in by_method.items()
    }
    effect = {method: (own["11"] - own["10"] + own["01"] - own["00"]) / 2 for method, own in by_method.items()}
    end = scored(timeline, said).end("lff")
    for estimate, values in (
        (end.own.difference["co-object"], gaps["lff"] - gaps["erm"]),
        (end.own.gaps["co-object"], gaps["lff"]),
        (end.judged["co-object"].loss, effect["lff"]),
        (end.judged["co-object"].difference, effect["lff"] - effect["erm"]),
    ):
        assert estimate.images95 == pytest.approx(np.quantile(values, [0.025, 0.975]))
        assert estimate.ci95 != pytest.approx(estimate.images95)


def with_twins(n: int, seeds=(1, 2, 3)):
    """A timeline with twins of both cues, its predictions, and 4 source objects of each value.

    Of the images with a common co-object, those of objects 0 and 10 are wrong once it is swapped.
    """
    timeline_rows, said = [], {}
    draws = np.random.default_rng(3)
    for method in ("erm", "lle"):
        for seed in seeds:
            frame = predictions_of({f"group_{y}_{p}": 0.9 for p in WEIGHTS for y in "01"}, n, draws)
            frame["object"] = 10 * (frame["label"] ^ (frame["split"].str[-1] == "0")) + frame["index"] % 4
            tables = [frame]
            for place, cue in enumerate(BOTH["cues"]):
                common = frame[frame["split"].str[8 + place] == "1"].assign(split=f"{cue}_common")
                swapped = common.assign(split=f"{cue}_swapped")
                failing = (swapped["object"] % 10 == 0) & (method == "erm")
                swapped["prediction"] = swapped["prediction"].where(~failing, 1 - swapped["label"])
                tables += [common, swapped]
            every = pd.concat(tables)
            right = every["prediction"] == every["label"]
            by_class = right.groupby([every["split"], every["label"]]).mean()
            timeline_rows += rows_of(method, seed, "T1", by_class.groupby("split").mean().to_dict(), n=n)
            said[method, seed] = every[list(PREDICTION_COLUMNS)]
    sources = frame.set_index("index")[["object"]].rename(columns={"object": "source"})
    return timeline_of(timeline_rows), said, sources.assign(value=sources["source"] // 10)


def test_images_of_one_source_object_are_drawn_together():
    """All that erm loses are the images of one object of four: whether it is drawn again decides nearly everything."""
    timeline, said, sources = with_twins(40)
    alone = scored(timeline, said)
    clustered = score_shortcuts(
        timeline, **BOTH, predictions=lambda rule: (divided(said), []), sources=lambda: (sources, [])
    )
    assert (alone.image_clusters.by, alone.image_clusters.clusters) == ("image", 320)
    assert (clustered.image_clusters.by, clustered.image_clusters.clusters) == ("source object", 8)
    widths = {}
    for name, card in (("alone", alone), ("clustered", clustered)):
        assert card.basis["co-object"].by == "twins"
        judged = card.end("erm").judged["co-object"]
        low, high = judged.loss.images95
        assert low <= judged.loss.mean <= high
        widths[name] = high - low
    assert widths["clustered"] > 2 * widths["alone"]
    # 4 objects of each value, one of which fails on all its images: 0 to 3 draws of it are usual, in both halves
    failing = np.random.default_rng(1).binomial(4, 1 / 4, (2, 20000)) / 4
    drawn = np.quantile(failing.mean(axis=0) * 0.9, [0.025, 0.975])
    assert clustered.end("erm").judged["co-object"].loss.images95 == pytest.approx(drawn, abs=0.06)
    assert "in 8 clusters by source object" in make_answer(clustered)[-1]
    assert "(resampled individually, because" in make_answer(alone)[-1]
    note = make_tables(clustered)["verdicts"].note
    assert "all images of a source object together" in note


def test_sources_that_lack_an_image_are_not_used():
    timeline, said, sources = with_twins(20)
    card = score_shortcuts(
        timeline, **BOTH, predictions=lambda rule: (divided(said), []), sources=lambda: (sources.iloc[1:], ["odd"])
    )
    assert card.image_clusters.by == "image"
    assert "odd" in card.warnings


def test_predictions_without_the_twins_that_decide_give_no_intervals():
    timeline, said, _ = with_twins(20)
    groups_alone = {run: frame[frame["split"].str.startswith("group")] for run, frame in said.items()}
    assert "erm seed 1: no predictions for background_common" in check_of(scored(timeline, groups_alone)).detail


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
        redrawn = cluster_bootstrap(values.mean(axis=0), np.arange(60))
        mean = means.mean()
        for name, images95 in (("seeds", None), ("both", percentile_interval(redrawn))):
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
    ends = {"erm": two_cues(1.0, 0.9, 0.7, 0.4), "lff": two_cues(1.0, 0.8, 0.7, 0.3)}
    rows, said = [], {}
    draws = np.random.default_rng(5)
    for method, patterns in ends.items():
        for seed, fewer in ((1, 0), (2, 0), (3, 1)):  # one image, so that seeds differ
            splits = {split: round(acc * n) / n for split, acc in groups(patterns).items()}
            splits["group_0_00"] += fewer / n * (-1 if method == "erm" else 1)
            rows += rows_of(method, seed, "T1", splits, n=n)
            said[method, seed] = predictions_of(splits, n, draws)
    timeline = timeline_of(rows)
    verdicts = {
        "seeds alone": score_shortcuts(timeline, **BOTH),
        "images too": scored(timeline, said),
    }
    words = {name: card.methods["lff"].verdict.cues["co-object"] for name, card in verdicts.items()}
    assert words["seeds alone"].name == "amplified"
    assert words["images too"].name == word
    assert check_of(verdicts["images too"]).passed is True
    assert verdicts["images too"].image_resamples == RESAMPLES
    low, high = verdicts["images too"].end("lff").judged["co-object"].difference.bounds
    sentence = verdicts["images too"].methods["lff"].verdict.sentence
    assert f"95 % [{100 * low:.1f}, {100 * high:.1f}]" in sentence


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
    assert card.warnings[-1].startswith("verdicts use only the intervals over seeds: lff seed 2")


def test_runs_on_other_images_are_not_compared():
    timeline, said = made(ENDS, 20)
    other = said["lff", 3].assign(index=said["lff", 3]["index"] + 7)
    card = scored(timeline, {**said, ("lff", 3): other})
    assert "lff seed 3: different images in group_0_11" in check_of(card).detail
    missing = {run: frame for run, frame in said.items() if run != ("erm", 1)}
    assert "erm seed 1: no predictions for group_0_11" in check_of(scored(timeline, missing)).detail


def test_the_order_of_rows_means_nothing():
    timeline, said = made(ENDS, 20, spread=0.1)
    turned = {run: frame.iloc[::-1].reset_index(drop=True) for run, frame in said.items()}
    assert scored(timeline, turned) == scored(timeline, said)
