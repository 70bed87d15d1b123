"""The paper's numbers: as printed, and shown only where the protocol is the paper's."""

from __future__ import annotations

import copy

import pytest

from einstellung.diagnoses.rigidity.published import (
    follows_paper,
    protocol_differences,
    published,
    reported_numbers,
)
from einstellung.experiments.assembly import resolve
from einstellung.results.config import build_config, read_preset

PAPERS = {
    "stream": {
        "name": "cifar100",
        "labels": "fine",
        "t1": [0, 1, 2, 3, 4, 5, 6, 7],
        "t2": [8, 9, 10, 11],
        "shortcut": [8, 9],
        "validation": 0.1,
        "duplicates": "report",
        "train_per_class": None,
        "test_per_class": None,
    },
    "cue": {
        "name": "patch",
        "size": 4,
        "colour": [255, 0, 255],
        "place": "top-left",
        "opacity": 1.0,
        "share": 1.0,
        "share_nsc": 0.0,
        "habit": "none",
    },
    "cover": "black",
    "backbone": {"name": "resnet18", "width": 64},
    "training": {
        "epochs": [50, 50],
        "batch_size": 32,
        "lr": 0.01,
        "momentum": 0.9,
        "weight_decay": 1e-4,
        "milestones": [35, 45],
        "decay": 0.1,
        "precision": "bf16",
        "device": "cpu",
        "threads": 2,
    },
    "evaluation": {"every_steps": None, "t1_all_every": 5},
    "learners": {
        "ewc_on": {"e_lambda": 1000.0, "gamma": 1.0, "fisher": "per-sample"},
        "derpp": {"buffer": 500, "alpha": 0.1, "beta": 0.5, "draw": 32, "replay": "within"},
        "sgd": {},
    },
    "seeds": [1],
    "methods": ["sgd"],
    "score": {"final": "auto"},
}


def changed(path, value):
    made = copy.deepcopy(PAPERS)
    section, _, key = path.rpartition(".")
    (made[section] if section else made)[key] = value
    return build_config(made)


@pytest.mark.parametrize(
    ("path", "value"),
    [
        ("seeds", [42, 43]),
        ("methods", ["sgd", "mine"]),
        ("training.precision", "fp32"),
        ("training.threads", 8),
        ("training.device", "cuda"),
        ("training.milestones", [[35, 45], [35, 45]]),
        ("training.epochs", (50, 50)),
        ("stream.shortcut", ["large carnivores", "large man-made outdoor things"]),
        ("stream.t2", [11, 10, "large_carnivores", 9]),
        ("score.final", "best-val"),
        ("evaluation.t1_all_every", 1),
        ("learners.mine", {"strength": 3}),
    ],
)
def test_what_may_differ(path, value):
    assert follows_paper(build_config(PAPERS))
    assert follows_paper(changed(path, value))


@pytest.mark.parametrize(
    ("path", "value"),
    [
        ("stream.name", "shapes"),
        ("stream.labels", "superclass"),
        ("stream.t1", [0, 1, 2, 3]),
        ("stream.t2", [8, 9, 10, 12]),
        ("stream.shortcut", [8, 10]),
        ("stream.shortcut", ["fish", 9]),
        ("stream.validation", 0.2),
        ("stream.duplicates", "drop"),
        ("stream.train_per_class", 100),
        ("stream.test_per_class", 20),
        ("cue.name", "frame"),
        ("cue.size", 2),
        ("cue.colour", [0, 0, 255]),
        ("cue.place", "per-index"),
        ("cue.place", [0, 0]),
        ("cue.opacity", 0.5),
        ("cue.share", 0.9),
        ("cue.share_nsc", 0.1),
        ("cue.habit", "same"),
        ("cover", "mean"),
        ("backbone.name", "vit"),
        ("backbone.width", 16),
        ("training.epochs", [10, 20]),
        ("training.batch_size", 64),
        ("training.lr", 0.1),
        ("training.momentum", 0.0),
        ("training.weight_decay", 0.0),
        ("training.milestones", []),
        ("training.milestones", [[35, 45], [14, 18]]),
        ("training.decay", 0.5),
        ("training.optimiser", "adam"),
        ("training.schedule", "cosine"),
        ("stream.input_size", 64),
        ("score.final", "last"),
        ("evaluation.every_steps", 50),
        ("learners.derpp", {"buffer": 200, "alpha": 0.1, "beta": 0.5, "draw": 32}),
        ("learners.ewc_on", {"e_lambda": 10.0, "gamma": 1.0}),
    ],
)
def test_what_may_not(path, value):
    differing = protocol_differences(changed(path, value))
    assert not follows_paper(changed(path, value))
    assert all(key == path or key.startswith(f"{path}.") for key in differing)


@pytest.mark.parametrize(("preset", "same"), [("paper", True), ("demo", False)])
def test_presets_as_they_are_resolved(preset, same):
    config = build_config({**read_preset(preset), "methods": ["sgd"], "learners": {}})
    assert follows_paper(resolve(config)) == same


def test_the_printed_table_is_consistent_with_itself():
    """PD is scratch minus method, and SFR_rel the difference of deltas, up to the rounding of printed means."""
    table = published().table
    scratch = {key: printed.mean for key, printed in table["scratch_t2"].items()}
    assert set(table) == {"scratch_t2", "sgd", "ewc_on", "derpp", "gpm", "dgr"}
    for method in sorted(set(table) - {"scratch_t2"}):
        own = {key: printed.mean for key, printed in table[method].items()}
        assert own["PD"] == pytest.approx(scratch["SC_patch"] - own["SC_patch"], abs=0.0015)
        delta, base = own["SC_patch"] - own["SC_mask"], scratch["SC_patch"] - scratch["SC_mask"]
        assert own["SFR_rel"] == pytest.approx(delta - base, abs=0.0025)


def test_methods_that_the_paper_does_not_have_are_not_compared():
    assert list(reported_numbers(["mine", "gpm"]).methods) == ["gpm"]


def test_a_study_without_a_cue_is_another_one():
    assert "cue.name" in protocol_differences(build_config({**PAPERS, "cue": None}))
