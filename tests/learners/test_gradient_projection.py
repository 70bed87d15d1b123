"""GPM on embeddings and one-dimensional convolutions: bases and projections against whole matrices."""

from __future__ import annotations

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import nn

from einstellung.backbones import build_backbone
from einstellung.errors import InputError
from einstellung.learners.gpm import (
    _groups,
    grown_basis,
    grown_rows,
    input_columns,
    measured_inputs,
    projectable_layers,
)
from einstellung.learners.gradient_projection import Projection, RowProjection, projection_of
from tests.learners.token_nets import texts


@given(
    st.lists(st.integers(0, 9), min_size=3, max_size=8),
    st.lists(st.integers(0, 9), min_size=8, max_size=8),
    st.floats(0.3, 1),
)
def test_rows_are_the_eigenvectors_of_a_diagonal_matrix(first, second, share):
    """Two phases; equal counts have no order, so what is compared is the energy and the number of vectors."""
    counts = torch.tensor(first, dtype=torch.float64)
    later = torch.tensor(second[: len(first)], dtype=torch.float64)
    rows, basis = None, None
    for seen in (counts, later):
        rows, basis = grown_rows(seen, rows, share), grown_basis(torch.diag(seen), basis, share)
        if seen is counts:
            assert len(rows) == basis.shape[1]
            assert float(seen[rows].sum()) == pytest.approx(float((basis.T @ torch.diag(seen) @ basis).trace()))
            basis = torch.eye(len(seen), dtype=torch.float64)[:, rows]
        assert len(rows) == len(set(rows.tolist())) == basis.shape[1]


def test_the_rows_of_an_embedding_are_counted_without_padding():
    net = build_backbone("embedding_bag", {"vocabulary": 30, "dim": 4, "hidden": 6}, 3, 0).eval()
    tokens = texts(30, rows=40)
    counts = measured_inputs(net, {"embedding": net.embedding}, tokens, chunk=7)["embedding"]
    expected = [sum(row.tolist().count(word) for row in tokens) if word else 0 for word in range(30)]
    assert counts.tolist() == expected


@pytest.mark.parametrize("kind", [nn.Embedding, nn.EmbeddingBag])
def test_old_tokens_keep_their_embeddings_and_others_move(kind):
    """Momentum and weight decay included."""
    torch.manual_seed(0)
    layer = kind(12, 3).double()
    old, new = torch.tensor([[1, 2, 3, 3]]), torch.tensor([[3, 4, 5, 6]])
    counts = measured_inputs(layer, {"it": layer}, old)["it"]
    projection = projection_of(layer, grown_rows(counts, None, 1.0))
    assert isinstance(projection, RowProjection)
    optimiser = torch.optim.SGD(layer.parameters(), lr=0.1, momentum=0.9, weight_decay=0.1)
    before, table = layer(old).detach(), layer.weight.detach().clone()
    for _ in range(3):
        projection.keep()
        optimiser.zero_grad()
        layer(new).square().sum().backward()
        optimiser.step()
        projection.apply()
    assert torch.equal(layer(old), before)
    moved = (layer.weight - table).abs().sum(dim=1) > 0
    assert moved.tolist() == [word not in (1, 2, 3) for word in range(12)]


SETTINGS = [
    {"kernel_size": 3},
    {"kernel_size": 4, "stride": 2, "padding": 1},
    {"kernel_size": 3, "dilation": 2, "padding": "same"},
    {"kernel_size": 2, "padding": 1, "padding_mode": "circular"},
]


@pytest.mark.parametrize("settings", SETTINGS, ids=str)
def test_columns_times_weights_are_the_convolution(settings):
    layer, series = nn.Conv1d(3, 5, **settings), torch.randn(4, 3, 13)
    columns = torch.cat(list(input_columns(layer, series)), dim=1).float()
    outputs = layer.weight.flatten(1) @ columns + layer.bias[:, None]
    assert torch.allclose(outputs, layer(series).transpose(0, 1).flatten(1), atol=1e-5)


@pytest.mark.parametrize("settings", SETTINGS[:2], ids=str)
def test_a_convolution_of_series_is_projected_as_one_of_images_with_one_row(settings):
    torch.manual_seed(0)
    layer = nn.Conv1d(3, 5, **settings)
    basis = torch.linalg.qr(torch.randn(layer.weight[0].numel(), 4)).Q
    update = torch.randn_like(layer.weight)
    image = nn.Conv2d(3, 5, (1, settings["kernel_size"]))
    image.weight.data = layer.weight.detach().unsqueeze(2).clone()
    for one, change in ((layer, update), (image, update.unsqueeze(2))):
        projection = projection_of(one, basis)
        assert isinstance(projection, Projection)
        projection.keep()
        with torch.no_grad():
            one.weight += change
        projection.apply()
    assert torch.allclose(layer.weight, image.weight.squeeze(2), atol=1e-6)
    series = torch.randn(6, 3, 11)
    inputs = torch.cat(list(input_columns(layer, series)), dim=1).float()
    inside = basis @ basis.T @ inputs  # of inputs in the span, the outputs have not changed
    start = image.weight.squeeze(2) - (update.flatten(1) - update.flatten(1) @ basis @ basis.T).view_as(layer.weight)
    assert torch.allclose(layer.weight.flatten(1) @ inside, start.flatten(1) @ inside, atol=1e-4)


@pytest.mark.parametrize("name", ["embedding_bag", "text_transformer", "minilm"])
def test_all_layers_of_a_text_net_keep_what_they_computed(name):
    """With all of the energy, features of old texts do not move when new texts are learned."""
    options = {
        "embedding_bag": {"vocabulary": 150, "dim": 40, "hidden": 40},
        "text_transformer": {"vocabulary": 150, "length": 9, "dim": 64, "depth": 1, "heads": 2},
        "minilm": {"vocabulary": 150, "length": 11, "dim": 64, "depth": 1, "heads": 2, "hidden": 32},
    }[name]
    net = build_backbone(name, options, 3, 0).double().eval()
    old, new = texts(150, rows=4), texts(150, rows=8, seed=5)
    layers = projectable_layers(net, "head")
    assert {type(layer) for layer in layers.values()} == {nn.Embedding, nn.Linear}
    moved = {}
    start = {key: value.clone() for key, value in net.state_dict().items()}
    for projected in (True, False):
        net.load_state_dict(start)
        measured = {key: found for group in _groups(layers) for key, found in measured_inputs(net, group, old).items()}
        projections = []
        for key, found in measured.items():
            if isinstance(layers[key], nn.Embedding):
                projections.append(projection_of(layers[key], grown_rows(found, None, 1.0)))
            else:
                whole = found if found.shape[0] == found.shape[1] else found @ found.T
                basis = grown_basis(whole.double(), None, 1.0)
                projections.append(projection_of(layers[key], basis))
        weights = [layer.weight for layer in layers.values()]
        optimiser = torch.optim.SGD(weights, lr=0.5, momentum=0.9)
        before, fresh = net.features(old).detach(), net.features(new).detach()
        for _ in range(3):
            for projection in projections:
                projection.keep()
            optimiser.zero_grad()
            net(new).square().sum().backward()
            optimiser.step()
            if projected:
                for projection in projections:
                    projection.apply()
        with torch.no_grad():
            moved[projected] = float((net.features(old) - before).norm() / before.norm())
            assert float((net.features(new) - fresh).norm() / fresh.norm()) > 1e-3
    assert moved[True] < 1e-6
    assert moved[False] > 1e-3


def test_layers_of_a_series_net():
    net = build_backbone("resnet1d", {"width": 4}, 5, 0)
    layers = projectable_layers(net, "head")
    assert len(layers) == 1 + 12 + 2
    assert all(isinstance(layer, nn.Conv1d) for layer in layers.values())


def test_an_embedding_that_changes_by_itself_is_refused():
    net = nn.Sequential(nn.Embedding(5, 3, max_norm=1.0), nn.Flatten(), nn.Linear(6, 2))
    with pytest.raises(InputError, match="cannot keep the embedding '0': its max_norm changes it in every pass"):
        projectable_layers(net, "2")
