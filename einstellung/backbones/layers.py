"""Properties of any layer: whether it has hooks, and which class's computation it implements."""

from __future__ import annotations

from torch import nn


def has_hooks(layer: nn.Module) -> bool:
    """Whether a layer has hooks of its own, or its ``forward`` was replaced.

    >>> layer = nn.Linear(2, 2)
    >>> has_hooks(layer), has_hooks(layer.register_forward_hook(print) and layer)
    (False, True)
    """
    hooks = layer._forward_hooks or layer._forward_pre_hooks or layer._backward_hooks or layer._backward_pre_hooks
    return bool(hooks) or "forward" in vars(layer)


def reference_class(kind: type[nn.Module]) -> type[nn.Module]:
    """The class that ``kind`` computes the same as: what a faster class names as its ``accelerates``, otherwise itself.

    >>> reference_class(nn.Linear)
    <class 'torch.nn.modules.linear.Linear'>
    """
    reference: type[nn.Module] = vars(kind).get(
        "accelerates", kind
    )  # not inherited: a subclass may compute something else
    return reference
