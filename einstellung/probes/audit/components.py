"""Global cues: properties of a whole image that can be moved to another one, such as its colour or its border."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor

from einstellung.probes.audit.examination import SMALLEST_PULL, above, positive, upper
from einstellung.probes.audit.transplants import Doubles, Ints, PredictedImages, foreign_donors, of_the_same_class

REPLACED = "replaced"  # by the component of an image of another class
SAME = "of its own class"
Exchange = Callable[[Tensor, Tensor], Tensor]  # (recipients, donors) -> recipients with the donors' component


def _blurred(images: Tensor, share: float) -> Tensor:
    """A box blur, twice, over a share of the image's side."""
    side = max(3, 2 * round(share * images.shape[-1] / 2) + 1)
    pad = side // 2
    for _ in range(2):
        images = F.avg_pool2d(F.pad(images, (pad, pad, pad, pad), mode="replicate"), side, stride=1)
    return images


def _colour(recipients: Tensor, donors: Tensor) -> Tensor:
    return recipients - recipients.mean(dim=(2, 3), keepdim=True) + donors.mean(dim=(2, 3), keepdim=True)


def _low(recipients: Tensor, donors: Tensor) -> Tensor:
    return recipients - _blurred(recipients, 0.25) + _blurred(donors, 0.25)


def _high(recipients: Tensor, donors: Tensor) -> Tensor:
    return _blurred(recipients, 0.08) + donors - _blurred(donors, 0.08)


def _border(recipients: Tensor, donors: Tensor) -> Tensor:
    edge = max(1, recipients.shape[-1] // 16)
    result = donors.clone()
    result[..., edge:-edge, edge:-edge] = recipients[..., edge:-edge, edge:-edge]
    return result


def _grey(images: Tensor) -> Tensor:
    return images.mean(dim=1, keepdim=True).expand_as(images)


def _flat_border(value: float) -> Callable[[Tensor], Tensor]:
    return lambda images: _border(images, torch.full_like(images, value))


def _with_detail(images: Tensor, detail: Tensor) -> Tensor:
    """Images with other high frequencies, as strong as those of the average image.

    Removing high frequencies changes nothing where their absence is the cue, so they are set to an ordinary strength instead.
    """
    own = images - _blurred(images, 0.08)
    usual = own.flatten(1).std(dim=1).median()
    strength = detail.flatten(1).std(dim=1).clamp(min=1).view(-1, 1, 1, 1)
    return _blurred(images, 0.08) + detail * usual / strength


def _noise(images: Tensor) -> Tensor:
    return torch.randn(images.shape, generator=torch.Generator().manual_seed(0))


#: By name: how it is exchanged, and two other ways to remove it.
COMPONENTS: Mapping[str, tuple[Exchange, Mapping[str, Callable[[Tensor], Tensor]]]] = {
    "colour": (_colour, {"grey": _grey, "channels permuted": lambda images: images[:, [1, 2, 0]]}),
    "low frequencies": (
        _low,
        {"flattened": lambda images: images - _blurred(images, 0.25) + 127.5, "grey": _grey},
    ),
    "high frequencies": (
        _high,
        {
            "of average strength": lambda images: _with_detail(images, images - _blurred(images, 0.08)),
            "noise": lambda images: _with_detail(images, _noise(images)),
        },
    ),
    "border": (_border, {"black": _flat_border(0.0), "grey": _flat_border(127.5)}),
}
CONSTRUCTION = {
    "colour": "channel means replaced by those of an image of another class",
    "low frequencies": "box blur over a quarter of the side, replaced by that of an image of another class",
    "high frequencies": "residual of a small box blur, replaced by that of an image of another class",
    "border": "frame of a sixteenth of the side, replaced by that of an image of another class",
}


def exchanged(name: str, recipients: Tensor, donors: Tensor) -> Tensor:
    """uint8 recipients with the component of the donors."""
    return _bytes(COMPONENTS[name][0](recipients.float(), donors.float()))


def _bytes(images: Tensor) -> Tensor:
    return images.round().clamp(0, 255).to(torch.uint8)


@dataclass(frozen=True)
class ExaminedComponent:
    """How much a component of a class matters; fields as for a region."""

    label: int
    component: str
    rows: Ints
    by_donor: Doubles
    null_pull: float
    fall: Mapping[str, Doubles]
    lost: Mapping[str, Doubles]
    nsc_fall: Doubles
    nsc_lost: float

    @property
    def pull(self) -> float:
        return float(self.by_donor.mean())

    @property
    def strength(self) -> float:
        return self.pull / max(self.null_pull, SMALLEST_PULL)

    def beats_nsc(self) -> bool:
        return above(self.fall[REPLACED], self.nsc_fall)

    def beats_random(self) -> bool:
        """Whether the component of another class costs more than that of another image of the same class."""
        return positive(self.fall[REPLACED] - self.fall[SAME])

    def beats_fillings(self) -> bool:
        return all(positive(values) for name, values in self.fall.items() if name not in (REPLACED, SAME))


def examine_components(
    predicted: PredictedImages, draws: np.random.Generator, each: int = 3
) -> list[ExaminedComponent]:
    """Every component of every class."""
    result = []
    rows, labels = np.arange(len(predicted)), predicted.labels
    for name, removals in _components(predicted.images.shape[1]).items():
        gains, times = np.zeros(len(predicted)), np.zeros(len(predicted))
        falls, losts = [], []
        for _ in range(each):
            donors = foreign_donors(labels, draws)
            after = predicted.model.probabilities(
                exchanged(name, predicted.images, predicted.images[torch.from_numpy(donors)])
            )
            np.add.at(gains, donors, after[rows, labels[donors]] - predicted.before[rows, labels[donors]])
            np.add.at(times, donors, 1)
            falls.append(predicted.before[rows, labels] - after[rows, labels])
            losts.append(_lost(predicted, after))
        gains /= np.maximum(times, 1)
        fall = {REPLACED: np.mean(falls, axis=0)}
        lost = {REPLACED: np.mean(losts, axis=0)}
        after = predicted.model.probabilities(
            exchanged(name, predicted.images, predicted.images[torch.from_numpy(of_the_same_class(labels, draws))])
        )
        fall[SAME], lost[SAME] = predicted.before[rows, labels] - after[rows, labels], _lost(predicted, after)
        for removal, take_away in removals.items():
            after = predicted.model.probabilities(_bytes(take_away(predicted.images.float())))
            fall[removal], lost[removal] = predicted.before[rows, labels] - after[rows, labels], _lost(predicted, after)
        pull = {label: _mean_of(gains[(labels == label) & (times > 0)]) for label in predicted.classes}
        for label in predicted.classes:
            own = labels == label
            result.append(
                ExaminedComponent(
                    label,
                    name,
                    np.flatnonzero(own),
                    np.where(times > 0, gains, pull[label])[own],
                    upper([value for other, value in pull.items() if other != label]),
                    {key: np.asarray(values[own], dtype=np.float64) for key, values in fall.items()},
                    {key: np.asarray(values[own], dtype=np.float64) for key, values in lost.items()},
                    np.asarray(fall[REPLACED][~own], dtype=np.float64),
                    float(lost[REPLACED][~own].mean()),
                )
            )
    return result


def _components(channels: int) -> dict[str, Mapping[str, Callable[[Tensor], Tensor]]]:
    """By name, the other ways to remove a component; an image of one channel has no colour."""
    if channels == 3:
        return {name: removals for name, (_, removals) in COMPONENTS.items()}
    return {
        name: {removal: take_away for removal, take_away in removals.items() if take_away is not _grey}
        for name, (_, removals) in COMPONENTS.items()
        if name != "colour"
    }


def _mean_of(values: Doubles) -> float:
    return float(values.mean()) if len(values) else 0.0


def _lost(predicted: PredictedImages, after: np.ndarray) -> Doubles:
    right = (predicted.before.argmax(axis=1) == predicted.labels) * 1.0
    return np.asarray(right - (after.argmax(axis=1) == predicted.labels))
