"""Our stream as Avalanche sees it, pixel for pixel."""

from __future__ import annotations

from dataclasses import replace

import pytest
import torch
from avalanche.training.plugins import ReplayPlugin
from avalanche.training.supervised import DER, Naive
from torch.utils.data import DataLoader

from einstellung.bridges.avalanche import avalanche_benchmark
from einstellung.cues import PatchCue
from einstellung.errors import InputError
from einstellung.streams import Presentation, shapes


@pytest.fixture(scope="module")
def benchmark(stream):
    return avalanche_benchmark(stream)


def pixels(dataset, stream):
    """Every image of a data set, normalisation undone: uint8 [N, 3, H, W]."""
    std, mean = (torch.tensor(values).view(3, 1, 1) for values in (stream.std, stream.mean))
    shown = torch.stack([dataset[row][0] for row in range(len(dataset))])
    return ((shown * std + mean) * 255).round().to(torch.uint8)


def has_cue(images):
    """Whether the top-left 4x4 pixels are magenta."""
    return (images[:, :, :4, :4] == torch.tensor([255, 0, 255], dtype=torch.uint8).view(1, 3, 1, 1)).all((1, 2, 3))


def test_every_split_is_a_stream_with_the_same_inputs_labels_and_order(benchmark, stream):
    presentation = Presentation(stream)
    for split in stream.splits:
        (experience,) = benchmark.streams[split.name]
        for dataset in (experience.dataset, experience.dataset.train(), experience.dataset.eval()):
            shown, labels, tasks = zip(*(dataset[row] for row in range(len(dataset))), strict=True)
            assert torch.equal(torch.stack(shown), presentation.normalised(split.images.images))
            assert list(labels) == split.images.labels.tolist() == list(dataset.targets)
            assert set(tasks) == {0}


def test_masked_and_patched_streams_differ_in_the_patch_alone(benchmark, stream):
    patched, masked, clean = (
        pixels(benchmark.streams[f"T2_shortcut_{name}"][0].dataset, stream) for name in ("normal", "masked", "clean")
    )
    assert has_cue(patched).all()
    assert not masked[:, :, :4, :4].any()
    for images in (patched, masked):
        assert torch.equal(images[:, :, 4:], clean[:, :, 4:])
        assert torch.equal(images[:, :, :4, 4:], clean[:, :, :4, 4:])


def test_experiences_are_the_phases(benchmark, stream):
    first, second = benchmark.train_stream
    t1, t2 = stream.phases
    assert (len(first.dataset), len(second.dataset)) == (len(t1.train), len(t2.train))
    assert set(first.classes_in_this_experience) == set(t1.classes)
    assert set(second.classes_in_this_experience) == set(t2.classes)
    assert set(second.previous_classes) == set(t1.classes)
    assert first.task_labels == second.task_labels == [0]


def test_training_images_are_augmented_anew_and_bear_the_cue_where_they_should(benchmark, stream):
    train = stream.phase("T2").train
    dataset = benchmark.train_stream[1].dataset
    once, again = pixels(dataset, stream), pixels(dataset, stream)
    assert torch.equal(has_cue(once), train.has_cue)
    assert torch.equal(has_cue(again), train.has_cue)
    assert train.has_cue.any()
    assert not train.has_cue.all()
    changed = (once != again).flatten(1).any(1)
    assert changed.float().mean() > 0.8
    assert not has_cue(pixels(benchmark.train_stream[0].dataset, stream)).any()


def test_evaluation_transformations_leave_out_the_augmentation_only(benchmark, stream):
    train = stream.phase("T2").train
    dataset = benchmark.train_stream[1].dataset.eval()
    shown = torch.stack([dataset[row][0] for row in range(len(dataset))])
    assert torch.equal(shown, Presentation(stream).unaugmented(train))


def test_the_same_seed_draws_the_same_augmentation(benchmark):
    dataset = benchmark.train_stream[1].dataset

    def drawn(seed):
        torch.manual_seed(seed)
        return torch.stack([dataset[row][0] for row in range(8)])

    assert torch.equal(drawn(1), drawn(1))
    assert not torch.equal(drawn(1), drawn(2))


def test_worker_processes_draw_anew_in_every_epoch(benchmark, stream):
    torch.manual_seed(0)
    loader = DataLoader(benchmark.train_stream[1].dataset, batch_size=30, num_workers=1)
    epochs = [torch.cat([batch[0] for batch in loader]) for _ in range(2)]
    assert not torch.equal(*epochs)


def test_the_test_stream_shows_t2_as_it_is_trained(benchmark, stream):
    first, second = benchmark.test_stream
    assert len(first.dataset) == len(stream.split("T1_all").images)
    images, labels = pixels(second.dataset, stream), torch.tensor(list(second.dataset.targets))
    assert torch.equal(has_cue(images), torch.isin(labels, torch.tensor(stream.phase("T2").cue_classes)))


def trained(strategy_class, tiny_net, benchmark, **options):
    net = tiny_net()
    optimiser = torch.optim.SGD(net.parameters(), lr=0.01)
    strategy = strategy_class(model=net, optimizer=optimiser, train_mb_size=16, evaluator=None, **options)
    for experience in benchmark.train_stream:
        strategy.train(experience)
    return strategy


def test_what_replay_keeps_is_shown_with_new_augmentation_and_the_cue_again(tiny_net, benchmark, stream):
    replay = ReplayPlugin(mem_size=80)
    trained(Naive, tiny_net, benchmark, plugins=[replay])
    kept = replay.storage_policy.buffer
    labels = torch.tensor([int(kept[row][1]) for row in range(len(kept))])
    once, again = pixels(kept, stream), pixels(kept, stream)
    expected = torch.isin(labels, torch.tensor(stream.phase("T2").cue_classes))
    assert expected.any()
    assert torch.equal(has_cue(once), expected)
    assert torch.equal(has_cue(again), expected)
    assert (once != again).flatten(1).any(1).float().mean() > 0.8


def test_der_keeps_the_logits_of_the_unaugmented_image_with_its_cue(tiny_net, benchmark, stream):
    strategy = trained(DER, tiny_net, benchmark, mem_size=72)
    kept = strategy.storage_policy.buffer
    rows = [row for row in range(len(kept)) if int(kept[row][1]) in stream.phase("T2").classes]
    inputs = torch.stack([kept.eval()[row][0] for row in rows])
    logits = torch.stack([kept[row][3] for row in rows])
    strategy.model.eval()
    with torch.no_grad():
        assert torch.allclose(strategy.model(inputs), logits, atol=1e-5)
    labels = torch.tensor([int(kept[row][1]) for row in rows])
    cued = torch.isin(labels, torch.tensor(stream.phase("T2").cue_classes))
    assert torch.equal(has_cue(pixels(kept.subset(rows), stream)), cued)


def test_a_half_transparent_cue_is_painted_once(stream):
    faint = shapes(PatchCue(opacity=0.5), size=12, train_per_class=6, test_per_class=2)
    (experience,) = avalanche_benchmark(faint).streams["T2_shortcut_normal"]
    assert torch.equal(pixels(experience.dataset, faint), faint.split("T2_shortcut_normal").images.images)


def test_a_stream_that_does_not_prove_itself_is_refused(stream):
    t1, t2 = stream.phases
    wrong = replace(stream, phases=(t1, replace(t2, train=replace(t2.train, has_cue=~t2.train.has_cue))))
    with pytest.raises(InputError, match="fails its checks"):
        avalanche_benchmark(wrong)
