"""What all backbones for texts promise: shapes, padding that changes nothing, and clear refusals."""

from __future__ import annotations

import pytest
import torch
from torch import nn

from einstellung.backbones import build_backbone
from einstellung.errors import InputError

NETS = {
    "embedding_bag": {"vocabulary": 150, "dim": 6, "hidden": 10, "layers": 2},
    "text_transformer": {"vocabulary": 150, "length": 14, "dim": 8, "depth": 2, "heads": 2},
    "minilm": {"vocabulary": 150, "length": 16, "dim": 8, "depth": 2, "heads": 2, "hidden": 12},
}


def texts(rows: int = 5, length: int = 9) -> torch.Tensor:
    """Texts of 0 to ``rows`` - 1 words and special tokens, padded."""
    tokens = torch.randint(1, 150, (rows, length), generator=torch.Generator().manual_seed(0))
    return tokens * (torch.arange(length) < torch.arange(rows)[:, None] * 2)


def made(name: str, seed: int = 3) -> nn.Module:
    return build_backbone(name, NETS[name], 4, seed).double().eval()


@pytest.mark.parametrize("name", NETS)
def test_shapes_gradients_and_parts(name):
    net, tokens = made(name).train(), texts()
    logits = net(tokens)
    assert logits.shape == (5, 4)
    assert torch.equal(net.head(net.features(tokens)), logits)
    assert torch.isfinite(logits).all()  # the first text is empty
    logits.square().sum().backward()
    for key, parameter in net.named_parameters():
        assert torch.isfinite(parameter.grad).all(), key
        assert parameter.grad.abs().sum() > 0, key
    assert all(isinstance(stage, nn.Module) for stage in net.stages().values())
    assert len(net.stages()) == 2


@pytest.mark.parametrize("name", NETS)
def test_longer_padding_changes_nothing(name):
    net, tokens = made(name), texts()
    longer = nn.functional.pad(tokens, (0, 4))
    assert torch.allclose(net(tokens), net(longer), rtol=1e-12, atol=1e-12)
    seen = {}
    for key, stage in net.stages().items():
        stage.register_forward_hook(lambda _, __, out, key=key: seen.setdefault(key, []).append(out))
    net(tokens), net(longer)
    for short, long in seen.values():
        if short.dim() == 3:  # tokens: those of padding are 0
            assert torch.allclose(nn.functional.pad(short, (0, 0, 0, 4)), long, rtol=1e-12, atol=1e-12)
            assert not long[0, -4:].any()


@pytest.mark.parametrize("name", NETS)
def test_a_text_does_not_depend_on_the_others(name):
    net, tokens = made(name), texts()
    whole = net(tokens)
    for row in range(len(tokens)):
        assert torch.allclose(net(tokens[row : row + 1])[0], whole[row], rtol=1e-10, atol=1e-12)


@pytest.mark.parametrize("name", NETS)
def test_the_seed_decides(name):
    one, same, other = made(name).state_dict(), made(name).state_dict(), made(name, seed=4).state_dict()
    assert all(torch.equal(one[key], same[key]) for key in one)
    assert any(not torch.equal(one[key], other[key]) for key in one)


@pytest.mark.parametrize("name", NETS)
def test_padding_has_no_embedding_and_learns_none(name):
    net, tokens = made(name), texts()
    table = net.word if name == "minilm" else net.embedding
    assert not table.weight[0].any()
    net(tokens).sum().backward()
    assert not table.weight.grad[0].any()
    used = {int(one) for one in (net.ids(tokens) if name == "minilm" else tokens).flatten() if one}
    assert {int(row) for row in table.weight.grad.abs().sum(dim=1).nonzero().flatten()} == used


@pytest.mark.parametrize("name", NETS)
def test_inputs_that_are_no_texts(name):
    net = made(name)
    with pytest.raises(
        InputError, match=r"takes texts, \[N, T\] of token numbers, not float64 of shape \[2, 3, 4, 4\]"
    ):
        net(torch.zeros(2, 3, 4, 4, dtype=torch.float64))
    with pytest.raises(InputError, match=r"the backbone's tokens end at 149: raise backbone.vocabulary"):
        net(torch.full((2, 5), 400))


@pytest.mark.parametrize(
    ("name", "length", "words"),
    [
        ("text_transformer", 15, "texts of 15 tokens, but the backbone takes 14: raise backbone.length"),
        ("minilm", 15, "texts of 15 tokens, but this backbone takes 14"),
    ],
)
def test_texts_that_are_too_long(name, length, words):
    with pytest.raises(InputError, match=words):
        made(name)(torch.full((1, length), 20))
    made(name)(torch.full((1, length - 1), 20))


@pytest.mark.parametrize(
    ("name", "options", "words"),
    [
        ("embedding_bag", {"dim": 0}, "backbone.dim is 0"),
        ("embedding_bag", {"layers": 0}, "backbone.layers is 0"),
        ("text_transformer", {"depth": 0}, "backbone.depth is 0"),
        ("text_transformer", {"dim": 10, "heads": 3}, "dim 10 is not a multiple of backbone.heads 3"),
        ("text_transformer", {"dropout": 1.0}, "backbone.dropout is 1.0"),
        ("text_transformer", {"mlp_ratio": 0.0}, "the perceptron would have no units"),
        ("minilm", {"hidden": 0}, "backbone.hidden is 0"),
        ("minilm", {"dim": 10, "heads": 3}, "not a multiple"),
        ("minilm", {"vocabulary": 100}, "BERT's special tokens need 103"),
        ("minilm", {"length": 2}, "backbone.length is 2"),
        ("resnet1d", {"width": 0}, "backbone.width is 0"),
        ("resnet1d", {"channels": 0}, "backbone.channels is 0"),
    ],
)
def test_wrong_options(name, options, words):
    with pytest.raises(InputError, match=words):
        build_backbone(name, options, 2, 0)


def test_a_bag_is_the_mean_of_its_words():
    net, tokens = made("embedding_bag"), texts()
    for row in tokens:
        words = [net.embedding.weight[word] for word in row.tolist() if word]
        mean = torch.stack(words).mean(dim=0) if words else torch.zeros(6, dtype=torch.float64)
        hidden = torch.relu(net.body[1][0](torch.relu(net.body[0][0](mean))))
        assert torch.allclose(net.features(row[None])[0], hidden)
    assert torch.allclose(net(tokens), net(tokens.flip(1)))


def test_a_transformer_is_torchs_own_with_a_mask():
    """torch's encoder layer, with our weights."""
    net, tokens = made("text_transformer"), texts()[1:]  # torch's gives NaN for a text without tokens
    seen = net.embedding(tokens) + net.position.weight[: tokens.shape[1]]
    for block in net.blocks:
        layer = nn.TransformerEncoderLayer(8, 2, 16, 0.0, "gelu", batch_first=True, norm_first=True).double()
        pairs = {
            "self_attn.in_proj_": block.attn.qkv,
            "self_attn.out_proj.": block.attn.proj,
            "linear1.": block.fc1,
            "linear2.": block.fc2,
            "norm1.": block.norm1,
            "norm2.": block.norm2,
        }
        layer.load_state_dict(
            {f"{to}{key}": getattr(part, key) for to, part in pairs.items() for key in ("weight", "bias")}
        )
        seen = layer(seen, src_key_padding_mask=tokens == 0)
    real = (tokens != 0).unsqueeze(2)
    mean = (net.norm(seen) * real).sum(dim=1) / real.sum(dim=1)
    assert torch.allclose(net.features(tokens), mean, rtol=1e-8, atol=1e-10)
