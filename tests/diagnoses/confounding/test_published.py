"""The paper's numbers: its two tables agree, and what differs from its protocol is said."""

from __future__ import annotations

import pytest

from einstellung.diagnoses.confounding.published import paper_results, protocol_differences, read_paper, reported_for
from einstellung.diagnoses.confounding.study import TaskDescription
from einstellung.experiments.assembly import resolve
from einstellung.results.config import build_config, read_preset
from einstellung.results.family import Family

# Table 1, copied apart from Table 4.
TABLE_1 = """
disjoint NN naive 100.0 92.2 100.0 50.0 63.6 48.1
disjoint NN ewc 100.0 99.9 100.0 50.1 60.6 47.7
disjoint NN fromp 100.0 99.8 99.4 99.2 97.9 50.2
disjoint NN er 100.0 99.6 100.0 100.0 99.6 50.1
disjoint NN der 100.0 99.9 100.0 99.2 98.1 50.2
disjoint NN bgs 100.0 99.9 100.0 95.1 96.2 50.4
disjoint NN gdumb 64.1 62.0 69.5 63.6 61.2 48.8
disjoint NN cumulative 100.0 100.0 100.0 100.0 99.9 49.9
disjoint NN joint 100.0 99.9 100.0 - - 50.0
disjoint NeSy naive 99.5 99.9 100.0 50.0 58.1 50.0
disjoint NeSy ewc 99.6 100.0 99.9 50.2 67.2 50.2
disjoint NeSy fromp 99.6 98.9 98.4 97.9 97.3 50.5
disjoint NeSy er 99.5 99.8 99.9 99.2 99.3 50.7
disjoint NeSy der 99.6 99.7 99.9 98.6 96.9 50.9
disjoint NeSy bgs 99.6 99.9 99.9 94.4 95.1 50.9
disjoint NeSy gdumb 99.4 97.8 98.5 98.0 98.2 50.3
disjoint NeSy cumulative 99.8 99.9 99.9 99.8 99.9 50.8
disjoint NeSy joint 99.7 99.9 99.9 - - 50.7
strict NN naive 100.0 100.0 100.0 49.1 48.9 50.0
strict NN ewc 100.0 99.9 100.0 49.1 48.9 50.0
strict NN fromp 100.0 59.9 69.2 67.8 59.1 51.1
strict NN er 100.0 97.7 96.4 54.6 59.6 51.0
strict NN der 100.0 98.7 96.5 52.8 55.5 49.1
strict NN bgs 100.0 99.8 99.6 50.1 49.1 49.5
strict NN gdumb 92.5 62.7 53.6 57.5 54.2 50.4
strict NN cumulative 100.0 87.0 88.8 85.9 91.0 72.6
strict NN joint 98.2 99.2 98.9 - - 95.7
strict NeSy naive 99.7 100.0 100.0 49.1 49.2 49.8
strict NeSy ewc 99.9 99.9 100.0 49.1 49.4 50.1
strict NeSy fromp 99.8 83.4 74.7 85.1 76.3 56.2
strict NeSy er 99.8 99.8 98.8 68.0 83.6 61.2
strict NeSy der 99.7 99.4 99.5 58.8 73.2 56.5
strict NeSy bgs 99.8 99.9 99.9 51.8 56.3 51.3
strict NeSy gdumb 99.4 85.6 82.7 80.1 84.2 56.7
strict NeSy cumulative 99.8 92.5 88.8 88.6 92.3 69.9
strict NeSy joint 88.4 92.6 89.8 - - 70.8
"""


def test_the_means_of_table_four_are_those_of_table_one():
    rows = TABLE_1.strip().split("\n")
    paper = read_paper()
    printed_rows = [row for models in paper.table_4.values() for methods in models.values() for row in methods.values()]
    assert len(rows) == len(printed_rows) == 36
    for row in rows:
        variant, model, method, *numbers = row.split()
        printed = [None if number == "-" else float(number) for number in numbers]
        assert [pair and pair[0] for pair in paper.table_4[variant][model][method]] == printed


def test_reported_numbers_are_shares_and_joint_has_no_old_tasks():
    reported = reported_for("strict", "NN")
    assert reported["cumulative"]["T2@T3"].model_dump() == {"mean": 0.91, "sd": 0.0289}
    assert set(reported["joint"]) == {"T1", "T2", "T3", "unconfounded"}
    assert reported_for(None, "NN") == {}


PAPER = {
    "stream": {"input_modality": "pixels", "size": 224, "train": 3000, "val": 750, "test": 750, "rules": None},
    "backbone": {"name": "resnet18", "width": 64},
    "training": {
        "epochs": [50, 50, 50],
        "batch_size": 64,
        "optimiser": "adam",
        "lr": 0.001,
        "weight_decay": 0.0,
        "schedule": "steps",
        "milestones": [],
    },
    "learners": {"er": {"buffer": 100, "draw": 64, "replay": "earlier"}, "gdumb": {"buffer": 100, "passes": 1}},
    "seeds": [1, 2, 3, 4, 5],
}


@pytest.mark.parametrize(
    ("section", "change", "words"),
    [
        ("stream", {"size": 64}, "stream.size 64 (paper: 224)"),
        ("stream", {"rules": "mine.json"}, "stream.rules mine.json (paper: the paper's)"),
        ("backbone", {"width": 16}, "backbone.width 16 (paper: 64)"),
        ("training", {"epochs": [5, 5, 10]}, "training.epochs 5, 5, 10 (paper: 50, 50, 50)"),
        ("training", {"optimiser": "sgd"}, "training.optimiser sgd (paper: adam)"),
        ("training", {"schedule": "cosine"}, "training.schedule cosine (paper: steps)"),
        ("training", {"milestones": [35, 45]}, "training.milestones 35, 45 (paper: none)"),
        ("training", {"weight_decay": 1e-4}, "training.weight_decay 0.0001 (paper: 0.0)"),
        ("learners", {"der": {"alpha": 5.0}}, "learners.der.alpha 5 (concon-paper: 0.3)"),
        ("learners", {"er": {"replay": "within"}}, "learners.er.replay within (concon-paper: earlier)"),
        ("learners", {"fromp": {"joined": False}}, "learners.fromp.joined false (concon-paper: true)"),
        ("learners", {"fromp": {"choice": "leverage"}}, "learners.fromp.choice leverage (concon-paper: lambda)"),
        ("learners", {"joint": {"epochs": 6}}, "learners.joint.epochs 6 (concon-paper: null)"),
        ("learners", {"er": {"draw": 8}}, "learners.er.draw 8 (concon-paper: 64)"),
        ("learners", {"gdumb": {"passes": 16}}, "learners.gdumb.passes 16 (concon-paper: 1)"),
        ("learners", {"fromp": {"epochs": None}}, "learners.fromp.epochs null (concon-paper: 30)"),
    ],
)
def test_what_differs_from_the_papers_protocol_is_said(section, change, words):
    assert protocol_differences(PAPER, "NN") == []
    assert protocol_differences({**PAPER, section: {**PAPER[section], **change}}, "NN") == [words]


def preset_studies():
    return Family.of(read_preset("concon-paper"), "concon-paper").studies("concon-paper")


@pytest.mark.parametrize(("study", "model"), [("nn-strict", "NN"), ("nesy-strict", "NeSy")])
def test_the_preset_in_the_papers_sizes_differs_in_nothing(study, model):
    resolved = resolve(preset_studies()[study]).model_dump(mode="json")
    assert set(resolved["learners"]) >= {"ewc", "fromp", "er", "der", "bgs", "gdumb"}
    assert protocol_differences(resolved, model) == []
    for method, options in resolved["learners"].items():  # none of its options is overlooked
        for key, value in options.items():
            other = {"learners": {method: {**options, key: "other" if isinstance(value, str) else 12345}}}
            assert len(protocol_differences(other, model)) == 1, (method, key)


@pytest.mark.parametrize("model", ["NN", "NeSy"])
def test_every_setting_that_the_paper_states_is_one_of_the_preset(model):
    stated = read_paper().protocol.models[model].stated
    resolved = resolve(preset_studies()[read_paper().protocol.models[model].study]).model_dump(mode="json")
    for section, keys in stated.items():
        for key in keys:
            other = [7] if isinstance(resolved[section][key], list) else "other"
            assert len(protocol_differences({section: {key: other}}, model)) == 1, (section, key)


@pytest.mark.parametrize(("kind", "model"), [("nn", "NN"), ("nesy", "NeSy")])
def test_all_variants_have_one_protocol(kind, model):
    disjoint, unconfounded = (
        preset_studies()[f"{kind}-{variant}"].model_dump(mode="json") for variant in ("disjoint", "unconfounded")
    )
    assert protocol_differences(disjoint, model) == []
    assert protocol_differences({**unconfounded, "learners": {}}, model) == []  # naive training alone, which has none


def test_seeds_count_and_one_phase_is_no_difference():
    assert protocol_differences({**PAPER, "seeds": [1]}, "NN") == ["1 seed (paper: 5)"]
    once = {**PAPER, "training": {**PAPER["training"], "epochs": [50]}}
    assert protocol_differences(once, "NN") == []


def test_another_question_than_the_papers_is_said():
    """Whatever file or folder its rules came from."""
    config = build_config(PAPER)
    asked = {"variant": "strict", "model": "NN"}
    own = TaskDescription(**asked, ground_truth="sphere and small cube", confounders=("blue", "metal", "large"))
    assert paper_results(own, config).differences == ()
    other = TaskDescription(**asked, ground_truth="cube", confounders=("red",))
    assert paper_results(other, config).differences == (
        "ground truth 'cube' (paper: 'sphere and small cube')",
        "confounders red (paper: blue, metal, large)",
    )


def test_a_study_without_variant_has_nothing_reported():
    assert paper_results(TaskDescription()).methods == {}
    assert paper_results(TaskDescription()).ceiling is None
    ceiling = paper_results(TaskDescription(variant="strict", model="NeSy")).ceiling
    assert (ceiling.mean, ceiling.sd) == (0.8033, 0.0091)
