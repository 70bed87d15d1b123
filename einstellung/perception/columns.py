"""The outputs of a slot: the columns of an attribute table as logits, then the object's centre in the image."""

from __future__ import annotations

import torch
from torch import Tensor

from einstellung.scenes.attributes import ATTRIBUTES
from einstellung.scenes.tables import PRESENT, TABLE_COLUMNS

PRESENCE = TABLE_COLUMNS.index(PRESENT)
COLUMNS = len(TABLE_COLUMNS)


def _group(name: str, values: tuple[str, ...]) -> slice:
    first = TABLE_COLUMNS.index(f"{name}={values[0]}")
    return slice(first, first + len(values))


GROUPS = {name: _group(name, values) for name, values in ATTRIBUTES.items()}  # the columns of every attribute
CENTRE = slice(COLUMNS, COLUMNS + 2)  # from the left and from the top, as logits
OUTPUTS = CENTRE.stop


def is_present(outputs: Tensor) -> Tensor:
    """Which slots hold an object: presence probability of at least one half."""
    return outputs[..., PRESENCE] >= 0


def codes_of(outputs: Tensor) -> Tensor:
    """The most likely value of every attribute, as codes [..., 4].

    >>> outputs = torch.zeros(OUTPUTS)
    >>> outputs[[GROUPS["shape"].start + 2, GROUPS["color"].start + 5]] = 1.0
    >>> codes_of(outputs).tolist()
    [2, 0, 0, 5]
    """
    return torch.stack([outputs[..., group].argmax(dim=-1) for group in GROUPS.values()], dim=-1)


def tables_of(outputs: Tensor) -> Tensor:
    """Attribute tables (uint8 [..., 16]): one-hot rows for present slots, zeros for slots without an object.

    >>> outputs = torch.zeros(2, OUTPUTS)
    >>> outputs[1, PRESENCE] = -1.0
    >>> tables_of(outputs).tolist()
    [[1, 1, 0, 0, 1, 0, 1, 0, 1, 0, 0, 0, 0, 0, 0, 0], [0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0]]
    """
    tables = torch.zeros(*outputs.shape[:-1], COLUMNS, dtype=torch.uint8)
    tables[..., PRESENCE] = 1
    starts = torch.tensor([group.start for group in GROUPS.values()])
    tables.scatter_(-1, codes_of(outputs) + starts, 1)
    return tables * is_present(outputs).unsqueeze(-1)
