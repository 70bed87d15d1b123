"""Variational autoencoders (Kingma & Welling, 2014) that generate images like those of a phase.

loss = E_q(z|x)[-log p(x | z)] + KL(q(z | x) || N(0, I)), summed over pixels and latent dimensions, mean over images; p(x | z)
is Bernoulli per pixel value in [0, 1] (binary cross entropy), q(z | x) normal with a diagonal covariance, one sample of z per
image. A generated image is the mean of p(x | z), rounded to whole grey levels.
"""

from __future__ import annotations

import math
from itertools import pairwise

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from einstellung.errors import InputError
from einstellung.modalities.transfer import to_device
from einstellung.randomness import seeded_globally

_CHANNELS = (24, 48, 96)  # of the convolutions; each halves the image
_HIDDEN = 400  # units of each of the two layers of the perceptron, as in van de Ven & Tolias (2018)
_SMALLEST = 2 ** len(_CHANNELS)  # an image must be halved as often as there are convolutions


class VariationalAutoencoder(nn.Module):
    """Images [N, 3, H, W] in [0, 1] to codes [N, ``codes``] and back; through ``encoder`` and ``decoder``."""

    def __init__(self, encoder: nn.Module, decoder: nn.Module, codes: int) -> None:
        super().__init__()
        self.encoder = encoder
        self.decoder = decoder
        self.codes = codes

    def losses(self, images: Tensor, noise: Tensor) -> Tensor:
        """The negative evidence lower bound of every image; ``noise`` [N, codes] samples the codes."""
        mean, log_variance = self.encoder(images).float().chunk(2, dim=1)
        logits = self.decoder(mean + (0.5 * log_variance).exp() * noise).float()
        reconstruction = F.binary_cross_entropy_with_logits(logits, images, reduction="none").sum(dim=(1, 2, 3))
        return reconstruction + kl_from_standard_normal(mean, log_variance)

    @torch.no_grad()
    def draw(self, count: int, draws: torch.Generator) -> Tensor:
        """``count`` new images, uint8, where the autoencoder is; ``draws`` is a generator of the CPU."""
        noise = to_device(torch.randn(count, self.codes, generator=draws), next(self.parameters()).device)
        return (self.decoder(noise).float().sigmoid() * 255).round().to(torch.uint8)


def kl_from_standard_normal(mean: Tensor, log_variance: Tensor) -> Tensor:
    """KL(N(mean, variance) || N(0, I)) = 1/2 sum (mean^2 + variance - log variance - 1).

    >>> kl_from_standard_normal(torch.tensor([[0.0, 2.0]]), torch.zeros(1, 2))
    tensor([2.])
    """
    return 0.5 * (mean.square() + log_variance.exp() - log_variance - 1).sum(dim=1)


def conv_autoencoder(height: int, width: int, codes: int) -> VariationalAutoencoder:
    """Three convolutions of stride 2, and their mirror image."""
    sides = [(height >> halvings, width >> halvings) for halvings in range(len(_CHANNELS) + 1)]
    channels = (3, *_CHANNELS)
    flat = channels[-1] * math.prod(sides[-1])
    down: list[nn.Module] = []
    for inputs, outputs in pairwise(channels):
        down += [nn.Conv2d(inputs, outputs, 4, stride=2, padding=1), nn.ReLU()]
    up: list[nn.Module] = []
    for step in reversed(range(len(_CHANNELS))):
        odd = tuple(large - 2 * small for large, small in zip(sides[step], sides[step + 1], strict=True))
        layer = nn.ConvTranspose2d(channels[step + 1], channels[step], 4, stride=2, padding=1, output_padding=odd)
        up += [nn.ReLU(), layer]
    encoder = nn.Sequential(*down, nn.Flatten(), nn.Linear(flat, 2 * codes))
    decoder = nn.Sequential(nn.Linear(codes, flat), nn.Unflatten(1, (channels[-1], *sides[-1])), *up)
    return VariationalAutoencoder(encoder, decoder, codes)


def mlp_autoencoder(height: int, width: int, codes: int) -> VariationalAutoencoder:
    """Two hidden layers on either side."""
    pixels = 3 * height * width
    encoder = nn.Sequential(
        nn.Flatten(),
        nn.Linear(pixels, _HIDDEN),
        nn.ReLU(),
        nn.Linear(_HIDDEN, _HIDDEN),
        nn.ReLU(),
        nn.Linear(_HIDDEN, 2 * codes),
    )
    decoder = nn.Sequential(
        nn.Linear(codes, _HIDDEN),
        nn.ReLU(),
        nn.Linear(_HIDDEN, _HIDDEN),
        nn.ReLU(),
        nn.Linear(_HIDDEN, pixels),
        nn.Unflatten(1, (3, height, width)),
    )
    return VariationalAutoencoder(encoder, decoder, codes)


AUTOENCODERS = {"conv": conv_autoencoder, "mlp": mlp_autoencoder}


def build_autoencoder(kind: str, height: int, width: int, codes: int, seed: int) -> VariationalAutoencoder:
    """A fresh autoencoder; the same arguments give the same weights whatever was drawn before.

    >>> build_autoencoder("conv", 20, 20, 5, seed=0).draw(2, torch.Generator().manual_seed(0)).shape
    torch.Size([2, 3, 20, 20])
    """
    if min(height, width) < _SMALLEST:
        raise InputError(
            f"images of {height}x{width} are too small for a generator: give at least {_SMALLEST} pixels a side"
        )
    with seeded_globally(seed, "generator-initialisation"):
        return AUTOENCODERS[kind](height, width, codes)
