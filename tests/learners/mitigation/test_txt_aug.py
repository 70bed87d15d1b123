"""Texture augmentation: copies by an image's identity, and one clear line where they are not what they should be."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import torch
from PIL import Image

from einstellung.errors import InputError
from einstellung.learners import make_learner
from einstellung.learners.mitigation import txt_aug
from einstellung.streams import Presentation

NAME = txt_aug.TextureAugmentation.method


@pytest.fixture(scope="module")
def folder(stream, tmp_path_factory):
    """A copy of every training image, of one colour that tells whose it is; some are larger than the images."""
    path = tmp_path_factory.mktemp("copies")
    for identity in torch.cat([phase.train.index for phase in stream.phases]).tolist():
        side = 12 if identity % 2 else 24
        Image.fromarray(np.full((side, side, 3), colour(identity), dtype=np.uint8)).save(path / f"{identity}.png")
    (path / "about.txt").write_text("how these were made")
    return path


@pytest.fixture(autouse=True)
def own_cache(monkeypatch, tmp_path):
    monkeypatch.setenv("EINSTELLUNG_CACHE", str(tmp_path / "cache"))


def colour(identity):
    return (identity % 251, identity // 251, 9)


def begun(learner, phase):
    learner.begin_phase(phase)
    learner.begin_epoch(phase, 1)
    return learner


def test_a_chosen_image_is_shown_as_its_own_copy(make, batch_of, stream, folder):
    """Replay may bring images of the first phase into the second; the cue is on those that bear it."""
    still = Presentation(replace(stream, crop_padding=0, flip=False))
    learner = make(NAME, folder=str(folder), p=1.0)
    learner.context = replace(learner.context, presentation=still)
    for phase in stream.phases:
        begun(learner, phase)
        for raw in (batch_of(stream.phases[0]).raw, batch_of(phase).raw):
            copies = torch.tensor([colour(identity) for identity in raw.index.tolist()], dtype=torch.uint8)
            wanted = still.painted(copies.view(-1, 3, 1, 1).expand(-1, -1, 12, 12), raw)
            batch = replace(batch_of(phase), raw=raw)
            assert torch.equal(learner.shown(batch), still.normalised(wanted))
    assert bool(raw.has_cue.any())


def test_half_of_the_images_are_their_copies(make, batch_of, stream, folder):
    learner, batch = begun(make(NAME, folder=str(folder)), stream.phases[1]), batch_of(stream.phases[1])
    changed = [(learner.shown(batch) != batch.inputs).flatten(1).any(dim=1) for _ in range(100)]
    assert float(torch.stack(changed).double().mean()) == pytest.approx(0.5, abs=0.06)
    assert torch.isfinite(learner.observe(batch))


def test_a_stream_that_changes_textures_needs_no_folder(make, batch_of, stream):
    class Inverted:
        def swapped(self, images, draws):
            return replace(images, images=255 - images.images)

    context = make("erm").context
    own = replace(stream, interventions={"texture": Inverted()}, crop_padding=0, flip=False)
    learner = make_learner(NAME, {"p": 1.0}, make("erm").net, replace(context, presentation=Presentation(own)))
    begun(learner, stream.phases[0])
    batch = batch_of(stream.phases[0])
    assert torch.equal(learner.shown(batch), context.presentation.normalised(255 - batch.raw.images))


def test_without_copies_the_method_is_refused(make):
    with pytest.raises(InputError, match=r"txt_aug needs stylised copies, .* 'shapes' .*learners\.txt_aug\.folder"):
        make(NAME)


def test_what_is_wrong_with_a_folder_is_named(make, stream, folder, tmp_path):
    with pytest.raises(InputError, match="nowhere': there is no such folder"):
        make(NAME, folder=str(tmp_path / "nowhere"))
    some = tmp_path / "some"
    some.mkdir()
    for file in sorted(folder.glob("*.png"))[3:]:
        (some / file.name).write_bytes(file.read_bytes())
    gone = min(int(file.stem) for file in sorted(folder.glob("*.png"))[:3])
    with pytest.raises(InputError, match=rf"has no copy of 3 of \d+ training images: '{gone}\.png' is the first"):
        make(NAME, folder=str(some))
    (some / "007.png").write_bytes(b"")
    (some / "7.png").write_bytes(b"")
    with pytest.raises(InputError, match=r"'007\.png' and '7\.png' are copies of one image; keep one"):
        make(NAME, folder=str(some))


def test_a_copy_that_is_no_picture_is_named(make, stream, folder, tmp_path):
    broken = tmp_path / "broken"
    broken.mkdir()
    for file in folder.glob("*.png"):
        (broken / file.name).write_bytes(file.read_bytes())
    first = int(stream.phases[0].train.index[0])
    (broken / f"{first}.png").write_text("no picture")
    learner = make(NAME, folder=str(broken))
    with pytest.raises(InputError, match=rf"'{first}\.png' is no picture that can be read"):
        learner.begin_phase(stream.phases[0])


def test_one_name_for_two_images_is_refused(make, stream, folder):
    first, second = stream.phases
    clash = replace(second, train=replace(second.train, index=first.train.index[0] + torch.arange(len(second.train))))
    with pytest.raises(InputError, match="two images of the stream have the identity"):
        txt_aug.named_by_identity(folder, (first, clash))
