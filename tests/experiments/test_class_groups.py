"""A model with many classes, audited over groups of them: probabilities are summed, images relabelled, bad tables refused."""

from __future__ import annotations

import pytest
import torch

from einstellung.errors import InputError
from einstellung.experiments.audited_images import images_of_arrays
from einstellung.experiments.class_groups import groups_from, read_groups
from einstellung.probes.audit import AuditedModel

IMAGES = torch.randint(0, 255, (6, 3, 8, 8), generator=torch.Generator().manual_seed(0), dtype=torch.uint8)
LABELS = torch.tensor([0, 1, 2, 3, 4, 4])
NAMES = ["ant", "bee", "cat", "dog", "eel"]


def model(outputs: int = 6) -> AuditedModel:
    weight = torch.randn(3 * 64, outputs, generator=torch.Generator().manual_seed(1))
    return AuditedModel("net", lambda inputs: inputs.flatten(1) @ weight)


def test_probabilities_of_a_group_are_summed_and_the_rest_is_kept():
    grouped = groups_from({"insects": ["0-1"], "pets": ["cat", 3]}).apply(images_of_arrays(IMAGES, LABELS, NAMES))
    assert grouped.images.labels.tolist() == [0, 0, 1, 1]  # eels are in no group
    assert grouped.images.class_names == {0: "insects", 1: "pets"}
    before = torch.from_numpy(model().probabilities(grouped.images.images))
    after = torch.from_numpy(grouped.of_model(model()).probabilities(grouped.images.images))
    expected = torch.stack([before[:, :2].sum(1), before[:, 2:4].sum(1), before[:, 4:].sum(1)], dim=1)
    torch.testing.assert_close(after, expected, rtol=1e-4, atol=1e-6)


def test_gradients_pass_through_groups():
    grouped = groups_from({"insects": [0, 1], "pets": [2, 3]}).apply(images_of_arrays(IMAGES, LABELS, NAMES))
    assert grouped.of_model(model()).differentiable(IMAGES)


def test_wordnet_ids_name_classes():
    groups = groups_from({"a": ["n01440764"], "b": [1]})
    assert groups.apply(images_of_arrays(IMAGES, LABELS, NAMES), {"n01440764": 2}).outputs == ((2,), (1,))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("class\n1\n", "its first line must name the columns class and group"),
        ("class,group\n1,\n", "line 2: give a class and its group"),
        ("class,group\n1,a\n2,a\n", "names 1 group: an audit compares groups"),
        ("class,group\n1,a\n1,b\n", "class 1 is in 'a' and in 'b'"),
        ("class,group\n3-1,a\n1,b\n", "the range 3-1 ends before it begins"),
        (
            "class,group\nbea,a\n1,b\n",
            "'bea' is neither a number nor the name of a class with images: did you mean 'bee'",
        ),
        ("class,group\n7,a\n8,b\n", "no image belongs to a group"),
    ],
)
def test_bad_tables_are_refused_in_one_line(tmp_path, text, message):
    (tmp_path / "groups.csv").write_text(text)
    with pytest.raises(InputError, match=message) as error:
        read_groups(tmp_path / "groups.csv").apply(images_of_arrays(IMAGES, LABELS, NAMES))
    assert "\n" not in str(error.value)


def test_a_class_that_the_model_lacks_is_refused():
    grouped = groups_from({"a": [0], "b": [1, 9]}).apply(images_of_arrays(IMAGES, LABELS, NAMES))
    with pytest.raises(InputError, match="there is no class 9, net has 6 outputs"):
        grouped.of_model(model()).probabilities(IMAGES)
