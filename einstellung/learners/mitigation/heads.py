"""Several last layers in place of one: one per domain, or one per shift and a classifier of the shift."""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from einstellung.learners.last_layer import LastLayers


class DomainHeads(LastLayers):
    """The mean of the logits of the layers that are known; of all, which are equal then, while none is.

    >>> heads = DomainHeads(nn.Linear(2, 3), 4)
    >>> heads.know([0, 2])
    >>> heads(torch.ones(5, 2)).shape, heads.each(torch.ones(5, 2)).shape
    (torch.Size([5, 3]), torch.Size([5, 4, 3]))
    """

    def as_one(self) -> tuple[Tensor, Tensor]:
        part = (self.known | ~self.known.any()).to(self.weight.dtype)
        share = part / part.sum()
        return torch.tensordot(share, self.weight, dims=1), share @ self.bias

    def combined(self, features: Tensor) -> Tensor:
        return F.linear(features, *self.as_one())


class Ensemble(LastLayers):
    """sum_d softmax(D(z))_d h_d(z), over the shifts d that are known; the first one, no shift at all, always is.

    No gradient of D reaches the features. It starts with zeros, so that all known shifts are
    equally likely. A shift that becomes known begins with the layer of the first.

    >>> heads = Ensemble(nn.Linear(2, 3), 4)
    >>> heads.know([2])
    >>> logits, shifts = heads.parts(torch.ones(1, 2))
    >>> shifts.softmax(dim=1)
    tensor([[0.5000, 0.0000, 0.5000, 0.0000]], grad_fn=<SoftmaxBackward0>)
    """

    def __init__(self, layer: nn.Linear | LastLayers, count: int) -> None:
        super().__init__(layer, count)
        self.shift_weight = nn.Parameter(self.weight.new_zeros(count, self.weight.shape[2]))
        self.shift_bias = nn.Parameter(self.weight.new_zeros(count))
        self.known[0] = True

    def as_one(self) -> tuple[Tensor, Tensor]:
        return self.weight[0], self.bias[0]

    def parts(self, features: Tensor) -> tuple[Tensor, Tensor]:
        """The logits of every layer [N, shifts, outputs], and those of the shifts [N, shifts]: -inf where one is not known."""
        shifts = F.linear(features.detach(), self.shift_weight, self.shift_bias).float()
        return self.each(features), shifts.masked_fill(~self.known, -torch.inf)

    def combined(self, features: Tensor) -> Tensor:
        logits, shifts = self.parts(features)
        return (shifts.softmax(dim=1).unsqueeze(2) * logits).sum(dim=1)
