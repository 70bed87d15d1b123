"""Which jobs a study has, what they share, and what their keys depend on."""

from __future__ import annotations

import itertools

import pytest

from einstellung.experiments.assembly import build_stream, resolve
from einstellung.experiments.plan import phase_work, plan
from einstellung.learners import learners
from einstellung.results.config import build_config, merged

from .conftest import SMALL


def jobs(change=None):
    config = resolve(build_config(merged({**SMALL, "seeds": [1, 2]}, change or {})))
    return plan(config, build_stream(config))


def test_t1_is_trained_once_per_seed_where_it_is_the_same():
    first_phases = [job for job in jobs() if job.kind == "first_phase"]
    assert [(job.method, job.seed) for job in first_phases] == [("sgd", 1), ("derpp", 1), ("sgd", 2), ("derpp", 2)]
    needs = {(job.method, job.seed): job.needs for job in jobs() if job.kind == "run"}
    assert needs["sgd", 1] == needs["ewc_on", 1] != needs["sgd", 2]
    assert needs["scratch_t2", 1] is None
    assert needs["derpp", 1] not in (None, needs["sgd", 1])


def test_a_first_phase_comes_before_what_needs_it():
    order = [job.folder for job in jobs()]
    for job in jobs():
        if job.needs:
            assert order.index(job.needs) < order.index(job.folder)


@pytest.mark.parametrize(
    ("change", "runs", "first_phases"),
    [
        ({"training": {"lr": 0.5}}, True, True),
        ({"stream": {"seed": 3}}, True, True),
        ({"cue": {"share": 0.5}}, True, False),  # T1 neither learns nor is measured with the cue here
        ({"cue": {"share_nsc": 0.5}}, True, False),
        ({"cue": {"habit": "same"}}, True, True),  # T1 learns it
        ({"cue": {"habit": "other"}}, True, True),
        ({"cue": {"share_nsc": 0.0, "habit": "none"}}, False, False),
        ({"training": {"milestones": [[1], [2]]}}, True, True),
        ({"training": {"epochs": [1, 4]}}, True, False),
        ({"learners": {"ewc_on": {"e_lambda": 3.0}}}, False, False),
        ({"score": {"tau": 0.5}}, False, False),
        ({"cue": {"size": 4}}, False, False),  # a default written out is the same study
        ({"name": "other"}, False, False),
        ({"training": {"matmul": "high"}}, True, True),
        ({"training": {"compile": True}}, True, True),
        ({"evaluation": {"subsets": "end"}}, True, True),
        ({"stream": {"input_size": 24}}, True, True),
        ({"training": {"matmul": "highest", "compile": False}, "stream": {"input_size": None}}, False, False),
        ({"logging": ["csv"], "companions": {"guide": {}}, "launcher": "elsewhere"}, False, False),
    ],
)
def test_keys_change_with_what_shapes_the_result(change, runs, first_phases):
    """Seen on sgd: another method's options, the score and the name do not touch it."""

    def keys(all_jobs):
        return {job.kind: job.key for job in all_jobs if job.method == "sgd" and job.seed == 1}

    before, after = keys(jobs()), keys(jobs(change))
    assert (before["run"] != after["run"]) is runs
    assert (before["first_phase"] != after["first_phase"]) is first_phases


def test_a_first_phase_that_is_measured_with_the_cue_depends_on_it():
    measured = {"evaluation": {"first_phase": "all"}}
    keys = [
        [job.key for job in jobs(change) if job.kind == "first_phase"]
        for change in (
            measured,
            {**measured, "cue": {"share": 0.5}},
        )
    ]
    assert set(keys[0]).isdisjoint(keys[1])


def test_first_phases_are_shared_between_shares_but_not_between_habits():
    def first_phases(**cue):
        return {job.key for job in jobs({"cue": cue}) if job.kind == "first_phase"}

    plain = first_phases()
    assert plain == first_phases(share=0.5) == first_phases(share=0.5, share_nsc=0.5) == first_phases(share_nsc=1.0)
    habits = [plain, first_phases(habit="same"), first_phases(habit="other")]
    assert all(one.isdisjoint(other) for one, other in itertools.combinations(habits, 2))


def test_milestones_of_later_phases_do_not_touch_the_first():
    keys = [
        [job.key for job in jobs({"training": {"milestones": [[1], later]}}) if job.kind == "first_phase"]
        for later in ([2], [1, 2])
    ]
    assert keys[0] == keys[1]


def test_replay_from_earlier_phases_only_shares_its_first_phase():
    needs = {
        job.method: job.needs
        for job in jobs({"learners": {"derpp": {"replay": "earlier"}}})
        if job.kind == "run" and job.seed == 1
    }
    assert needs["derpp"] == needs["sgd"]


def test_every_key_is_its_own():
    keys = [job.key for job in jobs()]
    assert len(set(keys)) == len(keys)


def test_a_stage_without_replay_is_not_charged_for_it():
    """Of bgs: two epochs of 40 images with 8 replayed beside 16, then 10 passes over its buffer's 12 images of the phase."""
    change = {"methods": ["bgs"], "learners": {"bgs": {"buffer": 24, "draw": 8, "last_layer_epochs": 10}}}
    training = {"training": {"epochs": [2, 2], "batch_size": 16}}
    config = resolve(build_config(merged({**SMALL, "seeds": [1]}, change | training)))
    assert phase_work(config, "bgs", [40, 40], 1) == pytest.approx(2 * 40 * 1.5 + 10 * 12)


SHARES = (
    "agem cumulative dgr dgr-then-er+gdro erm erm-then-lle er~large+erm ewc ewc_on gpm lwf naive scratch scratch_pair sgd "
    "sgd-then-fromp"
)
OWN = (
    "augmix bg_aug bgs cbp cff_aug coda_prompt cutmix cutout debian der derpp derpp+sd dfr di eiil er er+lff er+lle "
    "er_ace er~large fromp gdro gdro~background gdumb gdumb-then-naive jtt jtt~2 l2p lff lle lws mixup sd si subg txt_aug "
    "wtm_aug xder"
)
ALONE = "interleaved joint scratch_t2"


@pytest.mark.parametrize(
    ("options", "now_shared", "now_own"),
    [
        ({}, "", ""),
        (
            {
                "bgs": {"last_layer_epochs": 0},
                **{name: {"replay": "earlier"} for name in ("er", "der", "derpp", "er_ace")},
                "fromp": {"clip": None},
            },
            "bgs er er_ace der derpp er~large fromp",
            "",
        ),
    ],
)
def test_which_built_in_methods_share_a_first_phase(options, now_shared, now_own):
    """By their defaults, and with options that make T1 plain."""
    shared = {*SHARES.split(), *now_shared.split()} - {*now_own.split()}
    own = {*OWN.split(), *now_own.split()} - {*now_shared.split()}
    methods = [*learners, *sorted({*shared, *own} - {*learners})]
    assert {*learners} <= {*shared, *own, *ALONE.split()}
    needs = {job.method: job.needs for job in jobs({"methods": methods, "learners": options}) if job.kind == "run"}
    trainers = {name: needs[name] and needs[name].split("/")[1].rpartition("-seed")[0] for name in methods}
    assert {name for name, trainer in trainers.items() if trainer == "sgd"} == shared
    assert {name for name, trainer in trainers.items() if trainer == name} == own | {"sgd"}
    assert {name for name, trainer in trainers.items() if trainer is None} == {*ALONE.split()}
