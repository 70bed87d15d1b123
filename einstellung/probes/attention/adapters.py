"""Adapters: find the attention modules of a model and recompute their weights from their inputs.

For another kind of model, write a class with two methods and pass an instance to ``AttentionProbe(model, adapter=...)``::

    class MyAttention(AttentionAdapter):
        def modules(self, model):                       # the attention modules, one per layer
            return [block.attention for block in model.blocks]

        def weights(self, module, tokens):              # called with the module's arguments -> [B, H, T, T]
            query, key = module.project(tokens)         # each [B, H, T, channels]
            return attention_weights(query, key)

Override ``prefix_tokens`` and ``grid`` only if the defaults below do not fit. The class token must be the first token. A class
that is registered in ``attention_adapters`` (or through an entry point in the group ``einstellung.attention_adapters``) is
found automatically.
"""

from __future__ import annotations

import math
from typing import Any

import torch
from torch import Tensor, nn

from einstellung.errors import InputError
from einstellung.registry import Registry

_CLASS_TOKENS = ("cls_token", "class_token", "class_embedding")
_EXTRA_TOKENS = ("dist_token", "distillation_token", "reg_token", "register_tokens")


class AttentionAdapter:
    """What the probe needs to know about a kind of model."""

    def modules(self, model: nn.Module) -> list[nn.Module]:
        """The attention modules, one per layer; empty for a model of another kind."""
        raise NotImplementedError

    def weights(self, module: nn.Module, *args: Any, **kwargs: Any) -> Tensor:
        """softmax(q k^T), [batch, heads, tokens, tokens], from the arguments of ``module``."""
        raise NotImplementedError

    def prefix_tokens(self, model: nn.Module) -> int:
        """The number of tokens before the patches: the class token plus distillation and register tokens."""
        for module in model.modules():
            own = dict(module.named_parameters(recurse=False))
            if any(name in own for name in _CLASS_TOKENS):
                counted = 1 + sum(own[name].shape[-2] for name in _EXTRA_TOKENS if name in own)
                return int(getattr(module, "num_prefix_tokens", counted))
        raise InputError(
            f"{type(model).__name__} has no known class token ({', '.join(_CLASS_TOKENS)}): "
            "give an adapter of your own (adapter=)"
        )

    def grid(self, patches: int, height: int, width: int) -> tuple[int, int]:
        """Rows and columns of square patches that cover an image of ``height`` x ``width`` pixels."""
        rows = round(math.sqrt(patches * height / width))
        if rows < 1 or patches % rows or rows * width != patches // rows * height:
            raise InputError(
                f"{patches} tokens do not form a grid of square patches of an image of {height}x{width}: "
                "give an adapter with prefix_tokens and grid (adapter=)"
            )
        return rows, patches // rows


attention_adapters: Registry[type[AttentionAdapter]] = Registry(
    "attention adapter", group="einstellung.attention_adapters"
)


def attention_weights(query: Tensor, key: Tensor, scale: float | None = None) -> Tensor:
    """softmax(q k^T scale) of [B, H, T, channels], in at least single precision.

    >>> attention_weights(torch.zeros(1, 1, 2, 4), torch.zeros(1, 1, 2, 4)).tolist()
    [[[[0.5, 0.5], [0.5, 0.5]]]]
    """
    precision = torch.promote_types(query.dtype, torch.float32)
    with torch.autocast(query.device.type, enabled=False):
        scale = query.shape[-1] ** -0.5 if scale is None else scale
        return (query.to(precision) * scale @ key.to(precision).transpose(-2, -1)).softmax(dim=-1)


@attention_adapters.register("qkv")
class QkvAttention(AttentionAdapter):
    """Our transformers and timm's: one layer ``qkv`` for queries, keys and values, and ``num_heads`` (or ``heads``)."""

    known = frozenset({"qkv", "q_norm", "k_norm", "attn_drop", "norm", "proj", "proj_drop"})

    def modules(self, model: nn.Module) -> list[nn.Module]:
        return [module for module in model.modules() if _child(module, "qkv") and _number(module, "num_heads", "heads")]

    def weights(self, module: nn.Module, x: Tensor, *args: Any, **kwargs: Any) -> Tensor:
        _check_plain(module, self.known, args, kwargs)
        batch, tokens, _ = x.shape
        heads = _number(module, "num_heads", "heads")
        projected = module.qkv(x).view(batch, tokens, 3, heads, -1)  # type: ignore[operator]
        query, key, _ = projected.permute(2, 0, 3, 1, 4)
        norms = (getattr(module, name, nn.Identity()) for name in ("q_norm", "k_norm"))
        query, key = (norm(part) for norm, part in zip(norms, (query, key), strict=True))
        return attention_weights(query, key, getattr(module, "scale", None))


@attention_adapters.register("torch")
class TorchAttention(AttentionAdapter):
    """``nn.MultiheadAttention`` on one sequence: torchvision's transformers, and nets built on torch's own layer."""

    known = frozenset({"out_proj"})

    def modules(self, model: nn.Module) -> list[nn.Module]:
        return [module for module in model.modules() if isinstance(module, nn.MultiheadAttention)]

    def weights(  # type: ignore[override]
        self, module: nn.MultiheadAttention, query: Tensor, key: Tensor, value: Tensor, *args: Any, **kwargs: Any
    ) -> Tensor:
        options = {name: option for name, option in kwargs.items() if name != "need_weights"}
        # only the joint projection is supported, neither bias_k nor separate weights
        _check_plain(module, self.known, args, options, parameters={"in_proj_weight", "in_proj_bias"})
        if key is not query or module.add_zero_attn or query.dim() != 3:
            raise InputError("a MultiheadAttention other than batched self-attention needs an adapter (adapter=)")
        tokens = query if module.batch_first else query.transpose(0, 1)
        width, bias = module.embed_dim, module.in_proj_bias
        assert module.in_proj_weight is not None
        projected = nn.functional.linear(
            tokens, module.in_proj_weight[: 2 * width], None if bias is None else bias[: 2 * width]
        )
        query, key = (_by_head(part, module.num_heads) for part in projected.split(width, dim=-1))
        return attention_weights(query, key)


@attention_adapters.register("query_key")
class QueryKeyAttention(AttentionAdapter):
    """Hugging Face's ViT and its kin: layers ``query`` and ``key``, or ``q_proj`` and ``k_proj``."""

    names = (("query", "key"), ("q_proj", "k_proj"))
    known = frozenset({"query", "key", "value", "dropout", "q_proj", "k_proj", "v_proj", "o_proj", "out_proj"})

    def modules(self, model: nn.Module) -> list[nn.Module]:
        return [module for module in model.modules() if self._layers(module) and self._heads(module)]

    def weights(self, module: nn.Module, hidden_states: Tensor, *args: Any, **kwargs: Any) -> Tensor:
        _check_plain(module, self.known, args, kwargs)
        heads = self._heads(module)
        query, key = (_by_head(layer(hidden_states), heads) for layer in self._layers(module))
        if query.shape != key.shape:
            raise InputError(f"{type(module).__name__} has fewer keys than queries: give an adapter (adapter=)")
        return attention_weights(query, key, getattr(module, "scaling", getattr(module, "scale", None)))

    def _layers(self, module: nn.Module) -> list[nn.Module]:
        for pair in self.names:
            if all(_child(module, name) for name in pair):
                return [module.get_submodule(name) for name in pair]
        return []

    def _heads(self, module: nn.Module) -> int:
        own = _number(module, "num_attention_heads", "num_heads")
        return own or _number(getattr(module, "config", None), "num_attention_heads")


def _child(module: nn.Module, name: str) -> bool:
    return isinstance(getattr(module, name, None), nn.Module)


def _number(owner: object, *names: str) -> int:
    """The first of the attributes that is an integer, or 0."""
    values = (getattr(owner, name, None) for name in names)
    return next((value for value in values if isinstance(value, int)), 0)


def _by_head(tokens: Tensor, heads: int) -> Tensor:
    """[B, T, H channels] -> [B, H, T, channels]."""
    batch, count, _ = tokens.shape
    return tokens.view(batch, count, heads, -1).transpose(1, 2)


def _check_plain(
    module: nn.Module, known: frozenset[str], args: tuple[Any, ...], kwargs: dict[str, Any], parameters: Any = ()
) -> None:
    """Refuse anything that could change the attention: position biases, rotary embeddings, masks, unknown parts."""
    parts = {name for name, part in module.named_children() if not isinstance(part, nn.Identity)} - known
    parts |= {name for name, _ in module.named_parameters(recurse=False)} - set(parameters)
    parts |= {name for name, value in kwargs.items() if _may_act(name, value)}
    parts |= {f"argument {place}" for place, value in enumerate(args, start=2) if _may_act("", value)}
    if parts:
        raise InputError(
            f"the attention of {type(module).__name__} depends on unknown parts "
            f"({', '.join(sorted(parts))}): give an adapter of your own (adapter=)"
        )


def _may_act(name: str, value: Any) -> bool:
    """Whether an extra argument of an attention module may change its weights."""
    if isinstance(value, (tuple, list)):
        return any(_may_act(name, member) for member in value)
    return isinstance(value, (Tensor, nn.Module)) or (name == "is_causal" and bool(value))
