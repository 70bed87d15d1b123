"""The measures of several shortcuts: worked by hand, and against an independent reckoning image by image."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from einstellung.diagnoses.shortcuts.gaps import (
    cue_preference,
    in_distribution,
    in_terms_of_labels,
    pattern_weights,
    shortcut_gaps,
    trade,
    turned_cues,
)
from einstellung.diagnoses.shortcuts.splits import patterns_of, subsets_of

RHO = st.floats(0, 1)
ACC = st.floats(0, 1)


@settings(max_examples=40, deadline=None)
@given(st.lists(RHO, min_size=1, max_size=4), st.data())
def test_weights_sum_to_one_and_gaps_balance_for_any_number_of_cues(correlations, data):
    weights = pattern_weights(correlations)
    assert sum(weights.values()) == pytest.approx(1)
    assert len(weights) == 2 ** len(correlations)
    accuracies = {pattern: data.draw(ACC) for pattern in weights}
    cues = [f"c{k}" for k in range(len(correlations))]
    gaps = shortcut_gaps(accuracies, cues, weights)
    assert len(gaps) == 2 ** len(cues) - 1
    # the weighted gaps and that of the all-common pattern cancel: ID is their weighted mean
    whole = in_distribution(accuracies, weights)
    common = "1" * len(cues)
    rest = sum(weights[pattern] * gaps[name] for name, pattern in subsets_of(cues).items())
    assert rest + weights[common] * (accuracies[common] - whole) == pytest.approx(0, abs=1e-9)


@settings(max_examples=20, deadline=None)
@given(st.integers(1, 3), st.integers(0, 2**32 - 1))
def test_gaps_and_preference_against_predictions_image_by_image(cues, seed):
    """An independent way: draw single images and predictions, and count."""
    rng = np.random.default_rng(seed)
    names = [f"c{k}" for k in range(cues)]
    images = [(y, pattern) for y in (0, 1) for pattern in patterns_of(cues) for _ in range(8)]
    predicted = rng.integers(0, 2, len(images))
    agrees = {name: [] for name in ("label", *names)}
    right: dict[tuple[str, str], list[bool]] = {}
    for (y, pattern), answer in zip(images, predicted, strict=True):
        right.setdefault((str(y), pattern), []).append(answer == y)
        agrees["label"].append(answer == y)
        for name, digit in zip(names, pattern, strict=True):
            value = y if digit == "1" else 1 - y
            agrees[name].append(answer == value)
    measured = {group: float(np.mean(found)) for group, found in right.items()}
    for name, share in cue_preference(measured, names).items():
        assert share == pytest.approx(np.mean(agrees[name]))
    correlations = rng.uniform(0.5, 1, cues)
    accuracies = {p: np.mean([measured[y, p] for y in "01"]) for p in patterns_of(cues)}
    whole = 0.0
    for digits in product((0, 1), repeat=cues):
        weight = 1.0
        for k, digit in enumerate(digits):
            weight *= correlations[k] if digit else 1 - correlations[k]
        whole += weight * accuracies["".join(map(str, digits))]
    gaps = shortcut_gaps(accuracies, names, pattern_weights(list(correlations)))
    for name, gap in gaps.items():
        pattern = "".join("0" if cue in name.split("+") else "1" for cue in names)
        assert gap == pytest.approx(accuracies[pattern] - whole)


def test_preference_of_more_than_two_classes_is_null_but_for_the_label():
    measured = {(y, pattern): 0.5 for y in "012" for pattern in ("1", "0")}
    assert cue_preference(measured, ["background"]) == {"label": 0.5, "background": None}


def test_trade_by_hand():
    assert trade((-0.3, -0.1), (-0.05, -0.17)) == pytest.approx(0.12)
    assert trade((-0.3, -0.25), (-0.05, -0.17)) == pytest.approx(0.05)
    assert trade((-0.1, -0.3), (-0.05, -0.17)) < 0
    assert trade((None, -0.3), (-0.05, -0.17)) is None


@settings(max_examples=40, deadline=None)
@given(st.lists(st.floats(0, 1).filter(lambda rho: abs(rho - 0.5) > 1e-6), min_size=1, max_size=3), st.data())
def test_a_world_with_a_cue_on_the_other_side_has_the_same_gaps(correlations, data):
    cues = [f"c{k}" for k in range(len(correlations))]
    sides = tuple(data.draw(st.booleans()) for _ in cues)
    accuracies = {pattern: data.draw(st.floats(0, 1)) for pattern in patterns_of(len(cues))}
    other = [1 - rho if side else rho for rho, side in zip(correlations, sides, strict=True)]
    swapped = {in_terms_of_labels(pattern, sides): acc for pattern, acc in accuracies.items()}
    gaps = []
    for rho, found in ((correlations, accuracies), (other, swapped)):
        weights = pattern_weights(rho)
        gaps.append(shortcut_gaps(found, cues, weights, turned_cues(weights)))
    assert gaps[0] == pytest.approx(gaps[1], abs=1e-9)
