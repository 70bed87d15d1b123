"""MiniLM against Hugging Face's BERT, written down, and against sentence-transformers where the real weights are installed."""

from __future__ import annotations

import pytest
import torch
import torch.nn.functional as F
from safetensors.torch import save_file

from einstellung.backbones import MiniLM, weights_digest
from einstellung.backbones.weights import load_weights
from einstellung.errors import InputError
from einstellung.sources.model_files import MINILM_PACKAGE
from einstellung.sources.wordpiece import WordPieces

# what transformers.BertModel (5.23) computes with the weights below, averaged over all tokens
TOKENS = torch.tensor([[21, 23, 1, 119, 0, 0], [0, 0, 0, 0, 0, 0], [25, 2, 14, 66, 76, 120]])
SEEN = torch.tensor(
    [
        *(0.281075250259, 0.17574171715, 0.479778116547, -0.95811527719),
        *(-1.485661086824, 0.274461046049, 0.487925411759, 0.941680450761),
        *(0.591586200636, 0.149506805165, 0.226679196962, -0.885100366269),
        *(-1.424146952081, 0.631515536068, 0.326516411079, 0.525247523004),
        *(0.395713221355, 0.108671684947, 0.48473343223, -0.964054370754),
        *(-1.533125451353, 0.364005023566, 0.359286966849, 1.002833954053),
    ],
    dtype=torch.float64,
).view(3, 8)
_LINEAR = {
    "attention.output.dense": (8, 8),
    "attention.self.key": (8, 8),
    "attention.self.query": (8, 8),
    "attention.self.value": (8, 8),
    "intermediate.dense": (12, 8),
    "output.dense": (8, 12),
}
SIZES = {"dim": 8, "depth": 2, "heads": 2, "hidden": 12, "vocabulary": 110, "length": 12}


def berts_weights() -> dict[str, torch.Tensor]:
    """A small BERT's weights by Hugging Face's names, each a sine."""
    shapes: dict[str, tuple[int, ...]] = {
        "embeddings.LayerNorm.bias": (8,),
        "embeddings.LayerNorm.weight": (8,),
        "embeddings.position_embeddings.weight": (12, 8),
        "embeddings.token_type_embeddings.weight": (2, 8),
        "embeddings.word_embeddings.weight": (110, 8),
    }
    for layer in range(2):
        own = f"encoder.layer.{layer}."
        for part in ("attention.output", "output"):
            shapes |= {f"{own}{part}.LayerNorm.bias": (8,), f"{own}{part}.LayerNorm.weight": (8,)}
        for name, shape in _LINEAR.items():
            shapes |= {f"{own}{name}.weight": shape, f"{own}{name}.bias": shape[:1]}
    weights = {}
    for number, name in enumerate(sorted(shapes)):
        count = torch.Size(shapes[name]).numel()
        values = torch.sin(torch.arange(count, dtype=torch.float64) * (0.37 + 0.01 * number) + number) * 0.5
        weights[name] = (1 + values / 2 if name.endswith("LayerNorm.weight") else values).view(shapes[name])
    return weights


@pytest.mark.parametrize("prefix", ["", "bert.", "0.auto_model."])
@pytest.mark.filterwarnings("ignore:.*holds no head")
def test_it_computes_what_bert_computes(prefix, tmp_path):
    weights = {f"{prefix}{name}": value for name, value in berts_weights().items()}
    more = {
        f"{prefix}embeddings.position_ids": torch.arange(12)[None],
        f"{prefix}pooler.dense.weight": torch.zeros(8, 8),
        f"{prefix}pooler.dense.bias": torch.zeros(8),
    }
    save_file(weights | more, tmp_path / "model.safetensors")
    net = MiniLM(2, **SIZES).double()
    load_weights(net, str(tmp_path))
    with torch.no_grad():
        assert torch.allclose(net.eval().features(TOKENS), SEEN, rtol=1e-10, atol=1e-10)
    assert weights_digest(str(tmp_path)) == weights_digest(str(tmp_path / "model.safetensors"))


def test_the_numbers_of_berts_ids():
    net = MiniLM(2, **SIZES)
    assert net.ids(TOKENS).tolist() == [
        [101, 5, 7, 100, 103, 102, 0, 0],
        [101, 102, 0, 0, 0, 0, 0, 0],
        [101, 9, 1, 13, 50, 60, 104, 102],
    ]
    assert net.ids(TOKENS.int()).tolist() == net.ids(TOKENS).tolist()


def test_a_head_of_the_file_is_loaded(tmp_path):
    weights = {name: value.float() for name, value in berts_weights().items()}
    head = {"classifier.weight": torch.ones(2, 8), "classifier.bias": torch.ones(2)}
    save_file(weights | head, tmp_path / "a.safetensors")
    assert torch.equal(MiniLM(2, **SIZES, weights=str(tmp_path / "a.safetensors")).head.weight, torch.ones(2, 8))


def test_weights_that_are_not_there(tmp_path):
    with pytest.raises(InputError, match=r"backbone.weights: .* is not a file"):
        MiniLM(2, **SIZES, weights=str(tmp_path))
    some = {name: value for name, value in berts_weights().items() if "layer.1" not in name}
    save_file(some, tmp_path / "model.safetensors")
    with pytest.raises(InputError, match=r"the weight 'blocks.1.*' of the net is missing"):
        MiniLM(2, **SIZES, weights=str(tmp_path))


# the first four numbers of the normalised embeddings that sentence-transformers 6.2 computes
REAL = {
    "The quick brown fox jumps over the lazy dog.": (0.0439335, 0.0589344, 0.0481784, 0.0775481),
    "Buy cheap v1agra NOW!!! http://spam.example/?x=1&y=2": (-0.0780010, 0.0283650, -0.0215185, 0.0323055),
    "Café naïve ÉCOLE Straße İstanbul ǅ ﬁ": (0.0576482, 0.0194934, 0.0044457, 0.0461599),
}


@pytest.mark.filterwarnings("ignore:.*holds no head")
def test_the_real_weights():
    try:
        pieces = WordPieces.load(MINILM_PACKAGE)
    except InputError as error:
        pytest.skip(str(error))
    net = MiniLM(2, weights=MINILM_PACKAGE).eval()
    with torch.no_grad():
        found = F.normalize(net.features(torch.from_numpy(pieces.encode(list(REAL), 40))))
    assert torch.allclose(found[:, :4], torch.tensor(list(REAL.values())), atol=2e-6)
