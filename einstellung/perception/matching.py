"""The matching of objects to slots, and the set loss.

The cost of matching an object to a slot: the cross entropy of its attributes, the distance to the slot's centre, the mean -log
attention of its pixels to the slot, and presence. The Hungarian algorithm finds the matching of least cost. The loss of a scene
is the mean cost of its objects, plus the cross entropy of presence over all slots, plus the mean -log attention of ground pixels
to unmatched slots.

Locatello et al. use a Huber loss on all columns, and only attributes and positions. With cross entropy and the renderer's masks,
the same table is learned in a fraction of the steps: positions are learned first, and quickly.
"""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import Tensor

from einstellung.errors import InputError
from einstellung.perception.columns import CENTRE, GROUPS, PRESENCE
from einstellung.perception.random_scenes import AnnotatedScenes

DISTANCE = 5.0  # weight of a distance of one image width, in nats
_EPSILON = 1e-6  # lower bound in logarithms and quotients


def set_loss(outputs: Tensor, attention: Tensor, scenes: AnnotatedScenes) -> Tensor:
    """The mean loss over scenes, from slot outputs [N, S, 18] and attention [N, S, P] of P positions."""
    coverage = areas(scenes.masks, scenes.codes.shape[1], round(attention.shape[2] ** 0.5)).to(attention)
    costs = pair_costs(outputs, attention, scenes.codes, scenes.centres, coverage)
    slots = assignment(costs)
    matched = costs.gather(2, slots.unsqueeze(2)).sum(dim=(1, 2))
    absent = F.softplus(outputs[:, :, PRESENCE]).mean(
        dim=1
    )  # -log(1 - p); the cost of matched slots has the difference
    unmatched = torch.ones(outputs.shape[:2]).scatter(1, slots, 0.0).to(attention)
    return (matched + absent + _ground(attention, coverage, unmatched)).mean()


def pair_costs(outputs: Tensor, attention: Tensor, codes: Tensor, centres: Tensor, coverage: Tensor) -> Tensor:
    """The cost of matching each object to each slot: [N, K, S]."""
    slots, objects = outputs.shape[1], codes.shape[1]
    cost = DISTANCE * distances(outputs, centres)
    for number, group in enumerate(GROUPS.values()):
        likelihood = outputs[:, :, group].log_softmax(dim=2).transpose(1, 2)  # [N, values, S]
        cost = cost - likelihood.gather(1, codes[:, :, number, None].expand(-1, -1, slots))
    shares = coverage / coverage.sum(dim=2, keepdim=True).clamp(min=_EPSILON)
    cost = cost - shares @ attention.clamp(min=_EPSILON).log().transpose(1, 2)
    # -log p + log(1 - p) = -logit
    return cost / objects - outputs[:, None, :, PRESENCE] / slots


def _ground(attention: Tensor, coverage: Tensor, unmatched: Tensor) -> Tensor:
    """Mean -log attention of ground positions to the ``unmatched`` slots [N, S], per scene."""
    ground = 1 - coverage.sum(dim=1)
    attended = (attention * unmatched.unsqueeze(2)).sum(dim=1).clamp(min=_EPSILON)
    return -(ground * attended.log()).sum(dim=1) / ground.sum(dim=1).clamp(min=_EPSILON)


def areas(masks: Tensor, objects: int, side: int) -> Tensor:
    """The share of each of ``side`` x ``side`` cells covered by each object: [N, objects, side * side], from masks [N, H, H].

    >>> areas(torch.tensor([[[1, 1], [0, 2]]]), 2, 1)
    tensor([[[0.5000],
             [0.2500]]])
    """
    each = torch.stack([masks == number for number in range(1, objects + 1)], dim=1)
    return F.adaptive_avg_pool2d(each.float(), side).flatten(2)


def distances(outputs: Tensor, centres: Tensor) -> Tensor:
    """L1 distance between object centres and slot centres in image widths: [N, K, S]."""
    return (outputs[:, None, :, CENTRE].sigmoid() - centres[:, :, None]).abs().sum(dim=3)


def assignment(costs: Tensor) -> Tensor:
    """Match objects to distinct slots [N, K] so that the sum of costs [N, K, S] is minimal.

    >>> assignment(torch.tensor([[[1.0, 2.0, 9.0], [0.0, 5.0, 9.0]]])).tolist()
    [[1, 0]]
    """
    from scipy.optimize import linear_sum_assignment

    if not bool(torch.isfinite(costs).all()):
        raise InputError("slot outputs are not finite: lower the learning rate (--lr)")
    slots = [torch.from_numpy(linear_sum_assignment(scene)[1]) for scene in costs.detach().cpu().numpy()]
    return torch.stack(slots).to(costs.device)
