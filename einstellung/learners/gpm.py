"""Gradient projection memory, GPM (Saha et al., 2021).

After phase t, for every layer with inputs x (of a convolution: the patches under its kernel), R = sum x x^T over some images
of the phase. After the first one, M is the leading eigenvectors of R, as many as hold together less than eps tr(R); eps = 1:
all. Later, with M the layer's basis so far and R' = (I - M M^T) R (I - M M^T), the leading eigenvectors of R' join M until
tr(M^T R M) >= eps_t tr(R), eps_t = eps + eps_step (t - 1). From T2 on, every update of the layer's weights becomes
dW <- dW - dW M M^T, so that its outputs on old inputs do not change.

An embedding is a linear layer on one-hot inputs x: R is diagonal and holds how often every token occurs (padding does not
count), M the unit vectors of the most frequent tokens, and the projection leaves their rows as they are. Where embeddings are
averaged, M keeps each token's row too, and with it every average.

Both counts are those of the authors' code. Their paper (eq. 5) also takes the vector that reaches eps in the first phase, one
more; without it, a layer with a single direction of more than eps of the energy is not protected.

Differs from the original in that the *applied* update is projected (after momentum and weight decay), that only R is
accumulated and never the matrix of all inputs (unless these are fewer than their size), and that what cannot be projected
(batch norm with its statistics, biases, layer norm, tokens) is fixed after the first phase; the classifier's head learns freely.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import torch
from torch import Tensor, nn
from torch.nn.modules.batchnorm import _BatchNorm

from einstellung.errors import InputError
from einstellung.learners.gradient_projection import Layer, Projection, RowProjection, Table, projection_of
from einstellung.learners.learner import Learner, learners, option
from einstellung.learners.planning import Workload
from einstellung.learners.unfolding import patches
from einstellung.randomness import generator
from einstellung.streams.stream import Phase

_WIDE = 500  # layers with more inputs than this are measured in single precision, in half of the time
_MEMORY = 400 * 2**20  # bytes of covariances held at a time
_VALUES = 2**23  # numbers of unfolded patches held at a time
_BLOCK = 256  # rows of a covariance that are computed at a time, its upper triangle only
_ROUNDING = {torch.float64: 1e-12, torch.float32: 1e-5}  # share of the energy that may get lost in it


@dataclass(frozen=True)
class GPMOptions:
    eps: float = option(
        0.97, "Saha et al. (2021), CIFAR-100: bound on the share of the energy kept after the first phase"
    )
    eps_step: float = option(0.003, "Saha et al. (2021), CIFAR-100: increase of eps per phase")
    samples: int = option(512, "the ERI experiment: images per phase that inputs are measured on (the authors use 125)")

    def __post_init__(self) -> None:
        if not 0 < self.eps <= 1:
            raise InputError(f"learners.gpm.eps is {self.eps}: it must be above 0 and at most 1")
        if not self.eps_step >= 0:
            raise InputError(f"learners.gpm.eps_step is {self.eps_step}: it must be at least 0")
        if self.samples < 1:
            raise InputError(f"learners.gpm.samples is {self.samples}: it must be at least 1")


@dataclass(frozen=True)
class GPMWorkload(Workload):
    """Projections after every step, covariances and their eigenvectors at the end of a phase."""

    def cost(self, options: GPMOptions, sizes: Sequence[int], number: int) -> float:
        return 1.0 if number == 0 else 1.1  # the projections, less the batch norm that is frozen

    def closing_cost(self, options: GPMOptions, size: int) -> float:
        return 5.0 * min(options.samples, size)


@learners.register("gpm")
class GradientProjectionMemory(Learner):
    """Fine-tuning that leaves every layer's outputs on past inputs unchanged."""

    Options: ClassVar[type] = GPMOptions
    workload: ClassVar[Workload] = GPMWorkload()

    @classmethod
    def shares_first_phase(cls, options: Any) -> bool:
        return True

    def __init__(self, *args: Any) -> None:
        super().__init__(*args)
        self.head = head_of(self.net, self.context.presentation.stream.n_outputs)
        self.layers = projectable_layers(self.net, self.head)
        self.bases: dict[str, Tensor] = {}
        self._projections: list[Projection | RowProjection] = []

    def begin_phase(self, phase: Phase) -> None:
        if self.bases:
            learned = {f"{name}.weight" for name in self.bases} | {f"{self.head}.weight", f"{self.head}.bias"}
            for name, parameter in self.net.named_parameters():
                parameter.requires_grad_(name in learned)  # the optimiser skips parameters without a gradient
        self._projections = [projection_of(self.layers[name], basis) for name, basis in self.bases.items()]
        super().begin_phase(phase)

    def training_mode(self) -> None:
        super().training_mode()
        if self.bases:
            for module in self.net.modules():
                if isinstance(module, _BatchNorm):
                    module.eval()

    def step(self, loss: Tensor) -> Tensor:
        """Remove an update's component in the span of the bases."""
        for projection in self._projections:
            projection.keep()
        loss = super().step(loss)
        for projection in self._projections:
            projection.apply()
        return loss

    def end_phase(self, phase: Phase) -> None:
        share = min(1.0, self.options.eps + self.options.eps_step * len(self.context.earlier(phase)))
        order = torch.randperm(len(phase.train), generator=generator(self.context.seed, "gpm", phase.name))
        inputs = self.context.presentation.unaugmented(phase.train.take(order[: self.options.samples]))
        bases = {}
        for group in _groups(self.layers):
            self.context.report_progress(f"bases of layers, {len(bases)} of {len(self.layers)} done")
            measured = measured_inputs(self.net, group, inputs)
            for name in list(measured):
                layer, known, found = group[name], self.bases.get(name), measured.pop(name)
                if isinstance(layer, Table):
                    bases[name] = grown_rows(found, known, share)
                    continue
                grown = grown_basis if found.shape[0] == found.shape[1] else grown_basis_of_few
                bases[name] = grown(found, known, share).to(layer.weight).contiguous()
        self.bases = bases

    def state_dict(self) -> dict[str, Any]:
        return {"bases": dict(self.bases)}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        self.bases = {name: basis.to(self.context.device) for name, basis in state["bases"].items()}


def head_of(net: nn.Module, n_outputs: int) -> str:
    """The name of the classifier's head: the last linear layer with one output per class.

    >>> head_of(nn.Sequential(nn.Linear(2, 5), nn.ReLU(), nn.Linear(5, 5)), 5)
    '2'
    """
    names = [
        name
        for name, module in net.named_modules()
        if isinstance(module, nn.Linear) and module.out_features == n_outputs
    ]
    if not names:
        raise InputError(
            f"learners.gpm needs a net whose head is a linear layer; this one has none of {n_outputs} outputs"
        )
    return names[-1]


def projectable_layers(net: nn.Module, head: str) -> dict[str, Layer]:
    """Linear layers, ungrouped convolutions and embeddings by name, without the head."""
    found: dict[str, Layer] = {}
    for name, module in net.named_modules():
        if name == head or not isinstance(module, Layer):
            continue
        if isinstance(module, Table) and module.max_norm is not None:
            raise InputError(f"learners.gpm cannot keep the embedding '{name}': its max_norm changes it in every pass")
        if not isinstance(module, nn.Conv2d | nn.Conv1d) or module.groups == 1:
            found[name] = module
    return found


def _groups(layers: Mapping[str, Layer]) -> Iterator[dict[str, Layer]]:
    """The layers in groups whose covariances fit into memory together; each group costs one pass over the images."""
    group: dict[str, Layer] = {}
    held = 0
    for name, layer in layers.items():
        size = 8 * (len(layer.weight) if isinstance(layer, Table) else layer.weight[0].numel() ** 2)
        if group and held + size > _MEMORY:
            yield group
            group, held = {}, 0
        group[name] = layer
        held += size
    if group:
        yield group


@torch.no_grad()
def measured_inputs(net: nn.Module, layers: Mapping[str, Layer], inputs: Tensor, chunk: int = 32) -> dict[str, Tensor]:
    """Of each layer R = sum x x^T over all of its inputs x, in evaluation mode; a layer that is never called is left out.

    Where inputs are fewer than their size, they themselves [size, n]. Of an embedding, the diagonal of R.
    """
    counts: dict[str, Tensor] = {}
    covariances: dict[str, Tensor] = {}
    few: dict[str, list[Tensor]] = {}

    def watch(name: str, layer: Layer) -> torch.utils.hooks.RemovableHandle:
        def add(_: nn.Module, arguments: tuple[Tensor, ...]) -> None:
            if isinstance(layer, Table):
                seen = token_counts(layer, arguments[0])
                counts[name] = counts[name] + seen if name in counts else seen
                return
            for columns in input_columns(layer, arguments[0]):
                if name not in covariances:
                    held = few.setdefault(name, [])
                    held.append(columns)
                    if sum(some.shape[1] for some in held) < len(columns):
                        continue
                    covariances[name] = columns.new_zeros(len(columns), len(columns), dtype=torch.float64)
                    for some in few.pop(name):
                        _add_upper_triangle(covariances[name], some)
                    continue
                _add_upper_triangle(covariances[name], columns)

        return layer.register_forward_pre_hook(add)

    was_training = net.training
    net.eval()
    handles = [watch(name, layer) for name, layer in layers.items()]
    try:
        for part in inputs.split(chunk):
            net(part)
    finally:
        for handle in handles:
            handle.remove()
        net.train(was_training)
    for covariance in covariances.values():
        covariance.copy_(covariance.triu() + covariance.triu(1).T)
    return covariances | {name: torch.cat(held, dim=1) for name, held in few.items()} | counts


def token_counts(layer: Table, tokens: Tensor) -> Tensor:
    """How often every token of an embedding occurs, padding not at all.

    >>> token_counts(nn.Embedding(4, 2, padding_idx=0), torch.tensor([[3, 1, 3, 0, 0]]))
    tensor([0., 1., 0., 2.], dtype=torch.float64)
    """
    counts = torch.bincount(tokens.flatten(), minlength=len(layer.weight)).double()
    if layer.padding_idx is not None:
        counts[layer.padding_idx] = 0
    return counts


def grown_rows(counts: Tensor, rows: Tensor | None, share: float) -> Tensor:
    """``rows`` and as many of the most frequent tokens as reach ``share`` of all: :func:`grown_basis` of a diagonal R.

    >>> first = grown_rows(torch.tensor([1.0, 6.0, 3.0]).double(), None, 0.9)
    >>> first, grown_rows(torch.tensor([1.0, 6.0, 3.0]).double(), first, 0.9)
    (tensor([1]), tensor([1, 2]))
    """
    known = torch.zeros(0, dtype=torch.long, device=counts.device) if rows is None else rows
    goal = (share - _ROUNDING[torch.float64]) * counts.sum()
    covered = counts[known].sum()
    if covered >= goal:
        return known
    values, order = counts.index_fill(0, known, 0).sort(descending=True, stable=True)
    reached = covered + values.cumsum(0)
    count = min(_added(reached, goal, rows is None and share < 1), int((values > 0).sum()))
    return torch.cat((known, order[:count]))


def input_columns(layer: nn.Conv2d | nn.Conv1d | nn.Linear, inputs: Tensor) -> Iterator[Tensor]:
    """What multiplies the rows of the layer's weight matrix, a limited number of columns [inputs, n] at a time."""
    if inputs.device.type == "mps":
        inputs = inputs.cpu()  # that device has neither double precision nor eigenvectors
    size = layer.weight[0].numel()
    precision = _precision(size)
    if isinstance(layer, nn.Linear):
        for rows in inputs.reshape(-1, size).split(max(1, _VALUES // size)):
            yield rows.to(precision).T
        return
    for images in inputs.split(max(1, _VALUES // (size * inputs[0, 0].numel()))):
        yield patches(layer, images.contiguous()).to(precision, memory_format=torch.contiguous_format).reshape(size, -1)


def _add_upper_triangle(total: Tensor, columns: Tensor) -> None:
    for start in range(0, len(columns), _BLOCK):
        total[start : start + _BLOCK, start:] += columns[start : start + _BLOCK] @ columns[start:].T


def grown_basis(covariance: Tensor, basis: Tensor | None, share: float) -> Tensor:
    """``basis`` and as many leading eigenvectors of what it leaves of the covariance as reach ``share`` of the energy.

    Without a basis, as many as stay below ``share``: the authors count the first phase in that way.

    >>> covariance = torch.diag(torch.tensor([1.0, 6.0, 3.0], dtype=torch.float64))
    >>> first = grown_basis(covariance, None, 0.9)
    >>> first.abs().T
    tensor([[0., 1., 0.]], dtype=torch.float64)
    >>> grown_basis(covariance, first, 0.9).abs().T
    tensor([[0., 1., 0.],
            [0., 0., 1.]], dtype=torch.float64)
    """
    size, precision = len(covariance), _precision(len(covariance))
    known = covariance.new_zeros(size, 0) if basis is None else basis.to(covariance)
    total = covariance.trace()
    rest = covariance - (covariance @ known) @ known.T
    rest = rest - known @ (known.T @ rest)
    covered = total - rest.trace()
    goal = (share - _ROUNDING[precision]) * total
    if covered >= goal:
        return known
    values, vectors = torch.linalg.eigh(rest.to(precision))
    reached = covered + values.flip(0).to(total.dtype).clamp(min=0).cumsum(0)
    count = min(_added(reached, goal, basis is None and share < 1), size - known.shape[1])
    fresh = vectors.flip(1)[:, :count].to(covariance)
    return torch.linalg.qr(torch.cat((known, fresh), dim=1)).Q


def grown_basis_of_few(columns: Tensor, basis: Tensor | None, share: float) -> Tensor:
    """The same from fewer inputs [size, n] than their size: the eigenvectors of X X^T are X v / |X v| with those v of X^T X.

    >>> columns = torch.tensor([[1.0, 0.0], [0.0, 3.0], [0.0, 0.0]])
    >>> grown_basis_of_few(columns, None, 0.95).abs().T
    tensor([[0., 1., 0.]])
    """
    known = columns.new_zeros(len(columns), 0) if basis is None else basis.to(columns)
    total = columns.double().square().sum()
    rest = columns
    for _ in range(2):  # twice, against rounding errors
        rest = rest - known @ (known.T @ rest)
    covered = total - rest.double().square().sum()
    goal = (share - _ROUNDING[columns.dtype]) * total
    if covered >= goal:
        return known
    values, vectors = torch.linalg.eigh((rest.T @ rest).double())
    reached = covered + values.flip(0).clamp(min=0).cumsum(0)
    rank = int((values > _ROUNDING[torch.float64] * values[-1]).sum())
    count = min(_added(reached, goal, basis is None and share < 1), rank, len(columns) - known.shape[1])
    fresh = rest @ vectors.flip(1)[:, :count].to(rest)
    return torch.linalg.qr(torch.cat((known, fresh / fresh.norm(dim=0)), dim=1)).Q


def _added(reached: Tensor, goal: Tensor, stay_below: bool) -> int:
    """How many vectors to add, by the energy that they reach together: up to the goal, or with the one that reaches it."""
    return int((reached < goal).sum()) + (0 if stay_below else 1)


def _precision(size: int) -> torch.dtype:
    return torch.float64 if size <= _WIDE else torch.float32
