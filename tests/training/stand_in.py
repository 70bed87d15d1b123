"""A device that is not there: torch's meta device holds shapes and no numbers, so that nothing can be read back from it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import torch
from torch import Tensor
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves

META = torch.device("meta")
_COPIES = (torch.ops.aten._to_copy, torch.ops.aten.copy_, torch.ops.aten.to)


class OneDevice(TorchDispatchMode):
    """Refuses what would fail on a GPU or make the program wait for it: operations on tensors of two devices, and copies to
    the device that are waited for. Copies from it, and numbers out of it, are refused by the meta device itself.

    ``sent``: the types of what was copied to the device, in order.
    """

    def __init__(self) -> None:
        super().__init__()
        self.sent: list[torch.dtype] = []

    def __torch_dispatch__(
        self, func: Any, types: Sequence[type], args: tuple[Any, ...] = (), kwargs: Mapping[str, Any] | None = None
    ) -> Any:
        named = dict(zip((argument.name for argument in func._schema.arguments), args, strict=False)) | dict(
            kwargs or {}
        )
        given = [leaf for leaf in tree_leaves(named) if isinstance(leaf, Tensor)]
        copies = func.overloadpacket in _COPIES
        if not copies and len({one.device for one in given if one.dim()}) > 1:
            raise AssertionError(f"{func} on tensors of {', '.join(str(one.device) for one in given)}")
        result = func(*args, **(kwargs or {}))
        if copies and given[-1].device.type == "cpu" and result.device == META:
            assert named.get("non_blocking"), "the program waits for this copy: use to_device"
            self.sent.append(given[-1].dtype)
        return result
