"""The autoencoders: their loss against torch.distributions, what they draw, and that they learn."""

from __future__ import annotations

import pytest
import torch
from torch.distributions import Bernoulli, Normal, kl_divergence

from einstellung.errors import InputError
from einstellung.learners.generators import build_autoencoder, kl_from_standard_normal

KINDS = ("conv", "mlp")


def test_kl_against_torch_distributions():
    mean, log_variance = torch.randn(5, 4, dtype=torch.float64), torch.randn(5, 4, dtype=torch.float64)
    theirs = kl_divergence(Normal(mean, (log_variance / 2).exp()), Normal(0.0, 1.0)).sum(dim=1)
    assert torch.allclose(kl_from_standard_normal(mean, log_variance), theirs)


@pytest.mark.parametrize("kind", KINDS)
def test_the_loss_is_the_negative_evidence_lower_bound(kind):
    """log q(z | x) - log p(z) integrated in closed form, log p(x | z) at the one code drawn."""
    autoencoder = build_autoencoder(kind, 12, 8, 6, seed=0)
    images, noise = torch.rand(5, 3, 12, 8), torch.randn(5, 6)
    with torch.no_grad():
        ours = autoencoder.losses(images, noise)
        mean, log_variance = autoencoder.encoder(images)[:, :6], autoencoder.encoder(images)[:, 6:]
        code = Normal(mean, (log_variance / 2).exp())
        logits = autoencoder.decoder(code.mean + code.stddev * noise)
        seen = Bernoulli(logits=logits, validate_args=False).log_prob(images).sum(dim=(1, 2, 3))
        kl = kl_divergence(code, Normal(0.0, 1.0)).sum(dim=1)
    assert float(kl.min()) > 1e-4
    assert torch.allclose(ours, kl - seen, rtol=1e-5)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("size", [(8, 8), (12, 20), (13, 11), (32, 32)])
def test_drawn_images_have_the_right_form(kind, size):
    autoencoder = build_autoencoder(kind, *size, 3, seed=0)
    drawn = autoencoder.draw(7, torch.Generator().manual_seed(1))
    assert drawn.shape == (7, 3, *size)
    assert drawn.dtype == torch.uint8
    assert not drawn.requires_grad
    assert torch.equal(drawn, autoencoder.draw(7, torch.Generator().manual_seed(1)))
    assert not torch.equal(drawn, autoencoder.draw(7, torch.Generator().manual_seed(2)))
    assert autoencoder.losses(torch.rand(2, 3, *size), torch.zeros(2, 3)).shape == (2,)


def test_what_is_drawn_is_the_mean_of_a_pixel_in_grey_levels():
    autoencoder = build_autoencoder("mlp", 8, 8, 3, seed=0)
    layer = autoencoder.decoder[-2]
    torch.nn.init.zeros_(layer.weight)
    for probability, level in ((0.0, 0), (0.5, 128), (0.2, 51), (1.0, 255)):
        torch.nn.init.constant_(layer.bias, float(torch.logit(torch.tensor(probability))))
        assert bool((autoencoder.draw(2, torch.Generator()) == level).all())


@pytest.mark.parametrize("kind", KINDS)
def test_the_loss_falls_below_that_of_the_mean_image(kind, stream):
    images = stream.phases[0].train.images.float() / 255
    autoencoder = build_autoencoder(kind, 12, 12, 8, seed=0)
    optimiser = torch.optim.Adam(autoencoder.parameters(), lr=3e-3)
    draws = torch.Generator().manual_seed(0)
    for _ in range(80):
        loss = autoencoder.losses(images, torch.randn(len(images), 8, generator=draws)).mean()
        optimiser.zero_grad()
        loss.backward()
        optimiser.step()
    mean = Bernoulli(images.mean(dim=0).clamp(1e-3, 1 - 1e-3), validate_args=False)
    assert float(loss.detach()) < float(-mean.log_prob(images).sum(dim=(1, 2, 3)).mean())


@pytest.mark.parametrize("kind", KINDS)
def test_weights_come_from_the_seed_alone(kind):
    torch.manual_seed(1)
    one = build_autoencoder(kind, 8, 8, 3, seed=0)
    drawn = torch.rand(1)
    torch.manual_seed(1)
    assert torch.equal(drawn, torch.rand(1))  # the global generator is left as it was
    same, other = build_autoencoder(kind, 8, 8, 3, seed=0), build_autoencoder(kind, 8, 8, 3, seed=1)
    pairs = list(zip(one.parameters(), same.parameters(), other.parameters(), strict=True))
    assert all(torch.equal(p, q) for p, q, _ in pairs)
    assert not any(torch.equal(p, r) for p, _, r in pairs)


def test_too_small_images_are_named():
    with pytest.raises(InputError, match="6x20 are too small"):
        build_autoencoder("conv", 6, 20, 3, seed=0)
