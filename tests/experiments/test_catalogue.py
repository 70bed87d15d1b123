"""What can be named, with options and where their defaults come from."""

from __future__ import annotations

from einstellung.experiments.catalogue import catalogue
from einstellung.learners.methods import learner_options
from einstellung.results.config import build_config, preset_names, read_preset
from einstellung.results.family import Family

SEVEN = ("scratch_t2", "sgd", "ewc_on", "derpp", "gpm", "dgr", "interleaved")


def test_every_hyper_parameter_of_a_learner_has_a_source():
    entries = {entry["name"]: entry for entry in catalogue("learners")}
    assert {*SEVEN, "er", "der", "joint", "cumulative"} <= set(entries)
    for name, entry in entries.items():
        assert set(entry["sources"]) == set(entry["options"]), name
    assert entries["ewc_on"]["options"]["e_lambda"] == 1000.0


def test_every_learner_says_what_it_is_in_one_line():
    assert all(len(entry["summary"]) > 20 for entry in catalogue("learners"))


def test_presets_are_whole_configurations():
    whole = {name: read_preset(name) for name in preset_names()}
    families = {name: Family.of(values, name) for name, values in whole.items() if "studies" in values}
    concon = {f"{m}-{v}" for m in ("nn", "nesy") for v in ("strict", "disjoint", "unconfounded")}
    assert {name: set(family.members) for name, family in families.items()} == {
        "concon-fast": concon,
        "concon-paper": concon,
        "whac-continual": {"switch", "joined", "turned"},
    }
    for name, family in families.items():
        for config in family.studies(name).values():
            for method, options in config.learners.items():
                learner_options(method, options)
    presets = {name: build_config(values) for name, values in whole.items() if name not in families}
    of_cifar = {"guide", "leaderboard", "paper", "paper-fast", "plain-sgd", "smoke"}
    quick = {"series-quick": "ucr", "spam-natural": "spam", "text-quick": "newsgroups"}
    phases = {name: presets.pop(name) for name in ("phases-5", "phases-shapes")}
    assert [len(one.training.epochs) for one in phases.values()] == [5, 4]
    assert set(presets) == {*of_cifar, *quick, "concon-quick", "demo", "whac-features", "whac-quick"}
    assert {name: presets[name].stream.name for name in quick} == quick
    assert presets.pop("concon-quick").methods == ("naive", "er", "cumulative", "joint")
    for whac in (presets.pop("whac-features"), presets.pop("whac-quick")):
        for method in whac.methods:
            learner_options(method, whac.learners.get(method, {}))
    for name, config in presets.items():
        assert config.name == name
        for method, options in config.learners.items():
            learner_options(method, options)
        assert (config.stream.name == "cifar100") == (name in of_cifar)
        if name not in ("demo", "guide", "leaderboard", *quick):
            assert config.methods == SEVEN


def test_the_papers_preset_is_the_papers_protocol():
    """Section by section against the specification's numbers, not against our own defaults."""
    paper = build_config(read_preset("paper"))
    assert paper.training.epochs == (50, 50)
    assert paper.training.milestones == (35, 45)
    training = paper.training
    assert (training.batch_size, training.lr, training.momentum, training.weight_decay) == (32, 0.01, 0.9, 1e-4)
    assert paper.backbone.options == {"width": 64}
    assert paper.cue.options == {"size": 4, "colour": [255, 0, 255], "place": "top-left"}
    assert paper.cover == "black"
    assert paper.seeds == (42, 123, 456, 789, 1011)
    assert paper.learners == {}
    plain = build_config(read_preset("plain-sgd"))
    assert (plain.training.momentum, plain.training.weight_decay, plain.cue.options["place"]) == (0.0, 0.0, "per-index")
    assert plain.training.epochs == (50, 50)
