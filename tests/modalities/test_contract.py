"""What differs between kinds of inputs."""

from __future__ import annotations

import pytest
import torch

from einstellung.cues import PatchCue
from einstellung.cues.series import SpikeCue
from einstellung.errors import InputError
from einstellung.input_words import INPUT_WORDS, words_for
from einstellung.modalities import IMAGES, MODALITIES, SERIES, TEXTS, Scaling, View

CPU, LAYOUT = torch.device("cpu"), torch.contiguous_format
INPUTS = {
    "image": torch.randint(0, 256, (5, 3, 8, 8), dtype=torch.uint8, generator=torch.Generator().manual_seed(0)),
    "text": torch.randint(0, 40, (5, 1, 1, 12), dtype=torch.int32, generator=torch.Generator().manual_seed(0)),
    "series": torch.randn(5, 2, 1, 12, generator=torch.Generator().manual_seed(0)),
}


@pytest.mark.parametrize("name", ["text", "series"])
def test_training_shows_texts_and_series_as_they_are(name):
    inputs = INPUTS[name]
    shown = MODALITIES[name].augmented(inputs, View(2, True), torch.Generator().manual_seed(1))
    assert torch.equal(shown, inputs)


def test_a_net_gets_token_numbers():
    encoded = TEXTS.encoder(Scaling((0.0,), (1.0,)), CPU, LAYOUT)(INPUTS["text"])
    assert (encoded.dtype, encoded.shape) == (torch.long, (5, 12))
    assert encoded.tolist() == INPUTS["text"].flatten(1).tolist()


def test_a_net_gets_normalised_series():
    encoded = SERIES.encoder(Scaling((1.0, -2.0), (2.0, 0.5)), CPU, LAYOUT)(INPUTS["series"])
    assert (encoded.dtype, encoded.shape) == (torch.float32, (5, 2, 12))
    by_hand = [(INPUTS["series"][:, 0, 0] - 1) / 2, (INPUTS["series"][:, 1, 0] + 2) / 0.5]
    assert torch.allclose(encoded, torch.stack(by_hand, dim=1))


@pytest.mark.parametrize("kind", [TEXTS, SERIES], ids=lambda kind: kind.name)
def test_only_images_have_a_side(kind):
    with pytest.raises(InputError, match=f"stream.input_size is for images; leave it out for {kind.words.many}"):
        kind.check_scaling(Scaling((0.0,), (1.0,), side=64), INPUTS[kind.name])


@pytest.mark.parametrize("kind", MODALITIES.values(), ids=lambda kind: kind.name)
def test_the_canvases_differ_everywhere(kind):
    like = INPUTS[kind.name]
    one, other = kind.canvases(like)
    assert one.shape == other.shape == like.shape
    assert one.dtype == other.dtype == like.dtype
    assert bool((one != other).all())


def test_what_cannot_have_been_painted():
    index = torch.arange(5)
    painted = PatchCue(size=2).paint(INPUTS["image"], index)
    assert IMAGES.may_be_painted(PatchCue(size=2), painted, index).all()
    assert not IMAGES.may_be_painted(PatchCue(size=2), INPUTS["image"], index).any()
    assert SERIES.may_be_painted(SpikeCue(), INPUTS["series"], index).all()


def test_sizes_in_words():
    assert [MODALITIES[name].size(INPUTS[name]) for name in INPUTS] == ["8x8", "12 tokens", "12 samples"]


def test_sentences_of_images_in_other_words():
    texts, series = INPUT_WORDS["text"], INPUT_WORDS["series"]
    assert texts.say("Images: an image of 2 pixels, per-image, imagery") == (
        "Texts: a text of 2 tokens, per-text, imagery"
    )
    assert series.say("each image has an image's pixels") == "each series has a series's samples"
    page = '<p title="image">image <b>images</b></p><pre>image</pre><script>"image < 3"</script><style>image</style>'
    assert texts.say_html(page) == page.replace(">image <b>images<", ">text <b>texts<")
    assert texts.say_data({"image": ["image", 3, None]}) == {"image": ["text", 3, None]}
    assert words_for(None).say_html(page) == page
    assert words_for({"inputs": "image"}) is INPUT_WORDS["image"]
