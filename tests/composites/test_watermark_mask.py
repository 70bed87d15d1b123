"""The watermark: the published letters at their place, and the formula that lays them over an image."""

from __future__ import annotations

import hashlib
from pathlib import Path

import numpy as np
import pytest
from PIL import Image, ImageDraw, ImageFont

from einstellung.composites.watermark_mask import (
    OPACITY,
    SHIPPED,
    TEXTS,
    letter_height,
    rendered_mask,
    watermark_mask,
    watermarked,
)
from einstellung.errors import InputError

FONT = Path("/usr/share/fonts/opentype/noto/NotoSerifCJK-ExtraLight.ttc")
needs_font = pytest.mark.skipif(not FONT.is_file(), reason="needs NotoSerifCJK-ExtraLight (fonts-noto-cjk-extra)")


def extent(mask):
    rows, columns = np.nonzero(mask > 0.02)
    return rows.min(), rows.max() + 1, columns.min(), columns.max() + 1


def test_the_published_mask_is_shipped_as_it_is():
    pixels = np.rint(watermark_mask(224) * 255).astype(np.uint8)
    assert hashlib.sha256(pixels.tobytes()).hexdigest()[:16] == "18d381c8fa22def2"
    assert extent(pixels / 255) == (100, 135, 3, 217)


@needs_font
@pytest.mark.parametrize("text", TEXTS)
@pytest.mark.parametrize("size", SHIPPED)
def test_shipped_masks_are_what_the_font_draws(text, size):
    np.testing.assert_allclose(watermark_mask(size, text), rendered_mask(size, FONT, text), atol=1e-6)


@needs_font
def test_overlaying_gives_what_compositing_letter_by_letter_gives():
    """Pillow's own way: half-transparent letters on an empty layer, that layer over the opaque image."""
    image = np.random.default_rng(0).integers(0, 256, (224, 224, 3), dtype=np.uint8)
    layer = Image.new("RGBA", (224, 224), (255, 255, 255, 0))
    font = ImageFont.truetype(str(FONT), 36, index=2)
    ImageDraw.Draw(layer).text((2.24, 89.6), "捷径捷径捷径", fill=(255, 255, 255, 128), font=font)
    theirs = np.asarray(Image.alpha_composite(Image.fromarray(image).convert("RGBA"), layer).convert("RGB"))
    ours = watermarked(image.transpose(2, 0, 1)).transpose(1, 2, 0)
    assert np.abs(ours.astype(int) - theirs).max() <= 1
    assert (ours != image).any(axis=2).sum() > 1000


@pytest.mark.parametrize("size", [32, 64, 150, 256, 299, 448, 600])
def test_at_other_sizes_letters_keep_their_place_and_height(size):
    mask, scale = watermark_mask(size), letter_height(size) / 82
    assert mask.shape == (size, size)
    assert mask.min() >= 0
    assert mask.max() <= 1
    # at 512, where letters are 82 high, the text is in rows 231 to 307 and columns 7 to 493, its corner at (204.8, 5.12)
    top, bottom, left, right = extent(mask)
    assert top == pytest.approx(0.4 * size + (231 - 204.8) * scale, abs=1.5)
    assert bottom == pytest.approx(0.4 * size + (308 - 204.8) * scale, abs=1.5)
    assert left == pytest.approx(0.01 * size + (7 - 5.12) * scale, abs=1.5)
    assert right == pytest.approx(0.01 * size + (494 - 5.12) * scale, abs=1.5)
    assert mask.sum() == pytest.approx(watermark_mask(512).sum() * scale**2, rel=0.08)


def test_letters_grow_as_published():
    assert [letter_height(size) for size in (224, 384, 512, 518, 240, 256)] == [36, 62, 82, 84, 38, 41]


def test_the_formula_by_hand():
    mask = np.array([[0.0, 0.5], [1.0, 0.25]], dtype=np.float32)
    images = np.full((1, 1, 2, 2), 0.2)
    a = OPACITY * mask
    np.testing.assert_allclose(watermarked(images, mask=mask)[0, 0], 0.2 * (1 - a) + a, rtol=1e-6)
    bytes_ = np.full((1, 2, 2), 100, dtype=np.uint8)
    # 100 (1 - a) + 255 a with a = .8 mask: 100, 162, 224, 131
    assert watermarked(bytes_, 0.8, mask).tolist() == [[[100, 162], [224, 131]]]
    assert watermarked(bytes_, 0.0, mask).tolist() == bytes_.tolist()


def test_the_callers_mask_and_images_stay_as_they_were():
    watermark_mask(64)[:] = 7
    assert watermark_mask(64).max() <= 1
    images = np.zeros((3, 64, 64), dtype=np.uint8)
    watermarked(images)
    assert not images.any()


def test_what_cannot_be_done_is_said(tmp_path):
    with pytest.raises(InputError, match=r"unknown watermark text 'runes'.*watermark, characters, latin"):
        watermark_mask(224, "runes")
    with pytest.raises(InputError, match="6 pixels are too small"):
        watermark_mask(6)
    with pytest.raises(InputError, match=r"30 x 40 pixels.*square"):
        watermarked(np.zeros((3, 30, 40)))
    (tmp_path / "no.ttf").write_bytes(b"no font")
    with pytest.raises(InputError, match="is not a readable font"):
        rendered_mask(64, tmp_path / "no.ttf")
