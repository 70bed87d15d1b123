"""Several last layers: their mean, their mixture, and who takes part."""

from __future__ import annotations

import torch
from torch import nn

from einstellung.learners.mitigation.heads import DomainHeads, Ensemble


def filled(heads, seed=0):
    draws = torch.Generator().manual_seed(seed)
    with torch.no_grad():
        for parameter in heads.parameters():
            parameter.copy_(torch.randn(parameter.shape, generator=draws))
    return heads


def test_the_mean_is_of_the_known_heads_alone():
    heads, z = filled(DomainHeads(nn.Linear(3, 2), 4)), torch.randn(5, 3)
    each = torch.stack([z @ heads.weight[d].T + heads.bias[d] for d in range(4)], dim=1)
    torch.testing.assert_close(heads.each(z), each)
    heads.known[:] = torch.tensor([True, False, False, True])
    torch.testing.assert_close(heads(z), (each[:, 0] + each[:, 3]) / 2)
    heads.known[:] = False
    torch.testing.assert_close(heads(z), each.mean(dim=1))


def test_a_new_domain_does_not_change_what_the_net_says():
    heads, z = filled(DomainHeads(nn.Linear(3, 2), 4)), torch.randn(5, 3)
    heads.known[1] = heads.known[2] = True
    before, kept = heads(z), heads.weight[1:3].clone()
    heads.know([1, 3])
    assert heads.known.tolist() == [False, True, True, True]
    torch.testing.assert_close(heads(z), before)
    assert torch.equal(heads.weight[1:3], kept)  # who was known already goes on as it is


def test_the_mixture_by_hand():
    """Two of three shifts known: softmax over their two logits, the third head counts for nothing."""
    heads, z = filled(Ensemble(nn.Linear(3, 2), 3)), torch.randn(5, 3)
    heads.known[2] = True
    shift_logits = z @ heads.shift_weight.T + heads.shift_bias
    likely = (shift_logits[:, [0, 2]].exp() / shift_logits[:, [0, 2]].exp().sum(dim=1, keepdim=True)).unsqueeze(2)
    first, third = (z @ heads.weight[d].T + heads.bias[d] for d in (0, 2))
    for mode in (True, False):
        torch.testing.assert_close(heads.train(mode)(z), likely[:, 0] * first + likely[:, 1] * third)
    with torch.no_grad():
        heads.weight[1] = 1e6
    torch.testing.assert_close(heads(z), likely[:, 0] * first + likely[:, 1] * third)


def test_the_mixture_gives_the_features_no_gradient_from_the_shift():
    heads, z = filled(Ensemble(nn.Linear(3, 2), 2)), torch.randn(5, 3, requires_grad=True)
    heads.known[1] = True
    _, shift_logits = heads.parts(z)
    assert torch.autograd.grad(shift_logits.sum(), z, allow_unused=True) == (None,)
    weights = heads.parts(z)[1].softmax(dim=1).detach()
    (gradient,) = torch.autograd.grad(heads(z).sum(), z)
    by_hand = (weights.unsqueeze(2) * heads.weight.sum(dim=1)).sum(dim=1)  # the mixture's weights held fixed
    torch.testing.assert_close(gradient, by_hand)


def test_a_new_shift_begins_with_the_identity_and_changes_nothing_where_it_is_the_first():
    heads, z = filled(Ensemble(nn.Linear(3, 2), 3)), torch.randn(5, 3)
    before = heads(z)
    torch.testing.assert_close(before, z @ heads.weight[0].T + heads.bias[0])
    heads.know([2])
    assert torch.equal(heads.weight[2], heads.weight[0])
    assert torch.equal(heads.bias[2], heads.bias[0])
    assert not torch.equal(heads.weight[1], heads.weight[0])
    torch.testing.assert_close(heads(z), before)


def test_one_ensemble_in_the_place_of_another_begins_with_what_stands_for_it():
    domains = filled(DomainHeads(nn.Linear(3, 2), 4))
    domains.know([0, 1])
    z = torch.randn(5, 3)
    torch.testing.assert_close(Ensemble(domains, 2)(z), domains(z))
    shifts = filled(Ensemble(nn.Linear(3, 2), 3))
    torch.testing.assert_close(DomainHeads(shifts, 2)(z), z @ shifts.weight[0].T + shifts.bias[0])
