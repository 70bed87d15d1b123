from __future__ import annotations

import numpy as np
import torch

from einstellung.probes.audit.data_map import data_map
from einstellung.probes.audit.windows import overlap
from tests.probes.audit import toy


def test_a_constant_patch_is_told_before_anything_is_trained():
    shown, labels, _ = toy.images(share=0.5)
    score = data_map(shown, labels.numpy()).best(toy.CUE_CLASS)
    assert score.significant
    assert score.window is not None
    assert overlap(score.window, toy.CUE_BOX) > 0
    assert score.value > 0.3 > 2 * score.distant
    assert score.elsewhere is not None
    assert score.elsewhere >= score.distant


def test_images_without_a_label_in_them_tell_nothing():
    """Shuffled labels are the null itself: something in the map exceeds it in about 5 % of sets."""
    shown, labels, _ = toy.images(per_class=15)
    found = []
    for seed in range(8):
        shuffled = np.random.default_rng(seed).permutation(labels.numpy())
        chart = data_map(shown, shuffled)
        scores = [chart.best(label) for label in chart.classes]
        scores += [one for label in chart.classes for one in chart.properties_of(label)]
        found.append(any(one.significant for one in scores))
    assert sum(found) <= 2  # of 8, at 5 %: more than 2 in 0.6 % of cases


def test_properties_tell_a_tint_and_a_file_size():
    shown, labels, _ = toy.images(share=0.0)
    tinted = shown.clone()
    own = labels == 1
    tinted[own, 0] = (tinted[own, 0].int() + 40).clamp(max=255).to(torch.uint8)
    sizes = [5000 if label == 3 else 1000 + 7 * (row % 50) for row, label in enumerate(labels.tolist())]
    chart = data_map(tinted, labels.numpy(), file_sizes=sizes)
    significant = {
        (one.label, one.feature) for label in chart.classes for one in chart.properties_of(label) if one.significant
    }
    assert (1, "colour") in significant
    assert (3, "file size") in significant
    assert (0, "colour") not in significant


def test_large_sets_are_thinned():
    shown, labels, _ = toy.images(per_class=8)
    rows = torch.arange(12_000) % len(labels)
    chart = data_map(shown[rows][..., :8, :8], labels[rows].numpy(), budget=0.25)
    assert chart.queries == 1500
