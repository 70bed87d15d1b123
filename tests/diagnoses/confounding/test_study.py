"""What configuration and proof say of a study, and which studies have comparable ceilings."""

from __future__ import annotations

import pytest

from einstellung.diagnoses.confounding.study import TaskDescription, describe_tasks
from einstellung.results.config import build_config

FACTS = {"variant": "strict", "ground_truth": "sphere and small cube", "confounders": ["blue", "metal", "large"]}


def config(backbone="resnet18", **stream):
    return build_config(
        {"stream": {"name": "concon", "variant": "disjoint", "size": 64, **stream}, "backbone": backbone}
    )


def test_of_somebodys_log_nothing_is_known():
    assert describe_tasks(None, {}) == TaskDescription()


def test_the_proof_has_the_last_word():
    assert describe_tasks(config(), FACTS).variant == "strict"
    assert describe_tasks(config(), {}).variant == "disjoint"


def test_the_kind_of_model_and_what_it_perceives():
    read = {"whole_scenes": 0.25, "ground_truth": 0.8}
    found = describe_tasks(config("set_transformer"), {**FACTS, "input_modality": "slots", "perceived": read})
    assert (found.model, found.input_modality, found.perceived.whole_scenes) == ("NeSy", "slots", 0.25)
    assert describe_tasks(config(), FACTS).model == "NN"


@pytest.mark.parametrize(
    ("other", "facts"),
    [
        (config("set_transformer"), FACTS),
        (config({"name": "resnet18", "width": 8}), FACTS),
        (config(size=224), FACTS),
        (config(input_modality="slots"), FACTS),
        (config(perception="eyes.safetensors"), FACTS),
        (config(), {**FACTS, "ground_truth": "sphere"}),
    ],
)
def test_another_net_input_or_question_has_another_ceiling(other, facts):
    assert describe_tasks(other, facts).ceiling_key != describe_tasks(config(), FACTS).ceiling_key


def test_variant_and_amount_of_data_share_a_ceiling():
    unconfounded = describe_tasks(config(variant="unconfounded", train=18000), {**FACTS, "variant": "unconfounded"})
    assert unconfounded.ceiling_key == describe_tasks(config(), FACTS).ceiling_key
