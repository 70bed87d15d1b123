"""Laplace's approximation around a trained net, with a diagonal covariance: curvature, leverages and kernels of functions.

With logits f, p = softmax(f), J = df / dtheta and Lambda = diag(p) - p p^T, the Hessian of the cross entropy of f, the curvature
is the diagonal of the generalised Gauss-Newton matrix, sum_i J_i^T Lambda_i J_i = sum_i sum_c p_ic (d log p_ic / dtheta)^2, and
the covariance is Sigma = 1 / (curvature + prior precision). Everything is computed in evaluation mode, where no image's outputs
depend on another image.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager, nullcontext
from typing import Any

import torch
from torch import Tensor, nn

from einstellung.learners.fisher import Shown, fisher_per_sample

_CHUNK = 256  # images whose probabilities are computed at a time
_HELD = 2**26  # numbers of a Jacobian held at a time: 256 MB
_COLUMNS = 2**16  # of a Jacobian, whose products are added up in double precision at a time


def curvature(
    net: nn.Module,
    inputs: Tensor | Shown,
    count: int,
    n_outputs: int,
    autocast: Callable[[], AbstractContextManager[Any]] = nullcontext,
) -> dict[str, Tensor]:
    """The diagonal of sum_i J_i^T Lambda_i J_i over ``count`` inputs, by the name of the parameter.

    >>> net = nn.Linear(2, 2, bias=False)
    >>> _ = nn.init.zeros_(net.weight)  # p = 1/2: Lambda is 1/4 on its diagonal, and an image's derivatives are x
    >>> curvature(net, torch.tensor([[2.0, 0.0], [0.0, 4.0]]), count=2, n_outputs=2)["weight"].round(decimals=3)
    tensor([[1., 4.],
            [1., 4.]])
    """
    total: dict[str, Tensor] = {}
    device = next(net.parameters()).device
    for output in range(n_outputs):
        weighted = _ByProbability(net, output)
        labels = torch.full((count,), output, device=device)
        found = fisher_per_sample(weighted, inputs, labels, autocast=autocast)
        for name, _ in net.named_parameters():
            part = count * found[f"net.{name}"]
            total[name] = total[name] + part if name in total else part
    return total


class _ByProbability(nn.Module):
    """Another net, with its derivatives scaled by the square root of the probability of one output."""

    def __init__(self, net: nn.Module, output: int) -> None:
        super().__init__()
        self.net = net
        self.output = output

    def forward(self, images: Tensor) -> Tensor:
        logits: Tensor = self.net(images).float()
        root = logits.detach().softmax(dim=1)[:, self.output : self.output + 1].sqrt()
        return logits * root + logits.detach() * (1 - root)


@torch.no_grad()
def probabilities(net: nn.Module, inputs: Tensor | Shown, count: int) -> Tensor:
    """p of ``count`` inputs [N, C], in single precision."""
    with _evaluating(net):
        starts = range(0, count, _CHUNK)
        return torch.cat([net(inputs[start : start + _CHUNK]).float().softmax(dim=1) for start in starts])


def uncertainties(net: nn.Module, inputs: Tensor | Shown, count: int) -> Tensor:
    """tr Lambda_i = sum_c p_ic (1 - p_ic) of ``count`` inputs.

    >>> net = nn.Linear(2, 2, bias=False)
    >>> _ = nn.init.zeros_(net.weight)
    >>> uncertainties(net, torch.ones(1, 2), count=1)
    tensor([0.5000])
    """
    likely = probabilities(net, inputs, count)
    return (likely * (1 - likely)).sum(dim=1)


def leverages(net: nn.Module, inputs: Tensor | Shown, count: int, covariance: Mapping[str, Tensor]) -> Tensor:
    """tr(Lambda_i J_i Sigma J_i^T) = sum_c p_ic sum_j Sigma_j (d log p_ic / dtheta_j)^2, one input at a time.

    >>> net = nn.Linear(2, 2, bias=False)
    >>> _ = nn.init.zeros_(net.weight)
    >>> leverages(net, torch.tensor([[2.0, 0.0]]), 1, {"weight": torch.full((2, 2), 3.0)})  # 2 x Lambda 1/4 x x^2 4 x Sigma 3
    tensor([6.])
    """
    names, parameters = zip(*net.named_parameters(), strict=True)
    found = []
    with _evaluating(net), torch.enable_grad():
        for row in range(count):
            logs = net(inputs[row : row + 1]).float().log_softmax(dim=1)[0]
            parts = []
            for log in logs:
                gradients = torch.autograd.grad(log, parameters, retain_graph=True)
                squares = [
                    (covariance[name] * gradient.square()).sum()
                    for name, gradient in zip(names, gradients, strict=True)
                ]
                parts.append(log.detach().exp() * torch.stack(squares).sum())
            found.append(torch.stack(parts).sum())
    return torch.stack(found)


def kernels(net: nn.Module, inputs: Tensor, covariance: Mapping[str, Tensor], held: int = _HELD) -> Tensor:
    """K_c = J_c Sigma J_c^T [C, N, N] of each output's probability at N inputs, J_c = dp_c / dtheta; on the CPU, in double.

    The Jacobian is computed for a slice of the parameters at a time, as large as ``held`` numbers allow.

    >>> net = nn.Linear(2, 2, bias=False)
    >>> _ = nn.init.zeros_(net.weight)  # dp_c is 1/4 x for the own row of the weight, -1/4 x for the other
    >>> kernels(net, torch.tensor([[2.0, 0.0], [2.0, 4.0]]), {"weight": torch.full((2, 2), 4.0)})[0]
    tensor([[ 2.,  2.],
            [ 2., 10.]], dtype=torch.float64)
    """
    names, parameters = zip(*net.named_parameters(), strict=True)
    roots = torch.cat([covariance[name].flatten() for name in names]).cpu().double().sqrt()
    width = max(1, held // len(inputs))
    with _evaluating(net), torch.enable_grad():
        n_outputs = net(inputs[:1]).shape[1]
        total = torch.zeros(n_outputs, len(inputs), len(inputs), dtype=torch.float64)
        for start in range(0, len(roots), width):
            stop = min(start + width, len(roots))
            for output in range(n_outputs):
                jacobian = _jacobian(net, inputs, output, parameters, start, stop)
                for columns, scale in zip(
                    jacobian.split(_COLUMNS, dim=1), roots[start:stop].split(_COLUMNS), strict=True
                ):
                    scaled = columns.double() * scale
                    total[output] += scaled @ scaled.T
    return total


def _jacobian(
    net: nn.Module, inputs: Tensor, output: int, parameters: tuple[nn.Parameter, ...], start: int, stop: int
) -> Tensor:
    """dp / dtheta of one output [N, stop - start], for a slice of all parameters, concatenated."""
    touched: list[nn.Parameter] = []
    before = end = 0
    for parameter in parameters:
        begin, end = end, end + parameter.numel()
        if begin < stop and end > start:
            before = before if touched else begin
            touched.append(parameter)
    jacobian = torch.empty(len(inputs), stop - start)
    for row in range(len(inputs)):
        likely = net(inputs[row : row + 1]).float().softmax(dim=1)[0, output]
        gradients = torch.autograd.grad(likely, touched)
        jacobian[row] = torch.cat([gradient.flatten() for gradient in gradients])[start - before : stop - before]
    return jacobian


@contextmanager
def _evaluating(net: nn.Module) -> Iterator[None]:
    was_training = net.training
    net.eval()
    try:
        yield
    finally:
        net.train(was_training)
