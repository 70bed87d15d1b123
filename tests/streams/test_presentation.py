"""What a net sees: augmentation, then cue, then normalisation."""

from __future__ import annotations

from dataclasses import replace

import pytest
import torch
import torch.nn.functional as F

from einstellung.cues import PatchCue
from einstellung.errors import InputError
from einstellung.modalities import crop_and_flip
from einstellung.randomness import generator
from einstellung.streams import ImageSet, Presentation, shapes


def test_crop_and_flip_against_a_loop():
    images = torch.randint(0, 256, (20, 3, 12, 10), dtype=torch.uint8)
    together = crop_and_flip(images, 2, True, torch.Generator().manual_seed(5))
    drawn = torch.rand(3, 20, generator=torch.Generator().manual_seed(5))
    for number, image in enumerate(images):
        top, left = int(drawn[0, number] * 5), int(drawn[1, number] * 5)
        padded = F.pad(image, (2, 2, 2, 2))
        cut = padded[:, top : top + 12, left : left + 10]
        if drawn[2, number] < 0.5:
            cut = cut.flip(-1)
        assert torch.equal(together[number], cut)


def test_the_cue_stands_in_its_corner_after_augmentation(small_stream):
    presentation = Presentation(small_stream)
    train = small_stream.phases[1].train
    pixels = presentation.training_pixels(train, generator(1, "a"), generator(1, "b"))
    corner = pixels[:, :, :4, :4]
    magenta = torch.tensor([255, 0, 255], dtype=torch.uint8).view(1, 3, 1, 1)
    assert torch.equal((corner == magenta).flatten(1).all(dim=1), train.has_cue)


def test_normalisation_by_hand(small_stream):
    presentation = Presentation(small_stream)
    pixels = small_stream.split("T1_all").images.images[:4]
    by_hand = (pixels.double() / 255 - 0.5) / 0.25
    assert torch.allclose(presentation.normalised(pixels).double(), by_hand, atol=1e-5)


def test_same_address_same_pixels_next_epoch_other_pixels(small_stream):
    presentation, train = Presentation(small_stream), small_stream.phases[0].train

    def epoch(number: int) -> torch.Tensor:
        return presentation.training_pixels(train, generator(42, "augmentation", "T1", number), None)

    assert torch.equal(epoch(1), epoch(1))
    assert (epoch(1) != epoch(2)).flatten(1).any(dim=1).float().mean() > 0.9


def test_images_are_enlarged_last_with_what_is_painted_on_them(small_stream):
    """4 pixels of 32 become 28 of 224, and blur into what is around them by half an old pixel on either side."""
    presentation = Presentation(replace(small_stream, input_size=224))
    splits = (small_stream.split(f"T2_shortcut_{kind}").images.images[:3] for kind in ("normal", "masked"))
    patched, masked = (presentation.normalised(pixels) for pixels in splits)
    assert patched.shape == masked.shape == (3, 3, 224, 224)
    for shown, colour in ((patched, (2, -2, 2)), (masked, (-2, -2, -2))):  # magenta and black, normalised
        assert torch.allclose(shown[..., :24, :24], torch.tensor(colour).float().view(1, 3, 1, 1), atol=1e-5)
    differ = (patched != masked).any(dim=1)
    assert differ[:, :32, :32].any()
    assert not differ[:, 32:].any()
    assert not differ[:, :, 32:].any()


def test_images_are_never_shrunk(small_stream):
    with pytest.raises(InputError, match=r"stream\.input_size is 16, but images are 32x32 and can only be enlarged"):
        Presentation(replace(small_stream, input_size=16))


def test_pixels_on_a_device_stay_there_and_are_cropped_by_the_same_draws(small_stream):
    """What a learner drew on the device of its net need not come back to be augmented."""
    draws, as_many = torch.Generator().manual_seed(3), torch.Generator().manual_seed(3)
    drawn = ImageSet.without_cue(
        torch.zeros(5, 3, 32, 32, dtype=torch.uint8, device="meta"), *2 * [torch.zeros(5).long()]
    )
    inputs = Presentation(small_stream, "meta").training(drawn, draws, None)
    assert (inputs.device.type, inputs.dtype, inputs.shape) == ("meta", torch.float32, (5, 3, 32, 32))
    crop_and_flip(torch.zeros(5, 3, 32, 32, dtype=torch.uint8), 4, True, as_many)
    assert torch.equal(draws.get_state(), as_many.get_state())


def test_images_of_a_set_are_prepared_on_the_cpu_and_shown_on_the_device(small_stream):
    presentation, train = Presentation(small_stream, "meta"), small_stream.phases[1].train
    assert presentation.training_pixels(train, generator(1, "a"), generator(1, "b")).device.type == "cpu"
    assert presentation.training(train, generator(1, "a"), generator(1, "b")).device.type == "meta"
    assert presentation.unaugmented(train).device.type == "meta"


@pytest.mark.parametrize("habit", ["none", "same", "other"])
def test_a_batch_of_both_phases_gets_the_cue_of_each(habit):
    """As in replay: T1's habit, here green at the bottom right, and T2's magenta patch at the top left."""
    stream = shapes(PatchCue(habit=habit), train_per_class=4, test_per_class=2)
    t1, t2 = (phase.train for phase in stream.phases)
    order = torch.randperm(len(t1) + len(t2), generator=torch.Generator().manual_seed(0))
    batch = ImageSet.joined((t1, t2)).take(order)
    presentation = Presentation(stream)
    for pixels in (
        presentation.training_pixels(batch, generator(1, "a"), generator(1, "b")),
        presentation.painted(batch.images, batch),
    ):
        magenta, green = (torch.tensor(one, dtype=torch.uint8).view(1, 3, 1, 1) for one in ((255, 0, 255), (0, 255, 0)))
        top_left = (pixels[:, :, :4, :4] == magenta).flatten(1).all(dim=1)
        bottom_right = (pixels[:, :, 28:, 28:] == green).flatten(1).all(dim=1)
        of_t1 = torch.isin(batch.labels, torch.tensor(stream.phases[0].classes))
        assert torch.equal(top_left, batch.has_cue & ~of_t1 if habit == "other" else batch.has_cue)
        assert torch.equal(bottom_right, batch.has_cue & of_t1 if habit == "other" else torch.zeros_like(of_t1))
        assert bool((batch.has_cue & of_t1).any()) == (habit != "none")
