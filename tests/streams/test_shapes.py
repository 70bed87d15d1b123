"""The embedded stream: its law, its splits, and that a net uses its cue."""

from __future__ import annotations

import pytest
import torch

from einstellung.cues import PatchCue
from einstellung.errors import InputError
from einstellung.experiments.assembly import build_learner, data_digests
from einstellung.results.config import build_config
from einstellung.streams import shapes
from einstellung.training import Evaluator, LoopSettings, PhaseLoop

SPLITS = (
    "T1_all",
    "T2_shortcut_normal",
    "T2_shortcut_masked",
    "T2_nonshortcut_normal",
    "T2_val",
    "T2_shortcut_clean",
    "T2_nonshortcut_patched",
    "T2_shortcut_elsewhere",
)


def test_sizes_and_labels(small_stream):
    t1, t2 = small_stream.phases
    assert small_stream.n_outputs == 36
    assert len(t1.classes) == 24
    assert t2.classes == tuple(range(24, 36))
    assert t2.cue_classes == tuple(range(24, 30))
    assert len(t1.train) == 240
    assert len(t2.train) == 12 * 9  # one of ten is held out
    assert tuple(split.name for split in small_stream.splits) == SPLITS
    assert len(small_stream.split("T2_val").images) == 12
    assert len(small_stream.split("T1_all").images) == 72
    assert small_stream.class_names[24:30:3] == ("ring plain", "saltire plain")


def test_the_same_seed_draws_the_same_pixels_and_another_does_not(small_stream):
    again = shapes(PatchCue(), train_per_class=10, test_per_class=3)
    other = shapes(PatchCue(), train_per_class=10, test_per_class=3, seed=1)
    assert data_digests(again) == data_digests(small_stream)
    assert data_digests(other)["T1"] != data_digests(small_stream)["T1"]


def test_the_pictures_are_pinned():
    """A change of these means is a change of the data set: earlier numbers would no longer be about it.

    Means, not bytes: the last bit of a cosine may differ between processors.
    """
    stream = shapes(PatchCue(), train_per_class=4, test_per_class=2)
    means = [
        [float(phase.train.images[phase.train.labels == label].double().mean()) for label in phase.classes[:3]]
        for phase in stream.phases
    ]
    assert means[0] == pytest.approx([122.904, 134.982, 135.846], abs=0.05)
    assert means[1] == pytest.approx([136.707, 125.183, 125.771], abs=0.05)


def test_colour_says_nothing_about_the_class():
    """Mean colour per class stays within noise of the overall mean: a nearest-mean rule is at chance."""
    stream = shapes(PatchCue(), train_per_class=60, test_per_class=20)
    train, test = stream.phases[0].train, stream.split("T1_all").images
    means = torch.stack([train.images[train.labels == c].float().mean(dim=(0, 2, 3)) for c in range(24)])
    nearest = torch.cdist(test.images.float().mean(dim=(2, 3)), means).argmin(dim=1)
    assert (nearest == test.labels).float().mean() < 0.10  # chance is 1/24


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"t1": (0, 8)}, r"superclasses \[8\] are in stream.t1 and in stream.t2"),
        ({"shortcut": (1,)}, "not in stream.t2"),
        ({"shortcut": (8, 9, 10, 11)}, "leave some superclasses"),
        ({"t2": (10, 12)}, "superclasses from 0 to 11"),
        ({"validation": 0.0}, "stream.validation"),
        ({"train_per_class": 1}, "train_per_class"),
        ({"size": 4}, "stream.size"),
        ({"noise": -1}, "stream.noise"),
        (
            {"validation": 0.99, "train_per_class": 8},
            "stream.validation 0.99 holds out all 8 training images of a class",
        ),
        ({"size": 10**6}, "stream.size 1000000 with 100 images per class needs .* MiB while it is drawn"),
        ({"train_per_class": 10**9}, "stream.size 32 with 1000000000 images"),
    ],
)
def test_wrong_options_are_named(options, words):
    with pytest.raises(InputError, match=words):
        shapes(PatchCue(), **options)


def _delta_of_scratch(share: float) -> float:
    config = build_config(
        {
            "stream": {"name": "shapes", "size": 24, "train_per_class": 60, "test_per_class": 20, "noise": 0.05},
            "backbone": {"name": "resnet18", "width": 8},
            "training": {"epochs": [1, 6], "batch_size": 16, "lr": 0.01, "precision": "fp32"},
        }
    )
    stream = shapes(PatchCue(share=share), **config.stream.options)
    torch.set_num_threads(1)
    learner = build_learner(config, "scratch_t2", 42, stream)
    phase = stream.phases[-1]
    learner.begin_phase(phase)
    unheard = [lambda *_: None] * 3
    PhaseLoop(learner, phase, LoopSettings(6, 16, 0.01), *unheard).run()
    evaluator = Evaluator(stream, learner.context.presentation, learner.context.autocast)
    patched, masked = evaluator.measure(learner.net, ["T2_shortcut_normal", "T2_shortcut_masked"])
    return patched.acc - masked.acc


def test_a_net_uses_the_cue_where_it_is_and_only_there():
    assert _delta_of_scratch(share=1.0) > 0.25
    assert abs(_delta_of_scratch(share=0.0)) < 0.08
