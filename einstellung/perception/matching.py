"""Which slot answers for which object, and what is lost by that assignment.

An object costs the slot that it is given to: the cross entropy of its attributes, its distance from where the slot says it is,
the mean of -log of the attention that its pixels give to the slot, and presence. The assignment of least cost is found by the
Hungarian method. The loss of a scene is the mean of the objects' costs, the cross entropy of presence of all slots, and the mean
of -log of the attention that pixels of the ground give to slots without an object.

Locatello et al. use the Huber loss of all columns alike, and nothing but the attributes and places. Cross entropy, and the masks
that a renderer knows, teach the same table in a small part of the steps: where the objects are is learned first, and at once.
"""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import Tensor

from einstellung.errors import InputError
from einstellung.perception.columns import CENTRE, GROUPS, PRESENCE
from einstellung.perception.unruled import KnownScenes

DISTANCE = 5.0  # weight of a distance of the whole picture, against nats
_LEAST = 1e-6  # attention, or share of a place: for logarithms and quotients


def set_loss(outputs: Tensor, attention: Tensor, scenes: KnownScenes) -> Tensor:
    """The mean loss over scenes, from outputs [N, S, 18] of slots and the attention [N, S, P] of places."""
    seen = areas(scenes.masks, scenes.codes.shape[1], round(attention.shape[2] ** 0.5)).to(attention)
    costs = pair_costs(outputs, attention, scenes.codes, scenes.centres, seen)
    slots = assignment(costs)
    lost = costs.gather(2, slots.unsqueeze(2)).sum(dim=(1, 2))
    absent = F.softplus(outputs[:, :, PRESENCE]).mean(dim=1)  # -log(1 - p); what a chosen slot has more is in its cost
    free = torch.ones(outputs.shape[:2]).scatter(1, slots, 0.0).to(attention)
    return (lost + absent + _ground(attention, seen, free)).mean()


def pair_costs(outputs: Tensor, attention: Tensor, codes: Tensor, centres: Tensor, seen: Tensor) -> Tensor:
    """What it costs if an object is given to a slot: [N, K, S]."""
    slots, objects = outputs.shape[1], codes.shape[1]
    wrong = DISTANCE * distances(outputs, centres)
    for number, group in enumerate(GROUPS.values()):
        likelihood = outputs[:, :, group].log_softmax(dim=2).transpose(1, 2)  # [N, values, S]
        wrong = wrong - likelihood.gather(1, codes[:, :, number, None].expand(-1, -1, slots))
    shares = seen / seen.sum(dim=2, keepdim=True).clamp(min=_LEAST)
    wrong = wrong - shares @ attention.clamp(min=_LEAST).log().transpose(1, 2)
    # -log p + log(1 - p) = -logit
    return wrong / objects - outputs[:, None, :, PRESENCE] / slots


def _ground(attention: Tensor, seen: Tensor, free: Tensor) -> Tensor:
    """Of every scene: the mean of -log of the attention that the ground gives to the slots that are ``free`` [N, S]."""
    ground = 1 - seen.sum(dim=1)
    held = (attention * free.unsqueeze(2)).sum(dim=1).clamp(min=_LEAST)
    return -(ground * held.log()).sum(dim=1) / ground.sum(dim=1).clamp(min=_LEAST)


def areas(masks: Tensor, objects: int, side: int) -> Tensor:
    """How much of each of ``side`` x ``side`` places an object takes: [N, objects, side * side], from masks [N, H, H].

    >>> areas(torch.tensor([[[1, 1], [0, 2]]]), 2, 1)
    tensor([[[0.5000],
             [0.2500]]])
    """
    each = torch.stack([masks == number for number in range(1, objects + 1)], dim=1)
    return F.adaptive_avg_pool2d(each.float(), side).flatten(2)


def distances(outputs: Tensor, centres: Tensor) -> Tensor:
    """How far an object is from where a slot says it is, along both axes together, in widths of the picture: [N, K, S]."""
    return (outputs[:, None, :, CENTRE].sigmoid() - centres[:, :, None]).abs().sum(dim=3)


def assignment(costs: Tensor) -> Tensor:
    """The slot of every object [N, K], each slot once, so that the sum of a scene's costs [N, K, S] is least.

    >>> assignment(torch.tensor([[[1.0, 2.0, 9.0], [0.0, 5.0, 9.0]]])).tolist()
    [[1, 0]]
    """
    from scipy.optimize import linear_sum_assignment

    if not bool(torch.isfinite(costs).all()):
        raise InputError("the outputs of slots are no numbers any more: lower the learning rate (--lr)")
    slots = [torch.from_numpy(linear_sum_assignment(scene)[1]) for scene in costs.detach().cpu().numpy()]
    return torch.stack(slots).to(costs.device)
