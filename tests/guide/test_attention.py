"""The guide's attention analyzer: even attention worked by hand, comparisons with earlier batches, the figure."""

from __future__ import annotations

import math

import numpy as np
import pytest
import torch
from PIL import Image

from einstellung.backbones import ResNet18, VisionTransformer
from einstellung.cues import PatchCue
from einstellung.errors import InputError
from einstellung.guide import EinstellungAttentionAnalyzer
from einstellung.probes.attention import AttentionProbe

REGION = PatchCue().region(torch.arange(4), 32, 32)


@pytest.fixture(scope="module")
def net():
    torch.manual_seed(0)
    return VisionTransformer(10, dim=12, depth=2)


@pytest.fixture
def images():
    return torch.rand(4, 3, 32, 32, generator=torch.Generator().manual_seed(1))


@pytest.fixture
def look(net, images):
    """``look(subset, epoch, ...)`` at the images, or at other inputs, by one analyzer."""
    analyzer = EinstellungAttentionAnalyzer(net, "cpu")

    def looking(subset="T2_shortcut_normal", epoch=1, inputs=images, **more):
        return analyzer.analyze_einstellung_attention_batch(inputs, subset, epoch, **more)

    return looking


def test_even_attention_by_hand(net, images):
    """All queries and keys are 0: each of 64 tokens gets 1/64, the cue's 4x4 pixels are one token."""
    even = VisionTransformer(10, dim=12, depth=2)
    for name, value in even.named_parameters():
        if "qkv" in name:
            torch.nn.init.zeros_(value)
    analyzer = EinstellungAttentionAnalyzer(even)
    boxed = analyzer.analyze_einstellung_attention_batch(images, "T2_shortcut_normal", 1, region=REGION)
    assert boxed["AS"] == pytest.approx(1 / 64)
    assert np.array(boxed["AS_heads"]) == pytest.approx(np.full((2, 3), 1 / 64))
    assert (boxed["boxed"], boxed["n"]) == (True, 4)
    assert boxed["ADI"] == pytest.approx(0, abs=1e-6)
    unboxed = analyzer.analyze_einstellung_attention_batch(images, "T1_all", 1)
    assert unboxed["AS"] == pytest.approx(-math.log(64))
    assert unboxed["AS_layers"] == pytest.approx([-math.log(64)] * 2)
    assert unboxed["boxed"] is False


def test_it_says_what_the_probe_says(net, images, look):
    summary = AttentionProbe(net).summarise([(images, REGION)])
    metrics = look(region=REGION)
    assert metrics["AS"] == pytest.approx(summary.share_rollout)
    assert np.array(metrics["ADI_heads"]) == pytest.approx(summary.diversity_heads)


def test_gain_compares_with_all_clean_batches_of_the_same_moment(images, look):
    with_cue = images.clone()
    with_cue[:, :, :4, :4] = 3.0
    early = look("T2_shortcut_normal", inputs=with_cue, region=REGION, task_id=1)
    assert early["SAG"] is None
    assert "T2_shortcut_clean has not been analysed with its region at this epoch" in early["why_undefined"]["SAG"]
    clean = [
        look("T2_shortcut_clean", inputs=images[part], region=REGION[part], task_id=1) for part in ([0], [1, 2, 3])
    ]
    mean = (clean[0]["AS"] + 3 * clean[1]["AS"]) / 4
    late = look("T2_shortcut_normal", inputs=with_cue, region=REGION, task_id=1)
    assert late["SAG"] == pytest.approx((late["AS"] - mean) / (mean + 1e-8))
    assert np.array(late["SAG_heads"]).shape == (2, 3)
    assert look("T2_shortcut_normal", 2, inputs=with_cue, region=REGION, task_id=1)["SAG"] is None
    assert look("T2_shortcut_normal", inputs=with_cue, task_id=1)["why_undefined"]["SAG"] == "no cue region was given"
    assert "compares T2_shortcut_normal" in look("T1_all", region=REGION)["why_undefined"]["SAG"]


def test_similarity_compares_with_the_last_epoch_of_an_earlier_task(net, images, look):
    others = images.flip(0, 3) ** 2
    assert look("T1_all", 1)["why_undefined"]["CTAS"] == "the current task was not given (task_id)"
    assert (
        look("T1_all", 1, inputs=others, task_id=0)["why_undefined"]["CTAS"]
        == "T1_all was not analysed in an earlier task"
    )
    look("T1_all", 2, task_id=0)
    assert look("T1_all", 1, task_id=1)["CTAS"] == pytest.approx(1)  # the same images and net as at epoch 2 of task 0
    metrics = look("T1_all", 2, inputs=others, task_id=1)
    one, other = (AttentionProbe(net).maps(batch).rollout.double().mean(0).flatten() for batch in (images, others))
    assert metrics["CTAS"] == pytest.approx(float(torch.cosine_similarity(one, other, dim=0)), abs=1e-6)
    assert metrics["CTAS"] < 1
    assert look("T2_shortcut_normal", 2, task_id=1)["CTAS"] is None


def test_a_single_image_has_no_diversity(images, look):
    metrics = look(inputs=images[:1])
    assert metrics["ADI"] is metrics["ADI_heads"] is None
    assert "it needs at least two images" in metrics["why_undefined"]["ADI"]


@pytest.mark.parametrize("suffix", ["png", "svg", "pdf"])
def test_the_figure_is_written_in_the_format_of_its_path(net, images, tmp_path, suffix):
    analyzer = EinstellungAttentionAnalyzer(net, mean=(0.5, 0.5, 0.5), std=(0.2, 0.2, 0.2))
    path = tmp_path / "new" / f"comparison.{suffix}"
    masked = images[:2].clone()
    masked[:, :, :4, :4] = 0
    assert analyzer.visualize_einstellung_attention_comparison(images, images, masked, str(path)) == path
    head = {"png": b"\x89PNG", "svg": b"<?xml", "pdf": b"%PDF"}[suffix]
    assert path.read_bytes().startswith(head)
    assert [entry.name for entry in path.parent.iterdir()] == [path.name]
    if suffix == "png":
        width, height = Image.open(path).size
        assert width == 1400
        assert height == pytest.approx((2 * 7 / 9.24 + 0.5) * 200, abs=2)  # two rows: the smallest batch has two images


def test_pictures_get_their_own_colours_back(net, images):
    normal = EinstellungAttentionAnalyzer(net, mean=(0.5, 0.4, 0.3), std=(0.2, 0.3, 0.4))
    inputs = (images - torch.tensor([0.5, 0.4, 0.3]).view(3, 1, 1)) / torch.tensor([0.2, 0.3, 0.4]).view(3, 1, 1)
    assert normal._pictures(inputs) == pytest.approx(images.permute(0, 2, 3, 1).numpy(), abs=1e-6)
    stretched = EinstellungAttentionAnalyzer(net)._pictures(inputs)
    assert (stretched.min(), stretched.max()) == (0.0, 1.0)


def test_what_cannot_be_looked_at_is_refused(net, images, look, tmp_path):
    with pytest.raises(InputError, match="ResNet18 has no known attention"):
        EinstellungAttentionAnalyzer(ResNet18(10, width=4), "cpu")
    with pytest.raises(InputError, match="the model is on cpu, not on cuda:0"):
        EinstellungAttentionAnalyzer(net, "cuda:0")
    with pytest.raises(InputError, match="did you mean 'T2_shortcut_normal'"):
        look("T2_shortcut_norml")
    analyzer = EinstellungAttentionAnalyzer(net)
    with pytest.raises(InputError, match="give a path that ends in svg, png, pdf"):
        analyzer.visualize_einstellung_attention_comparison(images, images, images, tmp_path / "a.jpg")
    with pytest.raises(InputError, match="one of the three batches is empty"):
        analyzer.visualize_einstellung_attention_comparison(images, images, images[:0], tmp_path / "a.png")
    assert list(tmp_path.iterdir()) == []


def test_mean_and_std_go_together():
    with pytest.raises(InputError, match="mean and std go together"):
        EinstellungAttentionAnalyzer(
            VisionTransformer(4, dim=12, depth=1, heads=2, patch=4, image=8), mean=(0.5, 0.5, 0.5)
        )
