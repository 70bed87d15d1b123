"""Updates of a layer's weights without their component in the span of a basis of inputs."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor, nn

Table = nn.Embedding | nn.EmbeddingBag
Layer = nn.Conv2d | nn.Conv1d | nn.Linear | Table


@dataclass(frozen=True)
class Projection:
    """A layer's weights [outputs, inputs] in memory order, the basis in the same order of inputs, and a buffer for a copy."""

    weights: Tensor
    basis: Tensor
    before: Tensor

    @staticmethod
    def of(weight: nn.Parameter, basis: Tensor) -> Projection:
        weights = weight.detach()
        if weights.dim() == 4 and not weights.is_contiguous():  # channels last: a matrix without copying
            sides = weights.shape[1:]
            weights = weights.permute(0, 2, 3, 1)
            basis = basis.view(*sides, basis.shape[1]).permute(1, 2, 0, 3).reshape(basis.shape)
        matrix = weights.view(len(weights), -1)
        return Projection(matrix, basis, torch.empty_like(matrix))

    def keep(self) -> None:
        """Remember the weights before an update."""
        self.before.copy_(self.weights)

    def apply(self) -> None:
        """dW <- dW - dW M M^T for the update since then."""
        update = torch.sub(self.weights, self.before, out=self.before)
        self.weights.addmm_(update @ self.basis, self.basis.T, alpha=-1)


@dataclass(frozen=True)
class RowProjection:
    """The rows of an embedding that stay as they are, and a copy of them."""

    weights: Tensor
    rows: Tensor
    before: Tensor

    def keep(self) -> None:
        """Remember the rows before an update."""
        torch.index_select(self.weights, 0, self.rows, out=self.before)

    def apply(self) -> None:
        """Restore them."""
        self.weights.index_copy_(0, self.rows, self.before)


def projection_of(layer: Layer, basis: Tensor) -> Projection | RowProjection:
    """How updates of a layer's weights are projected."""
    if isinstance(layer, Table):
        weights = layer.weight.detach()
        return RowProjection(weights, basis, weights[basis])
    return Projection.of(layer.weight, basis)
