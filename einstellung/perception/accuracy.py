"""How well the objects of scenes are perceived, given that everything about them is known."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from einstellung.perception.columns import GROUPS, codes_of, is_present
from einstellung.perception.matching import assignment, distances
from einstellung.scenes.attributes import kind_numbers

NEAR = 0.1  # of the picture's width: about the radius of a large object
_FAR = 10.0  # more than any two places of a picture are apart


def perception_accuracy(outputs: Tensor, codes: Tensor, centres: Tensor) -> dict[str, Any]:
    """Shares of what is right, for outputs [N, S, 18] of slots, codes [N, K, 4] and centres [N, K, 2] of objects.

    Objects and present slots are paired by their distance alone, so that a wrong attribute cannot find itself a better
    partner; the objects of pairs that are ``NEAR`` are found. ``attributes`` and ``all_attributes`` are shares of the objects
    found, ``recall`` is their share of all objects, ``precision`` that of the present slots. ``whole_scenes`` are those whose
    perceived objects are the true ones, none missing and none too many, wherever they are. None: a share of nothing.
    """
    present = is_present(outputs)
    apart = distances(outputs, centres) + _FAR * ~present.unsqueeze(1)
    slots = assignment(apart)
    found = apart.gather(2, slots.unsqueeze(2)).squeeze(2) < NEAR
    read = codes_of(outputs)
    right = (read.gather(1, slots.unsqueeze(2).expand(-1, -1, codes.shape[2])) == codes)[found]
    return {
        "scenes": len(codes),
        "attributes": {name: _share(right[:, number]) for number, name in enumerate(GROUPS)},
        "all_attributes": _share(right.all(dim=1)),
        "recall": _share(found),
        "precision": int(found.sum()) / int(present.sum()) if bool(present.any()) else None,
        "whole_scenes": _share(_same_objects(read, present, codes)),
    }


def _same_objects(read: Tensor, present: Tensor, codes: Tensor) -> Tensor:
    """Scenes whose present slots hold exactly the objects that are there, each as often."""
    perceived = torch.where(present, torch.from_numpy(kind_numbers(read.numpy())), -1)
    there = torch.from_numpy(kind_numbers(codes.numpy()))
    most = perceived.sort(dim=1, descending=True).values[:, : codes.shape[1]]
    same = (most == there.sort(dim=1, descending=True).values).all(dim=1)
    return same & (present.sum(dim=1) == codes.shape[1])


def _share(right: Tensor) -> float | None:
    return float(right.double().mean()) if right.numel() else None
