"""Learners declare the kinds of inputs that they learn from."""

from __future__ import annotations

import pytest

from einstellung.errors import InputError
from einstellung.experiments.assembly import build_learner, build_stream, resolve
from einstellung.learners import Learner, learners
from einstellung.modalities import MODALITIES
from einstellung.results.config import build_config

SMALL = {"train_per_class": 4, "test_per_class": 2, "validation": 0.25}


def built(stream, *methods):
    config = resolve(build_config({"stream": {"name": stream, **SMALL}, "methods": list(methods)}))
    return config, build_stream(config)


def test_only_kinds_that_there_are_are_named():
    for name in learners:
        assert set(learners[name].modalities) <= set(MODALITIES), name


@pytest.mark.parametrize(("stream", "many"), [("phrases", "texts"), ("waves", "series")])
def test_a_learner_of_images_is_refused(own_names, stream, many):
    @learners.register("looks")
    class Looks(Learner):
        modalities = ("image",)

    config, found = built(stream, "sgd", "looks")
    words = f"looks learns from images only, and the stream '{stream}' holds {many}: leave the method out"
    with pytest.raises(InputError, match=words):
        build_learner(config, "looks", 1, found)
    build_learner(config, "sgd", 1, found)


@pytest.mark.parametrize("name", ["er+looks", "sgd-then-looks", "looks~2"])
def test_a_composition_is_refused_with_its_part(own_names, name):
    @learners.register("looks")
    class Looks(Learner):
        modalities = ("image", "series")
        combines = True

    config, found = built("phrases", name)
    with pytest.raises(InputError, match="learns from images and series only"):
        build_learner(config, name, 1, found)
    config, found = built("waves", name)
    build_learner(config, name, 1, found)
