"""Forward hooks that keep only the class token's row of each layer's attention."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from typing import Any

import torch
from torch import Tensor, nn

from einstellung.errors import InputError
from einstellung.probes.attention.adapters import AttentionAdapter
from einstellung.torch_compat import attention_hooks_called, uncompiled
from einstellung.training.evaluation_mode import evaluation_mode


class Capture:
    """The class token's attention to the patches in each layer, and its roll-out.

    Roll-out (Abnar & Zuidema, 2020): the product over layers of 0.5 A + 0.5 I, A the mean over heads, rows summing to 1. Only
    the current layer's matrix and the product so far are kept in memory.
    """

    def __init__(self, adapter: AttentionAdapter, modules: Sequence[nn.Module], prefix_tokens: int) -> None:
        self.adapter = adapter
        self.modules = modules
        self.prefix_tokens = prefix_tokens
        self._called: list[nn.Module] = []
        self._rows: list[Tensor] = []
        self._product: Tensor | None = None

    @contextmanager
    def attached(self) -> Iterator[None]:
        """Attach the hooks within the context."""
        with ExitStack() as hooks:
            hooks.enter_context(attention_hooks_called())
            for module in self.modules:
                hooks.enter_context(module.register_forward_pre_hook(self._record, with_kwargs=True))
            yield

    def heads(self) -> Tensor:
        """[batch, layers, heads, patches], each map summing to 1."""
        self._check_calls()
        return torch.stack(self._rows, dim=1)

    def rollout(self) -> Tensor:
        """[batch, patches], each map summing to 1."""
        assert self._product is not None
        return self._map(self._product[:, 0], "the roll-out")

    def _record(self, module: nn.Module, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        weights = self.adapter.weights(module, *args, **kwargs)
        if weights.dim() != 4 or weights.shape[-1] != weights.shape[-2]:
            raise InputError(
                f"the adapter's weights of {type(module).__name__} have the shape {tuple(weights.shape)}, "
                "not [batch, heads, tokens, tokens]"
            )
        self._called.append(module)
        self._rows.append(self._map(weights[:, :, 0], f"layer {len(self._called)}"))
        with torch.autocast(weights.device.type, enabled=False):
            mixed = weights.mean(dim=1).mul_(0.5)
            mixed.diagonal(dim1=-2, dim2=-1).add_(0.5)
            mixed /= mixed.sum(dim=-1, keepdim=True)
            self._product = mixed if self._product is None else mixed @ self._product

    def _map(self, row: Tensor, where: str) -> Tensor:
        patches = row[..., self.prefix_tokens :]
        total = patches.sum(dim=-1, keepdim=True)
        if not bool((total > 0).all()):
            raise InputError(f"the attention of {where} to the patches is zero or not a number: has the net diverged?")
        return patches / total

    def _check_calls(self) -> None:
        for number, module in enumerate(self.modules, start=1):
            calls = sum(called is module for called in self._called)
            if calls != 1:
                raise InputError(
                    f"attention module {number} ({type(module).__name__}) is called {calls} times per batch, not once: "
                    "give an adapter that lists the modules of one pass (adapter=)"
                )


@contextmanager
def inference(model: nn.Module) -> Iterator[None]:
    """Evaluation mode without gradients; the model's state is restored afterwards."""
    with ExitStack() as stack:
        stack.enter_context(evaluation_mode(model))
        stack.enter_context(torch.inference_mode())
        stack.enter_context(uncompiled(model))
        yield
