"""Whole runs of the methods that know groups or shifts: what they are good for, and that stopping changes nothing."""

from __future__ import annotations

import math
from functools import cache

import pandas as pd
import pytest

from einstellung.experiments.assembly import resolve
from einstellung.results.config import build_config
from einstellung.streams import Stream, streams
from tests.learners.mitigation.points import learned, made, one_cue, stream_of, two_cues, worst
from tests.learners.test_stopped import FILES, ran

METHODS = ("gdro", "di", "subg", "dfr", "lle")
OPTIONS = {"dfr": {"last_layer_epochs": 2}}
STOPS = ("T1 epoch 2", "T3 epoch 2")


@pytest.fixture(scope="module", params=[one_cue, two_cues])
def problem(request):
    stream = stream_of(request.param())
    return stream, worst(learned(made("erm", stream, lr=0.5), "erm", epochs=20))


@pytest.mark.parametrize("method", METHODS)
def test_the_worst_group_rises_above_that_of_plain_training(problem, method):
    """On points that a cue tells apart in 95 of 100 cases, with a number beside it that tells them apart always, but not well."""
    stream, plain = problem
    assert plain < 0.75
    assert worst(learned(made(method, stream, lr=0.5), method, epochs=20)) > plain + 0.1


@cache
def weights_on_cues(method, known=None):
    """What the logit of the positive class, less that of the other one, makes of each of two cues."""
    options = {} if known is None else {"cues": [known]}
    learner = learned(made(method, stream_of(two_cues(one=18, none=2)), lr=0.5, **options), method, epochs=20)
    negative, positive = learner.net.head.weight.detach()
    return dict(zip(("left", "right"), (positive - negative)[1:].tolist(), strict=True))


@pytest.mark.parametrize("method", ["gdro", "subg", "dfr"])
@pytest.mark.parametrize(("known", "unknown"), [("left", "right"), ("right", "left")])
def test_an_unknown_cue_is_still_used(method, known, unknown):
    plain, own = weights_on_cues("erm"), weights_on_cues(method, known)
    assert own[known] < 0.6 * plain[known]
    assert own[unknown] > 0.75 * plain[unknown]


@pytest.fixture
def config(own_names):
    @streams.register("points")
    def points() -> Stream:
        sets = [two_cues(common=12, one=4, none=2, seed=seed) for seed in range(3)]
        return stream_of(*sets, named=[("left",), (), ("right",)])

    def build(method):
        values = {
            "name": "points",
            "stream": {"name": "points"},
            "backbone": {"name": "linear", "inputs": 3},
            "training": {
                "epochs": [2, 2, 2],
                "batch_size": 8,
                "precision": "fp32",
                "optimiser": "adam",
                "lr": 0.01,
                "milestones": [1],
            },
            "methods": [method],
            "learners": {method: OPTIONS.get(method, {})},
            "seeds": [3],
        }
        return resolve(build_config(values))

    return build


@pytest.mark.parametrize("method", METHODS)
def test_a_run_that_was_stopped_anywhere_ends_in_the_same_bytes(config, tmp_path, method):
    config = config(method)
    straight, _ = ran(tmp_path / "straight", config)
    stops = (*STOPS, "T2 epoch 3") if method == "dfr" else STOPS  # the third epoch is that of the last layer
    for number, place in enumerate(stops):
        again, stopped = ran(tmp_path / str(number), config, place)
        assert stopped, place
        for name in FILES:
            assert (again.folder / name).read_bytes() == (straight.folder / name).read_bytes(), (place, name)
        assert again.samples == straight.samples


@pytest.mark.parametrize(("method", "epochs"), [("erm", [0, 1, 2]), ("jtt", [0, 2, 3]), ("dfr", [0, 3])])
def test_a_net_that_is_not_yet_the_methods_own_is_not_measured(config, tmp_path, method, epochs):
    """JTT's first epoch trains a net that it throws away; DFR's plain training is not DFR. Its images count all the same."""
    run, _ = ran(tmp_path, config(method))
    frame = pd.read_csv(run.folder / "timeline.csv")
    assert [math.ceil(epoch) for epoch in sorted(frame[frame.phase == "T3"].epoch.unique())] == epochs
