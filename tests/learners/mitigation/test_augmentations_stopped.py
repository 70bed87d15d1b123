"""Methods that change images: a stopped run ends in the same bytes, replay and composites go together with them."""

from __future__ import annotations

import copy
from dataclasses import replace

import pytest
import torch

from einstellung.backbones import backbones
from einstellung.errors import InputError
from einstellung.experiments.assembly import resolve
from einstellung.learners import Batch, learner_options, learners, make_learner
from einstellung.learners.mitigation import augmix, bg_aug, cff_aug, cutmix, cutout, mixup, sd, txt_aug, wtm_aug
from einstellung.results.config import build_config
from einstellung.streams import Presentation, composites, streams
from tests.learners.conftest import SmallNet
from tests.learners.mitigation.framed import Repainted, framed
from tests.learners.mitigation.test_wtm_aug import font
from tests.learners.test_stopped import FILES, ran

__all__ = ["font"]

KINDS = {
    "augmix": augmix.AugMix,
    "bg_aug": bg_aug.BackgroundAugmentation,
    "cff_aug": cff_aug.CounterfactualAndFactual,
    "cutmix": cutmix.CutMix,
    "cutout": cutout.Cutout,
    "mixup": mixup.Mixup,
    "sd": sd.SpectralDecoupling,
    "txt_aug": txt_aug.TextureAugmentation,
    "wtm_aug": wtm_aug.WatermarkAugmentation,
}


def world():
    """The framed images, of which the texture can be changed, too."""
    return replace(framed(16), interventions={"background": Repainted(), "texture": Repainted()})


@pytest.fixture
def config(own_names, font):
    streams.add("framed", world)
    backbones.add("small", SmallNet)

    def build(method):
        values = {
            "name": "stopped",
            "stream": {"name": "framed"},
            "backbone": {"name": "small"},
            "training": {"epochs": [1, 2], "batch_size": 8, "precision": "fp32", "optimiser": "adam", "lr": 0.01},
            "methods": [method],
            "learners": {"wtm_aug": {"font": str(font)}} if "wtm_aug" in method else {},
            "seeds": [3],
        }
        return resolve(build_config(values))

    return build


@pytest.mark.parametrize("method", [*KINDS, "er+augmix", "derpp+bg_aug"])
def test_a_run_that_was_stopped_ends_in_the_same_bytes(config, tmp_path, method):
    config = config(method)
    straight, _ = ran(tmp_path / "straight", config)
    again, stopped = ran(tmp_path / "again", config, "T2 epoch 2")
    assert stopped
    for name in FILES:
        assert (again.folder / name).read_bytes() == (straight.folder / name).read_bytes(), name


@pytest.mark.parametrize("method", KINDS)
def test_it_is_never_plain_training_and_learns_what_is_replayed(make, font, method):
    """ER's draw goes into the method's own loss; DER++'s terms come on top of it."""
    stream, kind = world(), KINDS[method]
    options = {"font": str(font)} if method == "wtm_aug" else {}
    assert learners[method] is kind
    assert kind.combines
    assert not kind.shares_first_phase(learner_options(method, options))
    net = copy.deepcopy(make("erm").net)
    net.head = torch.nn.Linear(4, 2)
    context = replace(make("erm").context, presentation=Presentation(stream), phases=stream.phases)
    first, second = stream.phases
    raw = second.train.take(torch.arange(8))
    batch = Batch(context.presentation.unaugmented(raw), raw.labels, raw)
    for replay in ("er", "derpp"):
        learner = make_learner(
            f"{replay}+{method}", {method: options, replay: {"draw": 6}}, copy.deepcopy(net), context
        )
        learner.begin_phase(first)
        learner.begin_epoch(first, 1)
        learner.end_phase(first)
        learner.begin_phase(second)
        learner.begin_epoch(second, 1)
        seen = []
        own = learner.method.objective

        def objective(some, own=own, seen=seen):
            seen.append(len(some.raw))
            return own(some)

        learner.method.objective = objective
        assert torch.isfinite(learner.observe(batch))
        assert seen == [14 if replay == "er" else 8]


def test_composites_give_all_that_is_asked_for(make, font):
    """Targets stay where a composite's background is swapped; blanked boxes hide all of a target, which nothing else shows."""
    stream = replace(composites(size=32, train=4, val=4, test=4, phases=((0.75, 0.75),)), flip=False)
    phase, images = stream.phases[0], stream.phases[0].train
    context = replace(make("erm").context, presentation=Presentation(stream), phases=stream.phases)
    batch = Batch(context.presentation.unaugmented(images), images.labels, images)
    shown = {}
    for method in ("bg_aug", "cff_aug"):
        options = {"p": 1.0} if method == "bg_aug" else {}
        learner = make_learner(method, options, make("erm").net, context)
        learner.begin_phase(phase)
        learner.begin_epoch(phase, 1)
        assert torch.isfinite(learner.observe(batch))
        shown[method] = learner.shown(batch) if method == "bg_aug" else learner.views(images)[2]
    blank = (shown["cff_aug"].abs() < 1e-6).all(dim=1)
    kept = (shown["bg_aug"] == batch.inputs).all(dim=1)
    for row, (top, left, bottom, right) in enumerate(stream.target_boxes(images).tolist()):
        assert bool(blank[row, top:bottom, left:right].all())
        inside, around = kept[row, top:bottom, left:right], kept[row].clone()
        around[top:bottom, left:right] = False
        assert float(inside.float().mean()) > 0.5  # the target, of the box that it fills
        assert int(around.sum()) < 0.2 * 32 * 32  # the co-object at most


@pytest.mark.parametrize("method", KINDS)
def test_features_are_no_pictures(make, font, method):
    """Mixing and swapping work on whatever a net is shown; what is done to pixels is refused there with a clear line."""
    stream = world()
    phases = tuple(
        replace(phase, train=replace(phase.train, images=torch.rand(16, 5, 1, 1))) for phase in stream.phases
    )
    seen = replace(stream, phases=phases, target_boxes=None, flip=False, crop_padding=0, mean=(0.0,), std=(1 / 255,))
    context = replace(make("erm").context, presentation=Presentation(seen), phases=phases)
    options = {"font": str(font)} if method == "wtm_aug" else {}
    if method in ("mixup", "sd", "bg_aug"):
        assert type(make_learner(method, options, make("erm").net, context)) is KINDS[method]
    else:
        with pytest.raises(InputError, match=f"{method} changes pixels, but the stream 'framed' provides features"):
            make_learner(method, options, make("erm").net, context)


def test_tables_are_no_pictures_though_they_are_bytes(make):
    """A stream that says so shows tables of zeros and ones, which changed contrast or lost patches would make something else."""
    stream = replace(world(), facts={"input_modality": "attributes"})
    context = replace(make("erm").context, presentation=Presentation(stream), phases=stream.phases)
    with pytest.raises(InputError, match="cutmix changes pixels, but the stream 'framed' provides attributes"):
        make_learner("cutmix", {}, make("erm").net, context)
