"""Hooks of a layer, and the class whose computation it follows."""

from __future__ import annotations

import pytest
from torch import nn

from einstellung.backbones.layers import has_hooks, reference_class


@pytest.mark.parametrize(
    "register",
    [
        "register_forward_hook",
        "register_forward_pre_hook",
        "register_full_backward_hook",
        "register_full_backward_pre_hook",
    ],
)
def test_hooks_of_every_kind_count_until_they_are_removed(register):
    layer = nn.Linear(2, 2)
    handle = getattr(layer, register)(lambda *_: None)
    assert has_hooks(layer)
    handle.remove()
    assert not has_hooks(layer)


def test_a_replaced_forward_counts_as_a_hook():
    layer = nn.Linear(2, 2)
    layer.forward = lambda x: x
    assert has_hooks(layer)


class Faster(nn.Linear):
    accelerates = nn.Linear


class Foreign(Faster):
    pass


def test_a_faster_class_follows_the_one_that_it_accelerates_and_a_subclass_nobody():
    assert [reference_class(kind) for kind in (nn.Linear, Faster, Foreign)] == [nn.Linear, nn.Linear, Foreign]
