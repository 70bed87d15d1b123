"""Accuracy of perceived objects against the true ones."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from einstellung.perception.columns import GROUPS, codes_of, is_present
from einstellung.perception.matching import assignment, distances
from einstellung.scenes.attributes import kind_numbers

MAX_DISTANCE = 0.1  # share of the image width: about the radius of a large object
_ABSENT = 10.0  # larger than any distance within an image


def perception_accuracy(outputs: Tensor, codes: Tensor, centres: Tensor) -> dict[str, Any]:
    """Accuracies of slot outputs [N, S, 18] for objects with codes [N, K, 4] and centres [N, K, 2].

    Objects and present slots are matched by distance alone, so that a wrong attribute cannot pick a better partner; an object is
    found if its match is closer than ``MAX_DISTANCE``. ``attributes`` and ``all_attributes`` are shares of the found objects,
    ``recall`` is the share of all objects that are found, ``precision`` the share of present slots that are matched.
    ``whole_scenes`` is the share of scenes perceived with exactly the true objects, regardless of position. None: undefined.
    """
    present = is_present(outputs)
    apart = distances(outputs, centres) + _ABSENT * ~present.unsqueeze(1)
    slots = assignment(apart)
    found = apart.gather(2, slots.unsqueeze(2)).squeeze(2) < MAX_DISTANCE
    perceived_codes = codes_of(outputs)
    right = (perceived_codes.gather(1, slots.unsqueeze(2).expand(-1, -1, codes.shape[2])) == codes)[found]
    return {
        "scenes": len(codes),
        "attributes": {name: _share(right[:, number]) for number, name in enumerate(GROUPS)},
        "all_attributes": _share(right.all(dim=1)),
        "recall": _share(found),
        "precision": int(found.sum()) / int(present.sum()) if bool(present.any()) else None,
        "whole_scenes": _share(_same_objects(perceived_codes, present, codes)),
    }


def _same_objects(perceived_codes: Tensor, present: Tensor, codes: Tensor) -> Tensor:
    """Scenes whose present slots hold exactly the true objects, as multisets."""
    perceived = torch.where(present, torch.from_numpy(kind_numbers(perceived_codes.numpy())), -1)
    there = torch.from_numpy(kind_numbers(codes.numpy()))
    most = perceived.sort(dim=1, descending=True).values[:, : codes.shape[1]]
    same = (most == there.sort(dim=1, descending=True).values).all(dim=1)
    return same & (present.sum(dim=1) == codes.shape[1])


def _share(right: Tensor) -> float | None:
    return float(right.double().mean()) if right.numel() else None
