"""What the paper reports, as it prints it, and in what a study differs from its protocol."""

from __future__ import annotations

import pytest

from einstellung.diagnoses.shortcuts.published import (
    measuring_differences,
    published_gaps,
    read_paper,
    training_differences,
)
from einstellung.diagnoses.shortcuts.score import score_shortcuts
from einstellung.results.config import build_config

from .reports import paper_config
from .timelines import BOTH, PAPERLIKE, study


def gap(method: str, cue: str, identify_epochs: int | None = None) -> float:
    learners = {method: {"identify_epochs": identify_epochs}} if identify_epochs else {}
    return published_gaps(method, build_config({"learners": learners})).gaps[cue]


def test_the_papers_table_is_as_printed():
    paper = read_paper()
    rows = [*paper.methods.values(), *(row for rows in paper.by_identify_epochs.values() for row in rows.values())]
    assert len(rows) == 14
    assert all(list(row) == ["ID", "background", "co-object", "background+co-object"] for row in rows)
    printed_factors = {("cutmix", None): 2.94, ("cutout", None): 1.03, ("jtt", 2): 1.52, ("eiil", 2): 1.40}
    for (method, epochs), factor in printed_factors.items():
        assert gap(method, "background", epochs) / gap("erm", "background") == pytest.approx(factor, abs=0.01)
    for (method, epochs), factor in {
        ("augmix", None): 1.08,
        ("lff", None): 1.64,
        ("jtt", 1): 1.18,
        ("eiil", 1): 2.21,
    }.items():
        assert gap(method, "co-object", epochs) / gap("erm", "co-object") == pytest.approx(factor, abs=0.01)
    assert gap("lle", "background+co-object") == -0.059
    assert published_gaps("eiil", build_config({"learners": {"eiil": {"identify_epochs": 3}}})) is None


def test_the_papers_own_protocol_differs_in_nothing():
    assert training_differences(paper_config()) == []
    assert measuring_differences((0.95, 0.95), "worst-group", 125) == []
    assert measuring_differences(None, "worst-group", None) == []  # what is not known is not judged


@pytest.mark.parametrize(
    ("changes", "differences"),
    [
        ({"stream": {"size": 64}}, ["stream.size 64 (paper: 256)"]),
        ({"training": {"batch_size": 64}}, ["training.batch_size 64 (paper: 128)"]),
        ({"training": {"epochs": [300, 300]}}, []),
        ({"training": {"epochs": [40, 40]}}, ["training.epochs 40, 40 (paper: 300)"]),
        ({"backbone": {"weights": None}}, ["random weights at the start (paper: weights of ImageNet)"]),
        (
            {"backbone": {"weights": "/a/b/net.safetensors"}},
            ["weights of net.safetensors at the start (paper: weights of ImageNet)"],
        ),
        (
            {"stream": {"input_modality": "features", "extractor": "efficientnet-lite0"}},
            ["the network is trained on frozen features of efficientnet-lite0 (paper: end-to-end training on pixels)"],
        ),
        ({"training": {"schedule": "cosine"}}, ["the learning rate falls along a cosine (paper: a constant one)"]),
        (
            {"training": {"schedule": "steps", "milestones": [[200, 250]], "epochs": [300], "decay": 0.1}},
            ["the learning rate falls after epoch 200 and 250 (paper: a constant one)"],
        ),
        ({"training": {"schedule": "steps", "milestones": [400], "epochs": [300]}}, []),
    ],
)
def test_differences_of_training(changes, differences):
    assert training_differences(paper_config(**changes)) == differences


def test_differences_of_measuring():
    assert measuring_differences((0.9, 0.95), "last", 50) == [
        "correlations 0.9, 0.95 (paper: .95, .95)",
        "the last epoch counts (paper: highest worst-group validation accuracy)",
        "50 test images per group (paper: 125)",
    ]


def test_without_a_configuration_the_card_says_what_it_knows_and_jtt_has_no_row():
    card = score_shortcuts(study({**PAPERLIKE, "jtt": PAPERLIKE["lle"]}), **BOTH)
    assert "it is not recorded how these models were trained" in card.reported.differences
    assert "50 test images per group (paper: 125)" in card.reported.differences
    assert sorted(card.reported.methods) == ["cutmix", "erm", "lle"]
    assert published_gaps("jtt", build_config({"learners": {"jtt": {"identify_epochs": 1}}})).ID == 0.959
    assert published_gaps("eiil", build_config({"learners": {"eiil": {}}})) is None
