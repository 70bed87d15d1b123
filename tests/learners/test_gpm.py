"""GPM: the bases against whole matrices and hand-worked ones, and updates without their part inside them."""

from __future__ import annotations

import copy
import dataclasses

import numpy as np
import pytest
import torch
import torch.nn.functional as F
from torch import nn

from einstellung.backbones import ResNet18, VisionTransformer
from einstellung.errors import InputError
from einstellung.learners import gpm, make_learner
from einstellung.learners.gpm import (
    GPMOptions,
    grown_basis,
    grown_basis_of_few,
    head_of,
    input_columns,
    measured_inputs,
    projectable_layers,
)
from einstellung.training.checkpoint import load_state, save_state


class LinearNet(nn.Module):
    """Two linear maps without bias and a head, in double precision."""

    def __init__(self, pixels: int, n_outputs: int) -> None:
        super().__init__()
        self.first = nn.Linear(pixels, 7, bias=False)
        self.second = nn.Linear(7, 5, bias=False)
        self.head = nn.Linear(5, n_outputs)
        self.double()

    def features(self, x: torch.Tensor) -> torch.Tensor:
        return self.second(self.first(x.double().flatten(1)))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.head(self.features(x))


def on_net(make, net, name="gpm", optimiser=None, **options):
    """A learner of another net, and with another optimiser where one is given."""
    context = make("sgd").context
    settings = optimiser or {"lr": 0.1}
    context = dataclasses.replace(context, make_optimiser=lambda parameters: torch.optim.SGD(parameters, **settings))
    return make_learner(name, options, net, context)


def linear_net(stream):
    torch.manual_seed(0)
    return LinearNet(3 * 12 * 12, stream.n_outputs)


def begin(learner, phase):
    learner.begin_phase(phase)
    learner.training_mode()
    learner.begin_epoch(phase, 1)


def second_phase(make, batch_of, stream, **more):
    """A small net with batch norm in its second phase."""
    learner = make("gpm", **more)
    begin(learner, stream.phases[0])
    learner.observe(batch_of(stream.phases[0]))
    learner.end_phase(stream.phases[0])
    begin(learner, stream.phases[1])
    return learner


def projector(basis):
    return basis @ basis.T


def test_old_inputs_keep_their_activations(make, batch_of, stream):
    """Momentum and weight decay included; without the projection they move."""
    moved = {}
    t1, t2 = stream.phases
    for name in ("gpm", "sgd"):
        options = {"eps": 1.0, "samples": 10_000} if name == "gpm" else {}
        optimiser = {"lr": 0.02, "momentum": 0.9, "weight_decay": 0.01}
        learner = on_net(make, linear_net(stream), name, optimiser, **options)
        inputs = learner.context.presentation.unaugmented(t1.train)
        begin(learner, t1)
        learner.observe(batch_of(t1))
        learner.end_phase(t1)
        fresh = learner.context.presentation.unaugmented(t2.train)
        old, new = learner.net.features(inputs).detach(), learner.net.features(fresh).detach()
        begin(learner, t2)
        for start in (0, 8, 16):
            learner.observe(batch_of(t2, range(start, start + 8)))
        with torch.no_grad():
            moved[name] = float((learner.net.features(inputs) - old).norm() / old.norm())
            learned = float((learner.net.features(fresh) - new).norm() / new.norm())
        assert learned > 1e-2
    assert moved["gpm"] < 1e-5
    assert moved["sgd"] > 1e-2


@pytest.mark.parametrize("inside", [True, False])
def test_an_update_inside_the_span_vanishes_and_one_outside_is_untouched(make, stream, inside):
    learner = on_net(make, linear_net(stream))
    basis = torch.linalg.qr(torch.randn(7, 3, dtype=torch.float64)).Q
    learner.bases = {"second": basis}
    begin(learner, stream.phases[1])
    weight = learner.net.second.weight
    before = weight.detach().clone()
    gradient = torch.randn(5, 7, dtype=torch.float64)
    gradient = gradient @ projector(basis) if inside else gradient - gradient @ projector(basis)
    learner.step((weight * gradient).sum())
    expected = before if inside else before - 0.1 * gradient
    assert torch.allclose(weight, expected, rtol=0, atol=1e-14)


def test_weights_inside_the_span_neither_decay_nor_coast(make, stream):
    """A gradient of zero: weight decay alone, then the momentum of an earlier gradient alone."""
    learner = on_net(make, linear_net(stream), optimiser={"lr": 0.1, "momentum": 0.9, "weight_decay": 0.5})
    basis = torch.linalg.qr(torch.randn(7, 3, dtype=torch.float64)).Q
    learner.bases = {"second": basis}
    begin(learner, stream.phases[1])
    weight = learner.net.second.weight
    before = weight.detach().clone()
    learner.step(0 * weight.sum())
    outside = torch.eye(7, dtype=torch.float64) - projector(basis)
    assert torch.allclose(weight, before - 0.1 * 0.5 * before @ outside, atol=1e-14)
    for _ in range(3):
        learner.step(0 * weight.sum())
    assert torch.allclose(weight @ basis, before @ basis, atol=1e-14)
    assert not torch.allclose(weight @ outside, before @ outside, atol=1e-2)


def test_the_layout_of_memory_changes_nothing(make, batch_of, stream):
    """With channels last, weights and bases are multiplied in another order of inputs."""
    nets = []
    for layout in (torch.contiguous_format, torch.channels_last):
        torch.manual_seed(0)
        net = ResNet18(stream.n_outputs, width=8).to(memory_format=layout)
        learner = on_net(make, net, optimiser={"lr": 0.1, "momentum": 0.9, "weight_decay": 0.1}, eps=0.8)
        learner.end_phase(stream.phases[0])
        begin(learner, stream.phases[1])
        for rows in (range(8), range(8, 16)):
            learner.observe(batch_of(stream.phases[1], rows))
        nets.append(learner.net)
    assert not nets[1].blocks[0].conv1.weight.is_contiguous()
    for (name, one), other in zip(nets[0].named_parameters(), nets[1].parameters(), strict=True):
        assert torch.allclose(one, other, rtol=1e-3, atol=1e-4), name


def test_the_second_phase_by_hand(make, batch_of, stream):
    """sgd's own step on a net whose batch norm stands still, less the part inside the span; biases and norms stay."""
    learner = second_phase(make, batch_of, stream)
    twin = copy.deepcopy(learner.net)
    twin.train()
    twin.bn.eval()
    batch = batch_of(stream.phases[1])
    loss = F.cross_entropy(twin(batch.inputs), batch.labels)
    gradients = dict(
        zip(
            ("conv", "head", "bias"),
            torch.autograd.grad(loss, [twin.conv.weight, twin.head.weight, twin.head.bias]),
            strict=True,
        )
    )
    ours = learner.observe(batch)
    assert torch.allclose(ours, loss.detach())
    basis = learner.bases["conv"]
    update = -0.1 * gradients["conv"].flatten(1)
    inside = update @ projector(basis)
    assert float(inside.norm()) > 0.1 * float(update.norm())
    changed = (learner.net.conv.weight - twin.conv.weight).flatten(1)
    assert torch.allclose(changed, update - inside, atol=1e-6)
    assert torch.allclose(learner.net.head.weight, twin.head.weight - 0.1 * gradients["head"], atol=1e-7)
    assert torch.allclose(learner.net.head.bias, twin.head.bias - 0.1 * gradients["bias"], atol=1e-7)
    fixed = ("conv.bias", "bn.weight", "bn.bias", "bn.running_mean", "bn.running_var", "bn.num_batches_tracked")
    for name in fixed:
        assert torch.equal(learner.net.state_dict()[name], twin.state_dict()[name]), name


def test_the_first_phase_is_plain(make, batch_of, stream):
    """Batch norm learns and its statistics run; that is why its weights may be shared with plain fine-tuning."""
    learner, sgd = make("gpm"), make("sgd")
    assert learner.shares_first_phase(learner.options)
    start = copy.deepcopy(learner.net.state_dict())
    for one in (learner, sgd):
        begin(one, stream.phases[0])
        for rows in (range(8), range(8, 16)):
            one.observe(batch_of(stream.phases[0], rows))
    for name, value in sgd.net.state_dict().items():
        assert torch.equal(learner.net.state_dict()[name], value), name
        assert not torch.equal(start[name], value), name


@pytest.mark.parametrize("make_net", [
    lambda n: ResNet18(n, width=2),
    lambda n: VisionTransformer(n, dim=8, depth=1, heads=2, image=12),
], ids=["resnet", "vit"])  # fmt: skip
def test_what_is_learned_in_the_second_phase(make, batch_of, stream, make_net):
    """The weights of linear layers and convolutions, and the head; nothing else, and no statistic."""
    learner = on_net(make, make_net(stream.n_outputs), eps=0.5)
    learner.end_phase(stream.phases[0])
    before = copy.deepcopy(learner.net.state_dict())
    begin(learner, stream.phases[1])
    learner.observe(batch_of(stream.phases[1]))
    changed = {name for name, value in learner.net.state_dict().items() if not torch.equal(value, before[name])}
    layers = {
        f"{name}.weight" for name, module in learner.net.named_modules() if isinstance(module, nn.Linear | nn.Conv2d)
    }
    assert changed == layers | {"head.bias"}
    assert set(learner.bases) == {name.removesuffix(".weight") for name in layers} - {"head"}


class Odd(nn.Module):
    """A convolution in groups, a layer that is never called, and one that is called twice."""

    def __init__(self, n_outputs: int) -> None:
        super().__init__()
        self.grouped = nn.Conv2d(3, 6, 3, groups=3, bias=False)
        self.unused = nn.Linear(6, 6)
        self.twice = nn.Linear(6, 6, bias=False)
        self.head = nn.Linear(6, n_outputs)

    def forward(self, x):
        x = self.grouped(x).mean(dim=(2, 3)) + 0 * self.unused.weight.sum()
        return self.head(self.twice(self.twice(x)))


def test_layers_without_a_basis_stay_fixed(make, batch_of, stream):
    learner = on_net(make, Odd(stream.n_outputs), optimiser={"lr": 0.1, "weight_decay": 0.1}, eps=0.5)
    learner.end_phase(stream.phases[0])
    assert set(learner.bases) == {"twice"}
    before = copy.deepcopy(learner.net.state_dict())
    begin(learner, stream.phases[1])
    learner.observe(batch_of(stream.phases[1]))
    for name in ("grouped.weight", "unused.weight", "unused.bias"):
        assert torch.equal(learner.net.state_dict()[name], before[name])


CONVOLUTIONS = [
    {"kernel_size": 3},
    {"kernel_size": 3, "stride": 2, "padding": 1},
    {"kernel_size": (2, 3), "stride": (1, 2), "padding": (1, 0), "dilation": (2, 1)},
    {"kernel_size": 1, "stride": 2},
    {"kernel_size": 3, "padding": "same", "dilation": 2},
    {"kernel_size": 3, "padding": 1, "padding_mode": "circular"},
]


@pytest.mark.parametrize("settings", CONVOLUTIONS)
def test_columns_times_weights_are_the_convolution(settings):
    layer, inputs = nn.Conv2d(3, 4, bias=False, **settings).double(), torch.randn(5, 3, 8, 9, dtype=torch.float64)
    (columns,) = input_columns(layer, inputs.to(memory_format=torch.channels_last))
    outputs = layer.weight.flatten(1) @ columns
    assert torch.allclose(outputs, layer(inputs).transpose(0, 1).flatten(1))


@pytest.mark.parametrize("settings", CONVOLUTIONS[:4])
def test_the_basis_is_that_of_the_whole_matrix(settings, monkeypatch):
    """torch's unfold on all images at once and a singular value decomposition of the tall matrix."""
    monkeypatch.setattr(gpm, "_VALUES", 3000)  # several pieces
    monkeypatch.setattr(gpm, "_BLOCK", 5)
    layer = nn.Conv2d(3, 4, bias=False, **settings).double()
    mixing = torch.randn(3, 3, dtype=torch.float64) * torch.tensor([3.0, 1.0, 0.1], dtype=torch.float64)
    inputs = torch.einsum("nchw,dc->ndhw", torch.randn(40, 3, 8, 9, dtype=torch.float64), mixing)
    ours = measured_inputs(nn.Sequential(layer), {"0": layer}, inputs, chunk=7)["0"]
    unfold = {"kernel_size": 1, "stride": 1, "padding": 0, "dilation": 1} | settings
    tall = F.unfold(inputs, **unfold).transpose(1, 2).flatten(0, 1)
    assert torch.allclose(ours, tall.T @ tall)
    _, singular, rows = torch.linalg.svd(tall, full_matrices=False)
    energy = singular.square().cumsum(0) / singular.square().sum()
    share = float(energy[1:3].mean())  # two directions stay below, three reach it
    assert torch.allclose(projector(grown_basis(ours, None, share)), rows[:2].T @ rows[:2])
    later = grown_basis(ours, rows[:1].T, share)
    assert torch.allclose(projector(later), rows[:3].T @ rows[:3])


def test_inputs_of_a_linear_layer_are_those_of_all_its_calls(stream):
    net = Odd(stream.n_outputs).double()
    inputs = torch.randn(5, 3, 12, 12, dtype=torch.float64)
    ours = measured_inputs(net, {"twice": net.twice}, inputs, chunk=2)["twice"]
    assert ours.shape == (6, 6)  # ten inputs of six numbers
    first = net.grouped(inputs).mean(dim=(2, 3))
    rows = torch.cat((first, net.twice(first)))
    assert torch.allclose(ours, rows.T @ rows)
    tokens = torch.randn(2, 5, 6, dtype=torch.float64)
    (columns,) = input_columns(net.twice, tokens)
    assert torch.equal(columns, tokens.flatten(0, 1).T)


def test_the_energy_rule_by_hand():
    """Eigenvalues 6, 3, 1: below nine tenths there is one; then 5 of 9 is covered, and 3 more make 8 of 9."""
    first = torch.diag(torch.tensor([1.0, 6.0, 3.0], dtype=torch.float64))
    shares = (0.59, 0.61, 0.9, 0.91, 1.0)
    assert [grown_basis(first, None, share).shape[1] for share in shares] == [0, 1, 1, 2, 3]
    nothing = first[:, :0]  # of an earlier phase
    assert [grown_basis(first, nothing, share).shape[1] for share in shares] == [1, 2, 2, 3, 3]
    known = torch.tensor([[0.0], [1.0], [0.0]], dtype=torch.float64)
    second = torch.tensor([[2.0, 0, 1], [0, 5, 0], [1, 0, 2]], dtype=torch.float64)
    assert torch.equal(grown_basis(second, known, 5 / 9), known)
    grown = grown_basis(second, known, 0.8)
    half = torch.tensor([[0.5, 0, 0.5], [0, 1, 0], [0.5, 0, 0.5]], dtype=torch.float64)
    assert torch.allclose(projector(grown), half)
    assert grown_basis(second, known, 0.9).shape == (3, 3)
    assert grown_basis(torch.zeros(3, 3, dtype=torch.float64), None, 0.97).shape == (3, 0)


def counts_of_the_authors(matrices, shares):
    """The number of vectors after every phase, by singular values of whole matrices [inputs, n]."""
    basis, counts = None, []
    for matrix, share in zip(matrices, shares, strict=True):
        rest = matrix if basis is None else matrix - basis @ (basis.T @ matrix)
        left, singular, _ = np.linalg.svd(rest, full_matrices=False)
        total, ratios = (matrix**2).sum(), singular**2 / (matrix**2).sum()
        if basis is None:
            count, basis = int((np.cumsum(ratios) < share).sum()), left[:, :0]
        else:
            kept, count = 1 - (rest**2).sum() / total, 0
            while kept < share and count < len(ratios):
                kept, count = kept + ratios[count], count + 1
        basis = np.hstack((basis, left[:, :count]))[:, : len(matrix)]
        counts.append(basis.shape[1])
    return counts


@pytest.mark.parametrize("inputs", [8, 200], ids=["few", "many"])
@pytest.mark.parametrize("seed", range(5))
def test_as_many_vectors_as_in_the_authors_code(inputs, seed):
    """In the first phase and in later ones, which count in another way."""
    draws = np.random.default_rng(seed)
    matrices = [
        draws.normal(size=(20, 20)) * np.logspace(0, -2, 20) @ draws.normal(size=(20, inputs)) for _ in range(3)
    ]
    shares, basis, counts = [0.9, 0.93, 0.96], None, []
    for matrix, share in zip(map(torch.from_numpy, matrices), shares, strict=True):
        if inputs < 20:
            basis = grown_basis_of_few(matrix, basis, share)
        else:
            basis = grown_basis(matrix @ matrix.T, basis, share)
        counts.append(basis.shape[1])
    assert counts == counts_of_the_authors(matrices, shares)
    assert counts[0] < counts[1] < counts[2]


@pytest.mark.parametrize("wide", [1500, 4], ids=["double", "single"])
def test_all_the_energy_of_few_inputs_is_their_span_and_no_more(monkeypatch, wide):
    monkeypatch.setattr(gpm, "_WIDE", wide)
    torch.manual_seed(0)
    rows = torch.randn(4, 9, dtype=torch.float64)
    basis = grown_basis(rows.T @ rows, None, 1.0)
    assert basis.shape == (9, 4)
    assert torch.allclose(rows @ projector(basis), rows, atol=1e-5)


@pytest.mark.parametrize("phases", [1, 2])
def test_a_basis_from_few_inputs_is_that_of_their_covariance(phases):
    """Seven inputs of thirty numbers, of very different strength; what an earlier phase left is kept by both."""
    torch.manual_seed(2)
    one = other = None
    for _ in range(phases):
        columns = torch.randn(30, 7, dtype=torch.float64) * torch.logspace(0, -1, 7, dtype=torch.float64)
        one = grown_basis(columns @ columns.T, one, 0.9)
        other = grown_basis_of_few(columns, other, 0.9)
        assert other.shape == one.shape
        assert torch.allclose(projector(other), projector(one), atol=1e-9)
    every = grown_basis_of_few(columns, None, 1.0)
    assert every.shape == (30, 7)
    assert grown_basis_of_few(torch.zeros(30, 7), None, 0.97).shape == (30, 0)
    twice = torch.cat((columns, columns), dim=1)  # of rank seven
    assert torch.allclose(projector(grown_basis_of_few(twice, None, 1.0)), projector(every), atol=1e-9)


def test_few_inputs_are_kept_as_they_are_and_many_are_added_up():
    layer = nn.Linear(6, 2).double()
    inputs = torch.randn(9, 6, dtype=torch.float64)
    few = measured_inputs(nn.Sequential(layer), {"0": layer}, inputs[:5], chunk=2)["0"]
    assert torch.equal(few, inputs[:5].T)
    many = measured_inputs(nn.Sequential(layer), {"0": layer}, inputs, chunk=2)["0"]
    assert torch.allclose(many, inputs.T @ inputs)


@pytest.mark.parametrize("wide", [1500, 4], ids=["double", "single"])
def test_a_basis_grows_orthonormal(monkeypatch, wide):
    """It keeps what it held, covers what it must and not one direction more, in either precision; the first stays below."""
    monkeypatch.setattr(gpm, "_WIDE", wide)
    torch.manual_seed(1)
    basis = None
    for phase in range(3):
        rows = torch.randn(200, 12, dtype=torch.float64) * torch.logspace(0, -2, 12, dtype=torch.float64)
        rows = rows @ torch.linalg.qr(torch.randn(12, 12, dtype=torch.float64)).Q
        covariance, old, share = rows.T @ rows, basis, 0.8 + 0.05 * phase
        basis = grown_basis(covariance, old, share)
        assert torch.allclose(basis.T @ basis, torch.eye(basis.shape[1], dtype=torch.float64), atol=1e-12)
        covered = (basis.T @ covariance @ basis).trace() / covariance.trace()
        if old is None:
            assert covered < share
            continue
        assert covered >= share - 2e-5
        assert basis.shape[1] > old.shape[1]
        assert torch.allclose(projector(basis) @ old, old, atol=1e-6)
        fewer = basis[:, :-1]
        assert (fewer.T @ covariance @ fewer).trace() / covariance.trace() < share


def test_more_energy_is_kept_with_every_phase(make, stream, monkeypatch):
    shares = []
    monkeypatch.setattr(gpm, "grown_basis", lambda covariance, basis, share: shares.append(share) or covariance[:, :1])
    for learner in (make("gpm"), make("gpm", eps=0.999, eps_step=0.01)):
        for phase in stream.phases:
            learner.end_phase(phase)
    assert shares == pytest.approx([0.97, 0.973, 0.999, 1.0])


def test_images_are_drawn_by_seed_and_carry_their_cue(make, stream, monkeypatch):
    seen = []
    monkeypatch.setattr(gpm, "measured_inputs", lambda net, layers, inputs: seen.append(inputs) or {})
    phase = stream.phases[1]
    for seed in (7, 7, 8):
        make("gpm", samples=10, seed=seed).end_phase(phase)
    make("gpm").end_phase(phase)
    assert [len(inputs) for inputs in seen] == [10, 10, 10, len(phase.train)]
    assert torch.equal(seen[0], seen[1])
    assert not torch.equal(seen[0], seen[2])
    everything = make("gpm").context.presentation.unaugmented(phase.train)
    assert torch.allclose(seen[3].sum(0), everything.sum(0), atol=1e-3)
    assert not torch.allclose(seen[3].sum(0), make("gpm").context.presentation.normalised(phase.train.images).sum(0))


def test_little_memory_changes_nothing(make, stream, monkeypatch):
    net = VisionTransformer(stream.n_outputs, dim=8, depth=1, heads=2, image=12)
    whole, parts = on_net(make, net), on_net(make, net)
    whole.end_phase(stream.phases[0])
    monkeypatch.setattr(gpm, "_MEMORY", 8 * 32**2)
    groups = list(gpm._groups(parts.layers))
    assert [name for group in groups for name in group] == list(parts.layers)
    assert len(groups) > 1
    parts.end_phase(stream.phases[0])
    assert all(torch.equal(basis, parts.bases[name]) for name, basis in whole.bases.items())


def test_the_net_is_as_before_when_a_phase_is_closed(make, batch_of, stream):
    learner = make("gpm")
    begin(learner, stream.phases[0])
    before = copy.deepcopy(learner.net.state_dict())
    learner.end_phase(stream.phases[0])
    assert all(torch.equal(value, before[name]) for name, value in learner.net.state_dict().items())
    assert learner.net.training
    assert not learner.net.conv._forward_pre_hooks


def test_a_run_goes_on_from_a_file_bit_for_bit(make, batch_of, stream, tmp_path):
    learner = second_phase(make, batch_of, stream)
    t2 = stream.phases[1]
    learner.observe(batch_of(t2))
    save_state(tmp_path / "state", {"net": learner.net.state_dict(), "learner": learner.state_dict()})
    learner.observe(batch_of(t2, range(8, 16)))

    other, state = make("gpm"), load_state(tmp_path / "state")
    other.net.load_state_dict(state["net"])
    other.load_state_dict(state["learner"])
    # arithmetic on another memory layout may differ in the last bit
    assert all(basis.stride() == other.bases[name].stride() for name, basis in learner.bases.items())
    begin(other, t2)
    other.observe(batch_of(t2, range(8, 16)))
    for name, value in learner.net.state_dict().items():
        assert torch.equal(value, other.net.state_dict()[name]), name
    learner.end_phase(t2)
    other.end_phase(t2)
    assert all(torch.equal(basis, other.bases[name]) for name, basis in learner.bases.items())


def test_a_layer_without_any_input_has_an_empty_basis_that_can_be_kept(make, stream, tmp_path):
    learner, other = make("gpm"), make("gpm")
    learner.bases = {"conv": grown_basis(torch.zeros(27, 27, dtype=torch.float64), None, 0.97).float()}
    save_state(tmp_path / "state", learner.state_dict())
    other.load_state_dict(load_state(tmp_path / "state"))
    assert other.bases["conv"].shape == (27, 0)
    begin(other, stream.phases[1])
    before = other.net.conv.weight.detach().clone()
    other.step(other.net.conv.weight.sum())
    assert torch.allclose(other.net.conv.weight, before - 0.1)


def test_the_head_is_found_and_its_absence_named():
    assert head_of(ResNet18(10, width=1), 10) == "head"
    assert head_of(VisionTransformer(8, dim=8, depth=1, heads=1), 8) == "head"  # layers inside have 8 outputs, too
    assert "head" not in projectable_layers(ResNet18(10, width=1), "head")
    with pytest.raises(InputError, match="none of 10 outputs"):
        head_of(nn.Sequential(nn.Conv2d(3, 10, 1)), 10)


@pytest.mark.parametrize("options", [{"eps": 0.0}, {"eps": 1.01}, {"eps_step": -0.1}, {"samples": 0}])
def test_wrong_options_are_named(options):
    with pytest.raises(InputError, match=rf"learners\.gpm\.{next(iter(options))} is"):
        GPMOptions(**options)
