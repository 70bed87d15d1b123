"""Slot attention against its formulas, and what must not matter to it."""

from __future__ import annotations

from dataclasses import replace

import pytest
import torch
import torch.nn.functional as F

from einstellung.errors import InputError
from einstellung.perception.slot_attention import SlotAttention, SlotOptions, SlotPerception, as_inputs

from .conftest import TINY


def seeded(kind, options):
    torch.manual_seed(4)
    return kind(options).double()


def test_an_iteration_by_hand():
    """Algorithm 1 of Locatello et al., one slot and one place at a time, with the equations of the GRU written out."""
    attention = seeded(SlotAttention, replace(TINY, iterations=1))
    inputs, slots = torch.randn(1, 5, 8).double(), torch.randn(1, 3, 8).double()
    normed = F.layer_norm(inputs[0], (8,))
    keys, values = normed @ attention.kv.weight[:8].T, normed @ attention.kv.weight[8:].T
    queries = F.layer_norm(slots[0], (8,)) @ attention.query.weight.T
    logits = torch.stack([torch.stack([q @ k / 8**0.5 for k in keys]) for q in queries])
    won = logits.exp() / logits.exp().sum(dim=0)  # each place divides its attention among the slots
    for number in range(3):
        update = sum(won[number, place] * values[place] for place in range(5)) / won[number].sum()
        before, gru = slots[0, number], attention.gru
        new = (gru.weight_ih @ update + gru.bias_ih).view(3, 8)
        old = (gru.weight_hh @ before + gru.bias_hh).view(3, 8)
        reset, keep = torch.sigmoid(new[0] + old[0]), torch.sigmoid(new[1] + old[1])
        after = (1 - keep) * torch.tanh(new[2] + reset * old[2]) + keep * before
        hidden = F.relu(attention.mlp[0].weight @ F.layer_norm(after, (8,)) + attention.mlp[0].bias)
        expected = after + attention.mlp[2].weight @ hidden + attention.mlp[2].bias
        found, divided = attention(inputs, slots)
        assert torch.allclose(found[0, number], expected, atol=1e-6)
        assert torch.allclose(divided[0], won, atol=1e-6)


def test_slots_and_positions_are_exchangeable():
    attention = seeded(SlotAttention, TINY)
    inputs, slots = torch.randn(2, 6, 8).double(), torch.randn(2, 3, 8).double()
    found, order = attention(inputs, slots)[0], torch.tensor([2, 0, 1])
    assert torch.allclose(attention(inputs, slots[:, order])[0], found[:, order])
    assert torch.allclose(attention(inputs.flip(1), slots)[0], found)


def test_positions_are_embedded():
    """With blank maps, what enters the norm is the embedding: of 2 rows and 4 columns, row by row."""
    net = seeded(SlotPerception, TINY)
    for layer in net.encoder[::2]:
        torch.nn.init.zeros_(layer.weight)
        torch.nn.init.zeros_(layer.bias)
    seen = []
    net.norm.register_forward_pre_hook(lambda _, inputs: seen.append(inputs[0][0]))
    net(torch.zeros(1, 3, 8, 16).double())
    for row in range(2):
        for col in range(4):
            y, x = row / 1, col / 3
            expected = net.place.weight @ torch.tensor([y, x, 1 - y, 1 - x]).double() + net.place.bias
            assert torch.allclose(seen[0][4 * row + col], expected, atol=1e-6)


def test_a_picture_is_always_seen_in_the_same_way():
    net = seeded(SlotPerception, TINY)
    pictures = torch.randn(4, 3, 16, 16).double()
    torch.manual_seed(1)
    outputs, attention = net(pictures)
    torch.manual_seed(2)
    again = net(pictures[2:3])
    assert torch.allclose(again[0][0], outputs[2])
    assert torch.allclose(again[1][0], attention[2])
    assert not torch.allclose(outputs[0], outputs[1], atol=1e-3)  # and another one in another


def test_the_published_sizes():
    options = SlotOptions()
    assert (options.slots, options.iterations, options.channels, options.hidden) == (10, 3, 64, 128)
    assert [type(layer).__name__ for layer in SlotPerception(options).encoder].count("Conv2d") == 4


def test_pixels_become_numbers_around_nought():
    images = torch.tensor([146, 196, 96], dtype=torch.uint8).view(1, 3, 1, 1)
    assert as_inputs(images).flatten().tolist() == [0, 2, -2]


def test_wrong_sizes_are_named():
    with pytest.raises(InputError, match="at least 1"):
        SlotOptions(strides=(2, 0))
