"""Curvature, leverages and kernels against explicit Jacobians of a small net."""

from __future__ import annotations

import copy

import pytest
import torch
from torch.func import functional_call, jacrev

from einstellung.backbones import build_backbone
from einstellung.learners.laplace import curvature, kernels, leverages, probabilities, uncertainties
from tests.learners.conftest import SmallNet

COUNT, OUTPUTS = 9, 3


@pytest.fixture(scope="module")
def net():
    """With running statistics that differ from their start, in training mode: everybody else must leave it there."""
    torch.manual_seed(0)
    net = SmallNet(OUTPUTS)
    net(torch.randn(20, 3, 8, 8))
    with torch.no_grad():
        net.head.weight.mul_(4)  # so that it is surer of some images than of others
    return net


@pytest.fixture(scope="module")
def inputs():
    return torch.randn(COUNT, 3, 8, 8, generator=torch.Generator().manual_seed(1))


@pytest.fixture(scope="module")
def covariance(net):
    draws = torch.Generator().manual_seed(2)
    return {name: 0.1 + torch.rand(value.shape, generator=draws) for name, value in net.named_parameters()}


def explicit(net, inputs, of_logits):
    """d of_logits(f) / dtheta [N, C, parameters] in double precision, all parameters laid end to end, one image at a time."""
    net = copy.deepcopy(net).double().eval()
    weights, buffers = dict(net.named_parameters()), dict(net.named_buffers())

    def outputs(weights, image):
        return of_logits(functional_call(net, (weights, buffers), (image[None],))[0])

    jacobians = [jacrev(outputs)(weights, image.double()) for image in inputs]
    return torch.stack(
        [torch.cat([one[name].reshape(len(one[name]), -1) for name in weights], dim=1) for one in jacobians]
    ).detach()


def laid(values):
    return torch.cat([value.flatten() for value in values.values()]).double()


def hessians(net, inputs):
    """Lambda = diag(p) - p p^T of every image."""
    likely = copy.deepcopy(net).double().eval()(inputs.double()).softmax(dim=1).detach()
    return torch.diag_embed(likely) - likely.unsqueeze(2) * likely.unsqueeze(1)


def test_curvature_is_the_diagonal_of_the_gauss_newton_matrix(net, inputs):
    before = copy.deepcopy(net.state_dict())
    found = curvature(net, inputs, COUNT, OUTPUTS)
    jacobian = explicit(net, inputs, lambda logits: logits)
    by_hand = torch.einsum("ncj,ncd,ndj->j", jacobian, hessians(net, inputs), jacobian)
    assert torch.allclose(laid(found).double(), by_hand, rtol=1e-4, atol=1e-7 * float(by_hand.max()))
    assert list(found) == [name for name, _ in net.named_parameters()]
    assert net.training
    assert all(torch.equal(value, before[name]) for name, value in net.state_dict().items())
    assert all(parameter.requires_grad for parameter in net.parameters())


@pytest.mark.filterwarnings("ignore:There is a performance drop:UserWarning")  # in the explicit Jacobian, not in ours
def test_curvature_of_a_net_that_has_more_than_known_layers():
    net = build_backbone("vit", {"dim": 8, "depth": 1, "heads": 2, "patch": 4, "image": 8}, 2, seed=0)
    images = torch.randn(4, 3, 8, 8)
    found = curvature(net, images, 4, 2)
    jacobian = explicit(net, images, lambda logits: logits)
    by_hand = torch.einsum("ncj,ncd,ndj->j", jacobian, hessians(net, images), jacobian)
    assert torch.allclose(laid(found), by_hand, rtol=1e-3, atol=1e-6 * float(by_hand.max()))


def test_leverages_are_traces_of_the_whole_product(net, inputs, covariance):
    jacobian = explicit(net, inputs, lambda logits: logits)
    spread = jacobian @ torch.diag(laid(covariance)) @ jacobian.transpose(1, 2)
    by_hand = torch.einsum("ncd,ndc->n", hessians(net, inputs), spread)
    found = leverages(net, inputs, COUNT, covariance).double()
    assert torch.allclose(found, by_hand, rtol=1e-4)
    assert found.std() > 0.1 * found.mean()
    assert net.training


def test_uncertainties_are_traces_of_the_hessian(net, inputs):
    by_hand = hessians(net, inputs).diagonal(dim1=1, dim2=2).sum(dim=1)
    assert torch.allclose(uncertainties(net, inputs, COUNT).double(), by_hand, rtol=1e-4, atol=1e-6)


def test_probabilities_come_in_pieces(net, inputs, monkeypatch):
    monkeypatch.setattr("einstellung.learners.laplace._CHUNK", 4)
    whole = copy.deepcopy(net).eval()(inputs).softmax(dim=1)
    assert torch.allclose(probabilities(net, inputs, COUNT), whole, atol=1e-6)
    assert net.training


@pytest.mark.parametrize("held", [2**26, 50 * COUNT, 7 * COUNT])
def test_kernels_are_the_explicit_product_however_few_numbers_are_held(net, inputs, covariance, held):
    """A stretch may hold several parameters or a part of one: 50 numbers of weights and biases of 108, 4, 4, 4, 12 and 3."""
    jacobian = explicit(net, inputs, lambda logits: logits.softmax(dim=0)).transpose(0, 1)  # [C, N, parameters]
    by_hand = jacobian @ torch.diag(laid(covariance)) @ jacobian.transpose(1, 2)
    found = kernels(net, inputs, covariance, held=held)
    assert found.shape == (OUTPUTS, COUNT, COUNT)
    assert torch.allclose(found, by_hand, rtol=1e-4, atol=1e-6 * float(by_hand.max()))
    assert net.training
    assert all(parameter.grad is None for parameter in net.parameters())
