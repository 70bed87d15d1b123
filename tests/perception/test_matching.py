"""The assignment and its loss against all assignments, with everything computed one by one."""

from __future__ import annotations

from itertools import permutations

import pytest
import torch
import torch.nn.functional as F

from einstellung.errors import InputError
from einstellung.perception.columns import GROUPS
from einstellung.perception.matching import DISTANCE, assignment, set_loss
from einstellung.perception.random_scenes import AnnotatedScenes

from .conftest import sure

SLOTS, OBJECTS, SIDE = 4, 3, 2


@pytest.fixture
def case():
    """Outputs and attention at random for three scenes of three objects, over 2 x 2 places of 2 x 2 pixels each."""
    draws = torch.Generator().manual_seed(3)
    outputs = 2 * torch.randn(3, SLOTS, 18, generator=draws).double()
    attention = torch.randn(3, SLOTS, SIDE**2, generator=draws).double().softmax(dim=1)
    codes = torch.stack([torch.randint(0, n, (3, OBJECTS), generator=draws) for n in (3, 2, 2, 8)], dim=2)
    masks = torch.tensor([[0, 1, 2, 2], [1, 1, 0, 0], [0, 3, 3, 3], [0, 0, 0, 3]], dtype=torch.uint8)
    centres = torch.rand(3, OBJECTS, 2, generator=draws).double()
    images = torch.zeros(3, 3, 4, 4, dtype=torch.uint8)
    return outputs, attention, AnnotatedScenes(images, codes, centres, torch.stack([masks, masks.T, masks.flip(0)]))


def by_hand(outputs, attention, codes, centres, masks, slots):
    """Of one scene under one assignment: what the objects and presence cost, and what the ground does."""
    present = torch.zeros(SLOTS).double()
    present[list(slots)] = 1
    cost = F.binary_cross_entropy_with_logits(outputs[:, 0], present)
    place = torch.arange(4) // 2 * SIDE  # a pixel's row or column to the number of its place
    ground = []
    for row in range(4):
        for col in range(4):
            given = attention[:, place[row] + place[col] // SIDE]
            number = int(masks[row, col])
            if number == 0:
                ground.append(-given[[slot for slot in range(SLOTS) if slot not in slots]].sum().log())
            else:
                area = int((masks == number).sum())
                cost = cost - given[slots[number - 1]].log() / area / OBJECTS
    for code, centre, slot in zip(codes, centres, slots, strict=True):
        for column, group in enumerate(GROUPS.values()):
            cost = cost + F.cross_entropy(outputs[slot, group][None], code[column][None]) / OBJECTS
        cost = cost + DISTANCE * F.l1_loss(outputs[slot, 16:].sigmoid(), centre, reduction="sum") / OBJECTS
    return cost, torch.stack(ground).mean()


def test_the_loss_of_the_cheapest_assignment(case):
    outputs, attention, scenes = case
    total = 0.0
    for row in range(3):
        known = outputs[row], attention[row], scenes.codes[row], scenes.centres[row], scenes.masks[row]
        every = [by_hand(*known, slots) for slots in permutations(range(SLOTS), OBJECTS)]
        cost, ground = min(every, key=lambda one: float(one[0]))
        total += cost + ground
    assert torch.allclose(set_loss(*case), total / 3, atol=1e-6)


def test_the_order_of_slots_does_not_matter(case):
    outputs, attention, scenes = case
    order = [3, 1, 0, 2]
    assert torch.allclose(set_loss(outputs[:, order], attention[:, order], scenes), set_loss(*case))


def test_nothing_is_lost_by_what_is_sure_and_right(case):
    """Objects of a place each, attended by a slot each, and all that is left by a slot without an object."""
    _, _, scenes = case
    masks = torch.tensor([[1, 1, 2, 2], [1, 1, 2, 2], [0, 0, 3, 3], [0, 0, 3, 3]], dtype=torch.uint8)
    scenes = AnnotatedScenes(scenes.images, scenes.codes, scenes.centres, masks.expand(3, -1, -1))
    attention = torch.zeros(SLOTS, SIDE**2).double()
    attention[[0, 1, 3, 2], [0, 1, 2, 3]] = 1.0
    right = sure(scenes.codes, scenes.centres, SLOTS)
    assert set_loss(right, attention.expand(3, -1, -1), scenes) < 1e-6
    wrong = sure(1 - scenes.codes.clamp(max=1), scenes.centres, SLOTS)
    assert set_loss(wrong, attention.expand(3, -1, -1), scenes) > 5
    elsewhere = attention.flip(1).expand(3, -1, -1)
    assert set_loss(right, elsewhere, scenes) > 5


def test_gradients_reach_every_output(case):
    outputs, attention, scenes = case
    outputs.requires_grad_()
    attention.requires_grad_()
    set_loss(outputs, attention, scenes).backward()
    assert bool((outputs.grad[:, :, 0] != 0).all())  # presence of chosen slots and of the others
    chosen = (outputs.grad[:, :, 1:] != 0).all(dim=2)
    assert chosen.sum(dim=1).tolist() == [3, 3, 3]
    assert bool((attention.grad != 0).any(dim=2).all())


def test_each_slot_is_given_once():
    costs = torch.rand(20, 4, 10, generator=torch.Generator().manual_seed(0))
    assert all(len(set(row)) == 4 for row in assignment(costs).tolist())


def test_outputs_that_are_no_numbers_are_named():
    with pytest.raises(InputError, match="lower the learning rate"):
        assignment(torch.tensor([[[float("nan"), 1.0]]]))
