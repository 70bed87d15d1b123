"""The loss of the best assignment against all assignments."""

from __future__ import annotations

from itertools import permutations

import pytest
import torch
import torch.nn.functional as F

from einstellung.perception.columns import GROUPS
from einstellung.perception.matching import DISTANCE, assignment, set_loss

from .conftest import sure


@pytest.fixture
def scene():
    draws = torch.Generator().manual_seed(3)
    outputs = 2 * torch.randn(3, 4, 18, generator=draws).double()
    codes = torch.stack([torch.randint(0, n, (3, 3), generator=draws) for n in (3, 2, 2, 8)], dim=2)
    return outputs, codes, torch.rand(3, 3, 2, generator=draws).double()


def loss_under(outputs, codes, centres, slots):
    """Of one scene, slot by slot, with torch's own cross entropies."""
    present = torch.zeros(len(outputs)).double()
    present[list(slots)] = 1
    total = F.binary_cross_entropy_with_logits(outputs[:, 0], present)
    for code, centre, slot in zip(codes, centres, slots, strict=True):
        for number, group in enumerate(GROUPS.values()):
            total = total + F.cross_entropy(outputs[slot, group][None], code[number][None]) / len(codes)
        total = total + DISTANCE * F.l1_loss(outputs[slot, 16:].sigmoid(), centre, reduction="sum") / len(codes)
    return total


def test_the_least_of_all_assignments(scene):
    least = [min(loss_under(*one, slots) for slots in permutations(range(4), 3)) for one in zip(*scene, strict=True)]
    assert torch.allclose(set_loss(*scene), torch.stack(least).mean())


def test_neither_the_order_of_slots_nor_of_objects_matters(scene):
    outputs, codes, centres = scene
    loss = set_loss(outputs, codes, centres)
    assert torch.allclose(set_loss(outputs[:, [3, 1, 0, 2]], codes, centres), loss)
    assert torch.allclose(set_loss(outputs, codes[:, [2, 0, 1]], centres[:, [2, 0, 1]]), loss)


def test_nothing_is_lost_by_what_is_sure_and_right(scene):
    _, codes, centres = scene
    assert set_loss(sure(codes, centres), codes, centres) < 1e-6
    assert set_loss(sure(1 - codes.clamp(max=1), centres), codes, centres) > 5


def test_gradients_reach_every_output(scene):
    outputs, codes, centres = scene
    outputs.requires_grad_()
    set_loss(outputs, codes, centres).backward()
    assert bool((outputs.grad[:, :, 0] != 0).all())  # presence of chosen slots and of the others
    chosen = (outputs.grad[:, :, 1:] != 0).all(dim=2)
    assert chosen.sum(dim=1).tolist() == [3, 3, 3]


def test_each_slot_is_given_once():
    costs = torch.rand(20, 4, 10, generator=torch.Generator().manual_seed(0))
    assert all(len(set(row)) == 4 for row in assignment(costs).tolist())


def test_outputs_that_are_no_numbers_are_named():
    with pytest.raises(FloatingPointError, match="lower the learning rate"):
        assignment(torch.tensor([[[float("nan"), 1.0]]]))
