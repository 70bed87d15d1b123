"""Find images by their identity, in any batch."""

from __future__ import annotations

import torch
from torch import Tensor


class Identities:
    """The rows of a set of images, by the images' identities in their source.

    >>> known = Identities(torch.tensor([30, 10, 20]))
    >>> known.rows(torch.tensor([10, 30, 10])).tolist()
    [1, 0, 1]
    """

    def __init__(self, index: Tensor) -> None:
        self._sorted, self._order = index.sort(stable=True)

    def rows(self, index: Tensor) -> Tensor:
        """The rows of these images; all of them must be known."""
        return self._order[torch.searchsorted(self._sorted, index)]
