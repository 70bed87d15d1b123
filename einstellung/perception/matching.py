"""Which slot answers for which object, and what is lost by the best such assignment.

Loss of a scene with K objects o and S slots s of presence p: the mean over objects of the cross entropy of their attributes and
of their distance from where the slot says they are, plus the mean over slots of the cross entropy of presence, 1 for slots that
were given an object and 0 for the others; under the assignment for which it is least, found by the Hungarian method. Locatello
et al. use the Huber loss of all columns alike; cross entropy learns the same table in far fewer steps.
"""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import Tensor

from einstellung.perception.columns import CENTRE, GROUPS, PRESENCE

DISTANCE = 5.0  # weight of a distance of the whole picture, against nats of the attributes


def set_loss(outputs: Tensor, codes: Tensor, centres: Tensor) -> Tensor:
    """The mean loss over scenes: outputs [N, S, 18] of slots; codes [N, K, 4] and centres [N, K, 2] of objects."""
    costs = pair_costs(outputs, codes, centres)
    chosen = costs.gather(2, assignment(costs).unsqueeze(2))
    absent = F.softplus(outputs[:, :, PRESENCE])  # -log(1 - p); that of a chosen slot is in its cost
    return chosen.sum(dim=(1, 2)).add(absent.mean(dim=1)).mean()


def pair_costs(outputs: Tensor, codes: Tensor, centres: Tensor) -> Tensor:
    """By how much the loss grows if an object is given to a slot: [N, K, S]."""
    slots, objects = outputs.shape[1], codes.shape[1]
    wrong = DISTANCE * distances(outputs, centres)
    for number, group in enumerate(GROUPS.values()):
        likelihood = outputs[:, :, group].log_softmax(dim=2).transpose(1, 2)  # [N, values, S]
        wrong = wrong - likelihood.gather(1, codes[:, :, number, None].expand(-1, -1, slots))
    # -log p + log(1 - p) = -logit
    return wrong / objects - outputs[:, None, :, PRESENCE] / slots


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
        raise FloatingPointError("the outputs of slots are no numbers any more: lower the learning rate")
    slots = [torch.from_numpy(linear_sum_assignment(scene)[1]) for scene in costs.detach().cpu().numpy()]
    return torch.stack(slots).to(costs.device)
