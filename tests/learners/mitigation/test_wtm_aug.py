"""Watermark augmentation: text as Pillow draws it, laid over images by the formula; fonts that are there and that are not."""

from __future__ import annotations

import copy
from dataclasses import replace
from pathlib import Path

import matplotlib
import numpy as np
import pytest
import torch
import torch.nn.functional as F
from fontTools.fontBuilder import FontBuilder
from fontTools.pens.ttGlyphPen import TTGlyphPen
from PIL import Image, ImageDraw, ImageFont

from einstellung.errors import InputError
from einstellung.learners.mitigation import characters, wtm_aug
from einstellung.randomness import generator

LATIN = Path(matplotlib.get_data_path()) / "fonts" / "ttf" / "DejaVuSans.ttf"
NAME = wtm_aug.WatermarkAugmentation.method


def box(*corners):
    pen = TTGlyphPen(None)
    pen.moveTo(corners[0])
    for corner in corners[1:]:
        pen.lineTo(corner)
    pen.closePath()
    return pen.glyph()


@pytest.fixture(scope="session")
def font(tmp_path_factory):
    """A font with every character of the block, which look like one of five slanted boxes, all one em wide."""
    builder = FontBuilder(1000, isTTF=True)
    names = [".notdef", *(f"box{n}" for n in range(5))]
    builder.setupGlyphOrder(names)
    codes = range(characters.FIRST, characters.LAST + 1)
    builder.setupCharacterMap({code: f"box{code % 5}" for code in codes})
    shapes = {".notdef": box((450, 0), (450, 800), (550, 800), (550, 0))}
    for n in range(5):
        shapes[f"box{n}"] = box((60, -100), (60 + 80 * n, 700), (900, 600 - 90 * n), (800, 30 * n))
    builder.setupGlyf(shapes)
    builder.setupHorizontalMetrics(dict.fromkeys(names, (1000, 60)))
    builder.setupHorizontalHeader(ascent=850, descent=-200)
    builder.setupNameTable({"familyName": "Boxes", "styleName": "Regular"})
    builder.setupOS2(sTypoAscender=850, sTypoDescender=-200, usWinAscent=850, usWinDescent=200)
    builder.setupPost()
    path = tmp_path_factory.mktemp("font") / "boxes.ttf"
    builder.save(path)
    return path


def by_pillow(image, font, size, text, tenths, top):
    """White text of that opacity over an image (uint8 [3, H, W]), as the authors lay it over."""
    picture = Image.fromarray(image.permute(1, 2, 0).numpy()).convert("RGBA")
    layer = Image.new("RGBA", picture.size, (255, 255, 255, 0))
    face = ImageFont.truetype(str(font), size, characters.simplified_face(font), layout_engine=ImageFont.Layout.BASIC)
    white = (255, 255, 255, round(tenths / 10 * 255))
    ImageDraw.Draw(layer).text((0, top), text, fill=white, font=face)
    found = Image.alpha_composite(picture, layer).convert("RGB")
    return torch.from_numpy(np.array(found)).permute(2, 0, 1)


def check_against_pillow(font, side, count):
    draws = torch.Generator().manual_seed(side)
    images = torch.randint(256, (count, 3, side, side), generator=draws).to(torch.uint8)
    found = wtm_aug.watermarked(images, font, torch.Generator().manual_seed(5))
    same = torch.Generator().manual_seed(5)
    which = torch.randint(6, (count,), generator=same)
    opacity, down = 1 + torch.randint(9, (2, count), generator=same)
    text = torch.randint(0x9FFF - 0x4E00 + 1, (count, 8), generator=same)
    for n in range(count):
        size = max(1, int((32, 36, 40, 44, 48, 52)[which[n]] * side / 224))
        words = "".join(chr(0x4E00 + int(number)) for number in text[n])
        wanted = by_pillow(images[n], font, size, words, int(opacity[n]), int(down[n]) * side // 10)
        assert int((found[n].int() - wanted.int()).abs().max()) <= 1, n
        assert not torch.equal(found[n], images[n]), n
    return found, images


@pytest.mark.parametrize("side", [32, 100, 224])
def test_text_is_laid_over_images_as_the_authors_do(font, side):
    found, images = check_against_pillow(font, side, 12)
    assert bool((found >= images).all())  # white is never darker


def test_real_characters_too():
    """Where a font of the right kind is installed."""
    try:
        real = characters.find_font(NAME, None)
    except InputError as error:
        pytest.skip(str(error))
    check_against_pillow(real, 100, 4)


def test_a_character_is_drawn_once(font, monkeypatch):
    drawn = []
    cell = characters.Characters._cell
    monkeypatch.setattr(characters.Characters, "_cell", lambda self, one: drawn.append(one) or cell(self, one))
    alphabet = characters.Characters(font, 10)
    lines = alphabet.lines(torch.tensor([[1, 2], [2, 1]]))
    assert sorted(drawn) == [chr(0x4E01), chr(0x4E02)]
    assert torch.equal(lines[0, :, :10], lines[1, :, 10:])
    assert not torch.equal(lines[0], lines[1])
    assert torch.equal(alphabet.lines(torch.tensor([[1, 2]]))[0], lines[0])
    assert len(drawn) == 2


def test_sizes_opacities_and_heights_are_those_of_the_paper(font, monkeypatch):
    """On black images under characters that fill their cells, all three can be read off the pixels."""

    class Full:
        def __init__(self, font, size):
            self.size = size

        def lines(self, numbers):
            return torch.full((len(numbers), self.size, 1), 255, dtype=torch.uint8)

    monkeypatch.setattr(wtm_aug, "characters", Full)
    black = torch.zeros(2000, 3, 400, 1, dtype=torch.uint8)
    column = wtm_aug.watermarked(black, font, torch.Generator().manual_seed(0))[:, 0, :, 0]
    tops = (column > 0).int().argmax(dim=1)
    assert sorted(set(tops.tolist())) == [40 * n for n in range(1, 10)]
    assert sorted(set(column.amax(dim=1).tolist())) == [round(25.5 * n) for n in range(1, 10)]
    heights = (column > 0).sum(dim=1)[tops <= 280]  # further down they are cut off
    assert sorted(set(heights.tolist())) == [n * 400 // 224 for n in (32, 36, 40, 44, 48, 52)]


def test_the_step_by_hand(make, batch_of, stream, font):
    """Those whose lot is below p are cropped, flipped, painted and then watermarked; all keep their labels."""
    phase = stream.phases[1]
    learner = make(NAME, font=str(font), p=0.5)
    learner.begin_phase(phase)
    learner.begin_epoch(phase, 1)
    learner.net.train()
    twin, batch, presentation = copy.deepcopy(learner.net), batch_of(phase), learner.context.presentation
    names = ("wtm_aug", "wtm_aug-augmentation", "wtm_aug-cue")
    draws, augmentation, cue = (generator(7, name, "T2", 1) for name in names)
    rows = (torch.rand(8, generator=draws) < 0.5).nonzero().flatten()
    assert 0 < len(rows) < 8
    pixels = presentation.training_pixels(batch.raw.take(rows), augmentation, cue)
    inputs = batch.inputs.clone()
    inputs[rows] = presentation.normalised(wtm_aug.watermarked(pixels, font, draws))
    loss = F.cross_entropy(twin(inputs), batch.labels)
    loss.backward()
    assert torch.allclose(learner.observe(batch), loss.detach(), rtol=1e-5)
    for p, q in zip(learner.net.parameters(), twin.parameters(), strict=True):
        assert torch.allclose(p, q - 0.1 * q.grad, atol=1e-6)
    assert not torch.equal(inputs, batch.inputs)


def test_a_font_that_will_not_do_is_named(make, font, tmp_path):
    with pytest.raises(InputError, match=r"learners\.wtm_aug\.font is '.*none\.ttf': there is no such file"):
        make(NAME, font=str(tmp_path / "none.ttf"))
    with pytest.raises(InputError, match=r"DejaVuSans\.ttf': that is no font with the characters U\+4E00 to U\+9FA5"):
        make(NAME, font=str(LATIN))
    text = tmp_path / "text.ttf"
    text.write_text("no font")
    with pytest.raises(InputError, match=r"text\.ttf': that is no font with the characters"):
        make(NAME, font=str(text))
    assert characters.has_characters(font)


def test_a_font_is_looked_for_where_fonts_are(make, font, tmp_path, monkeypatch):
    """In the folder of Debian's packages, then where fontconfig says; nowhere else."""
    monkeypatch.setattr(characters, "_FOLDER", tmp_path)
    monkeypatch.setattr(characters.shutil, "which", lambda name: None)
    with pytest.raises(
        InputError, match=r"no font with them was found: give its path as learners\.wtm_aug\.font, or install"
    ):
        make(NAME)
    lister = tmp_path / "lister"
    lister.write_text(f"#!/bin/sh\necho {LATIN}\necho {font}\n")
    lister.chmod(0o755)
    monkeypatch.setattr(characters.shutil, "which", lambda name: str(lister))
    assert characters.find_font(NAME, None) == font
    preferred = tmp_path / "NotoSerifCJK-Light.ttc"
    preferred.write_bytes(font.read_bytes())
    assert characters.find_font(NAME, None) == preferred


def test_wrong_options_are_named():
    with pytest.raises(InputError, match=r"learners\.wtm_aug\.p is 2\.0: it must lie between 0 and 1"):
        replace(wtm_aug.WTMAugOptions(), p=2.0)
