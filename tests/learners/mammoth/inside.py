"""Our learners and Mammoth's models side by side: ``python -m tests.learners.mammoth.inside FOLDER`` prints the distances.

Each comparison returns the largest difference over all steps, by what was compared, and how far the weights moved.
"""

from __future__ import annotations

import copy
import json
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from importlib import import_module
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from unittest.mock import patch

import torch
import torch.nn.functional as F
from torch import nn

from einstellung.backbones.vit import VisionTransformer
from einstellung.bridges.mammoth import open_checkout
from einstellung.learners import Stage
from einstellung.learners.lws import cosine_clusters
from einstellung.randomness import generator
from tests.learners.mammoth import world

Found = dict[str, float]
COMPARISONS: dict[str, Callable[[], Found]] = {}


def comparison(compare: Callable[[], Found]) -> Callable[[], Found]:
    COMPARISONS[compare.__name__] = compare
    return compare


class Distances(dict[str, float]):
    """The largest of every named difference."""

    def note(self, **differences: float) -> None:
        for name, value in differences.items():
            self[name] = max(self.get(name, 0.0), value)


def both(name, model, phases, options, args):
    stream = world.tasks(phases)
    net = world.tiny_net(stream.n_outputs)
    kind = getattr(import_module(f"models.{name}"), model)
    theirs = world.model_of(kind, net, stream, **args)
    return stream, world.learner_on(net, stream, name, **options), theirs


@comparison
def lwf() -> Found:
    return _lwf(0)


@comparison
def lwf_with_warm_up() -> Found:
    return _lwf(1)


def _lwf(warm_up: int) -> Found:
    """The last of two phases; before it, Mammoth leaves the outputs of the second out of its cross entropy."""
    options = {"alpha": 0.7, "temperature": 3.0, "warm_up": float(warm_up)}
    stream, ours, model = both("lwf", "Lwf", 2, options, {"alpha": 0.7, "softmax_temp": 3.0})
    model.args.n_epochs = warm_up
    found, (t1, t2) = Distances(), stream.phases
    ours.begin_phase(t1)
    ours.training_mode()
    for _, batch in world.batches(stream, t1, 0):
        ours.observe(batch)
    model.net.load_state_dict(ours.net.state_dict())
    ours.end_phase(t1)
    model.meta_begin_task(dataset := world.dataset_of(stream))
    model.meta_end_task(dataset)
    warm = list(world.batches(stream, t2, 5))
    dataset.train_loader = world.Loader(stream, t2, torch.cat([rows for rows, _ in warm]))
    ours.begin_phase(t2)
    for stage in ours.stages(ours.options, [world.PER_PHASE] * 2, [1, 1], 1):
        ours.begin_stage(t2, stage)
        ours.training_mode()
        if stage.preparatory:
            for _, batch in warm:
                ours.observe(batch)
    model.meta_begin_task(dataset)
    found.note(start=world.distance(ours.net, model.net))
    for epoch in range(3):
        for rows, batch in world.batches(stream, t2, epoch):
            loss = ours.observe(batch)
            logits = dataset.train_loader.logits[rows]
            their_loss = model.observe(batch.inputs, batch.labels, batch.inputs, logits=logits)
            found.note(loss=abs(float(loss) - their_loss), net=world.distance(ours.net, model.net))
    return found | {"moved": world.distance(ours.net, ours.old)}


@comparison
def si() -> Found:
    """Three phases, penalty and clipping; our loss has the penalty, so losses are not compared."""
    stream, ours, model = both("si", "SI", 3, {"c": 2.0, "xi": 0.1, "clip": 1.0}, {"c": 2.0, "xi": 0.1})
    found, dataset = Distances(), world.dataset_of(stream)
    for phase in stream.phases:
        ours.begin_phase(phase)
        ours.training_mode()
        model.meta_begin_task(dataset)
        before = copy.deepcopy(ours.net)
        for epoch in range(3):
            for _, batch in world.batches(stream, phase, epoch):
                ours.observe(batch)
                model.observe(batch.inputs, batch.labels, batch.inputs)
                found.note(net=world.distance(ours.net, model.net))
        ours.end_phase(phase)
        model.meta_end_task(dataset)
        importance = torch.cat([value.flatten() for value in ours.importance.values()])
        found.note(importance=float((importance - model.big_omega).abs().max() / model.big_omega.abs().max()))
        found.note(moved=world.distance(ours.net, before))
    found.note(penalty=float(ours.latest_penalty))
    return found


@comparison
def agem() -> Found:
    """Three phases with our memory in Mammoth's buffer."""
    args = {"buffer_size": 12, "minibatch_size": 6}
    stream, ours, model = both("agem", "AGem", 3, {"buffer": 12, "draw": 6}, args)
    found, dataset = Distances(projected=0, kept=0), world.dataset_of(stream)
    buffer = import_module("utils.buffer").Buffer
    for phase in stream.phases:
        ours.begin_phase(phase)
        ours.training_mode()
        model.meta_begin_task(dataset)
        if ours.memory is not None:
            model.buffer = buffer(len(ours.memory))
            inputs = ours.context.presentation.unaugmented(ours.memory)
            model.buffer.add_data(examples=inputs, labels=ours.memory.labels)
        for epoch in range(3):
            ours.begin_epoch(phase, epoch)
            shown = stream.phases[0] if epoch == 2 else phase  # images whose gradients agree with the memory's
            for _, batch in world.batches(stream, shown, epoch):
                twin = world.twin_of(ours._draws)
                with world.draws_given(lambda twin=twin: torch.randperm(len(ours.memory), generator=twin)[:6]):
                    their_loss = model.observe(batch.inputs, batch.labels, batch.inputs)
                loss = ours.observe(batch)
                found.note(loss=abs(float(loss) - their_loss), net=world.distance(ours.net, model.net))
                if ours.memory is not None:
                    conflicts = bool(torch.dot(model.grad_xy, model.grad_er) < 0)
                    found["projected" if conflicts else "kept"] += 1
        model._current_task += 1  # what its meta_end_task does after filling the buffer
    return found


@comparison
def er_ace() -> Found:
    """Three phases, every image through both reservoirs."""
    args = {"buffer_size": 10, "minibatch_size": 6, "use_custom_classifier": False, "task_free": False}
    stream, ours, model = both("er_ace", "ErACE", 3, {"buffer": 10, "draw": 6}, args)
    return replayed_side_by_side(stream, ours, model)


def replayed_side_by_side(stream, ours, model) -> Found:
    found, dataset, start = Distances(), world.dataset_of(stream), copy.deepcopy(ours.net)
    for phase in stream.phases:
        ours.begin_phase(phase)
        ours.training_mode()
        model.meta_begin_task(dataset)
        for epoch in range(3):
            ours.begin_epoch(phase, epoch)
            for _, batch in world.batches(stream, phase, epoch):
                draws, places = world.twin_of(ours._draws), world.twin_of(ours._slots)
                slots = torch.rand(len(batch.labels), generator=places, dtype=torch.float64).tolist()
                slots = slots[max(0, min(len(slots), ours.buffer.capacity - ours.buffer.seen)) :]
                with world.draws_given(
                    lambda draws=draws: torch.randperm(len(ours.buffer), generator=draws)[: ours.options.draw], slots
                ):
                    their_loss = model.observe(batch.inputs, batch.labels, batch.inputs)
                loss = ours.observe(batch)
                found.note(loss=abs(float(loss) - their_loss), net=world.distance(ours.net, model.net))
        ours.end_phase(phase)
        model.meta_end_task(dataset)
        same = torch.equal(ours.buffer.images.labels, model.buffer.labels[: len(ours.buffer)].long())
        found.note(buffer=float(not same), moved=world.distance(ours.net, start))
    return found


@comparison
def xder() -> Found:
    return _xder(False)


@comparison
def xder_with_the_past_constraint() -> Found:
    return _xder(True)


def _xder(past: bool) -> Found:
    """Three phases with the memory's own updates; views are a fixed function of the images, the same on both sides."""
    shared = {"alpha": 0.5, "beta": 0.7, "gamma": 0.85, "eta": 0.6, "margin": 0.3, "draw": 6, "views": 3}
    options = {**shared, "buffer": 24, "consistency": 0.4, "consistency_draw": 5, "past_constraint": past}
    args = {"buffer_size": 24, "minibatch_size": 6, "alpha": 0.5, "beta": 0.7, "gamma": 0.85, "constr_eta": 0.6}
    args |= {"constr_margin": 0.3, "simclr_num_aug": 3, "simclr_temp": 5, "simclr_batch_size": 5, "lambd": 0.4}
    args |= {"dp_weight": 0, "past_constraint": past, "future_constraint": 1, "align_bn": 1}
    stream, ours, model = both("xder", "XDer", 3, options, args)

    def views(inputs):
        return inputs * (1 + 0.2 * (torch.arange(len(inputs)) % 3)).view(-1, 1, 1, 1)

    ours.views_of = lambda raw: views(ours.context.presentation.unaugmented(raw))
    model.gpu_augmentation = views
    dataset, start = world.dataset_of(stream), copy.deepcopy(ours.net)
    found = Distances(updated=0, kept=0)
    for number, phase in enumerate(stream.phases):
        ours.begin_phase(phase)
        ours.training_mode()
        model.meta_begin_task(dataset)
        for epoch in range(3):
            ours.begin_epoch(phase, epoch)
            for _, batch in world.batches(stream, phase, epoch):
                draws, chances = world.twin_of(ours._draws), world.twin_of(ours._chances)
                sizes = [6, 6, 5] if number else []

                def rows(draws=draws, sizes=sizes):
                    return torch.randperm(len(ours.rows), generator=draws)[: sizes.pop(0)]

                def rand_like(values, chances=chances):
                    return torch.rand(len(values), generator=chances)

                known = ours.logits.clone()
                with world.draws_given(rows), patch.object(torch, "rand_like", rand_like):
                    their_loss = model.observe(batch.inputs, batch.labels, batch.inputs)
                loss = ours.observe(batch)
                found.note(loss=abs(float(loss) - their_loss), net=world.distance(ours.net, model.net))
                if number:
                    changed = (ours.logits != known).any(dim=1)
                    found["updated"] += int(changed.sum())
                    found["kept"] += int((~changed[ours.updates > 0]).sum())
                    found.note(memory=float((ours.logits - model.buffer.logits[: len(ours.rows)]).abs().max()))
        draws = generator(3, "buffer-phase", phase.name)
        torch.randperm(2, generator=draws)
        dataset.train_loader = world.Loader(stream, phase, torch.randperm(world.PER_PHASE, generator=draws))
        with world.draws_given(lambda draws=draws: torch.randperm(24, generator=draws)):
            model.meta_end_task(dataset)
        ours.end_phase(phase)
        same = torch.equal(ours._images.labels, model.buffer.labels[: len(ours.rows)].long())
        found.note(labels=float(not same), moved=world.distance(ours.net, start))
        found.note(memory=float((ours.logits - model.buffer.logits[: len(ours.rows)]).abs().max()))
    return found


class EachCrossEntropy(nn.Module):
    """Of every image, from labels as floats."""

    def forward(self, logits, labels):
        return F.cross_entropy(logits, labels.long(), reduction="none")


@comparison
def lws() -> Found:
    """Three phases with the same two classes, which is all that theirs can have; cross entropy in place of its binary one.

    Their epochs are numbered so that losses are measured, and the buffer begins to fill, in our second one. Their k-means is
    ours, on their features; their net is put back into training mode after the measurement.
    """
    parts = world.tasks(3)
    phases = tuple(
        replace(phase, classes=(0, 1), train=replace(phase.train, labels=phase.train.labels % 2))
        for phase in parts.phases
    )
    stream = replace(parts, phases=phases, n_outputs=2, class_names=parts.class_names[:2])
    shared = {"gamma": 0.6, "momentum": 0.4}
    options = {**shared, "buffer": 13, "draw": 6, "clusters": 3, "bins": 2, "alpha": 0.3, "beta": 0.7, "delta": 0.4}
    args = {**shared, "buffer_size": 13, "minibatch_size": 6, "k": 3, "n_bin": 2}
    args |= {"kd_lambda": 0.3, "buf_lambda_logits": 0.7, "buf_lambda_clusters": 0.4}
    net = world.tiny_net(2, width=512)  # the only width that theirs takes
    ours = world.learner_on(net, stream, "lws", **options)
    draws: list[torch.Generator] = []

    def kmeans(X, num_clusters, **_):  # noqa: N803 (their name)
        found = cosine_clusters(X, num_clusters, draws[0])
        return found, torch.stack([X[found == cluster].mean(dim=0) for cluster in range(num_clusters)])

    with patch.dict(sys.modules, {"kmeans_pytorch": SimpleNamespace(kmeans=kmeans)}):
        kind = import_module("models.lws").LwS
    model = world.model_of(kind, net, stream, **args)
    model.loss = EachCrossEntropy()
    theirs = [*model.net.classifiers]
    clustered = [model.net.cluster_classifiers[label][task] for task in range(3) for label in range(2)]

    def weights():
        heads = [(ours.heads, clustered), (net.classifier, theirs)]
        for mine, layers in heads:
            yield mine.weight, torch.cat([layer.weight for layer in layers])
            yield mine.bias, torch.cat([layer.bias for layer in layers])
        pairs = zip(net.state_dict().items(), model.net.state_dict().items(), strict=False)
        yield from ((a, b) for (name, a), (_, b) in pairs if a.is_floating_point() and "classifier" not in name)

    with torch.no_grad():
        for mine, layers in ((ours.heads, clustered), (net.classifier, theirs)):
            for layer, weight, bias in zip(
                layers, mine.weight.chunk(len(layers)), mine.bias.chunk(len(layers)), strict=True
            ):
                layer.weight.copy_(weight)
                layer.bias.copy_(bias)
    found, dataset, start = Distances(replaced=0, weighed=0), world.dataset_of(stream), copy.deepcopy(net)
    for number, phase in enumerate(phases):
        draws[:] = [generator(3, "clusters", phase.name)]
        dataset.train_loader = world.Numbered(stream, phase, torch.arange(world.PER_PHASE))
        model.net.train()
        model.meta_begin_task(dataset)
        ours.begin_phase(phase)
        ours.begin_stage(phase, Stage("train", 5.0))
        for group in ours.optimiser.param_groups:
            group["lr"] = 0.02  # with so many features, training is chaotic at a larger one
        model.opt = model.get_optimizer(lr=0.02)
        offset = number * world.PER_PHASE
        clusters = ours.clusters[offset : offset + world.PER_PHASE] + 3 * phase.train.labels
        found.note(clusters=float(not torch.equal(clusters, model.pseudo_labels[number])))
        for epoch in range(1, 5):
            ours.training_mode()
            ours.begin_epoch(phase, epoch)
            their_epoch = epoch - 1 if epoch == 1 else epoch + 3
            model.meta_begin_epoch(their_epoch, dataset)
            model.net.train()
            for rows, batch in world.batches(stream, phase, epoch):
                bins, slots, places = copy.deepcopy(ours.bins), world.twin_of(ours._slots), []
                if ours.early_losses is not None:
                    for loss, draw in zip(
                        ours.early_losses[rows].tolist(),
                        torch.rand(len(rows), generator=slots, dtype=torch.float64).tolist(),
                        strict=True,
                    ):
                        full = bins.held == bins.capacity
                        if bins.slot(loss, draw) is not None and full:
                            places.append(draw)
                found["replaced"] += len(places)
                twin, sizes = world.twin_of(ours._draws), bins.held
                loss = ours.observe(batch)

                def chosen(twin=twin, sizes=sizes):
                    drawn = torch.randperm(sizes, generator=twin)[:6]
                    return drawn[ours.rows[drawn].argsort(stable=True)]

                with world.draws_given(chosen, places):
                    their_loss = model.observe(batch.inputs, batch.labels, batch.inputs, their_epoch, rows)
                found.note(loss=abs(float(loss) - their_loss))
                found.note(images=float((ours.weights - model.weights[number]).abs().max()))
                for mine, other in weights():
                    found.note(net=float((mine - other).detach().abs().max()))
            found["weighed"] = max(found["weighed"], float(ours.weights.max() - ours.weights.min()))
        held = slice(0, ours.bins.held)
        known = torch.cat([one.train.labels for one in phases])[ours.rows]
        found.note(labels=float(not torch.equal(known[held], model.buffer.labels[held])))
        found.note(buffer=float((ours.outputs - model.buffer.clusters_logits)[held].abs().max()))
        model.meta_end_task(dataset)
        ours.end_phase(phase)
    return found | {"moved": world.distance(net, start)}


def transformers(classes: int, module: str, **options: Any) -> tuple[VisionTransformer, Any]:
    """Ours, and Mammoth's with the same weights; its prompts have the class token's position, as where it loads weights."""
    ours = VisionTransformer(classes, dim=12, depth=2, heads=3, patch=4, image=12)
    theirs = import_module(module).VisionTransformer(
        img_size=12, patch_size=4, embed_dim=12, depth=2, num_heads=3, num_classes=classes, **options
    )
    state = {name: value for name, value in ours.state_dict().items() if name in theirs.state_dict()}
    more = theirs.pos_embed.shape[1] - ours.pos_embed.shape[1]
    state["pos_embed"] = torch.cat((ours.pos_embed[:, :1].expand(-1, 1 + more, -1), ours.pos_embed[:, 1:]), dim=1)
    theirs.load_state_dict({**theirs.state_dict(), **state})
    return ours, theirs


@contextmanager
def without_leaves() -> Iterator[None]:
    """Mammoth's CODA-Prompt adds to a leaf that requires a gradient, which is no leaf on a GPU but an error on a CPU."""
    zeros = torch.zeros
    with patch.object(torch, "zeros", lambda *shape, requires_grad=False, **options: zeros(*shape, **options)):
        yield


def prompts_side_by_side(stream, ours, model, begin, weights) -> Found:
    """All phases; ``weights`` gives what learns on both sides."""
    found, dataset = Distances(), world.dataset_of(stream)
    model.dataset = dataset
    start = copy.deepcopy(ours.net)
    for phase in stream.phases:
        ours.begin_phase(phase)
        ours.training_mode()
        model.meta_begin_task(dataset)
        begin()
        model.train()
        for epoch in range(3):
            for step, (_, batch) in enumerate(world.batches(stream, phase, epoch)):
                model._epoch_iteration = step
                with without_leaves():
                    their_loss = model.observe(batch.inputs, batch.labels, batch.inputs)
                loss = ours.observe(batch)
                found.note(loss=abs(float(loss) - their_loss))
                for mine, theirs in weights():
                    found.note(weights=float((mine - theirs).detach().abs().max()))
        model.eval()
        ours.net.eval()
        inputs = ours.context.presentation.unaugmented(phase.train)
        with torch.no_grad():
            theirs = model(inputs)
            found.note(outputs=float((ours.net(inputs)[:, : theirs.shape[1]] - theirs).abs().max()))
        model.meta_end_task(dataset)
        ours.end_phase(phase)
    return found | {"moved": world.distance(ours.net, start)}


@comparison
def l2p() -> Found:
    stream = world.tasks(3)
    net, original = transformers(6, "models.l2p_utils.vit_prompt")
    options = {"pool": 6, "length": 2, "top": 3, "pull": 0.7, "clip": 1.0}
    pool = {"prompt_length": 2, "prompt_pool": True, "prompt_key": True, "pool_size": 6, "top_k": 3}
    _, prompted = transformers(6, "models.l2p_utils.vit_prompt", embedding_key="cls", head_type="prompt", **pool)
    ours = world.learner_on(net, stream, "l2p", **options)
    state = {
        **prompted.state_dict(),
        **{k: v for k, v in net.state_dict().items() if k[:4] in ("bloc", "patc", "norm", "head")},
    }
    prompts = net.pos_embed[:, :1].expand(-1, 7, -1)
    state |= {"cls_token": net.cls_token, "pos_embed": torch.cat((prompts, net.pos_embed[:, 1:]), dim=1)}
    state |= {"prompt.prompt": ours.pool.prompts.detach().clone(), "prompt.prompt_key": ours.pool.keys.detach().clone()}
    prompted.load_state_dict(state)
    original.load_state_dict(
        {**original.state_dict(), **{k: v for k, v in net.state_dict().items() if k in original.state_dict()}}
    )
    kind = import_module("models.l2p_utils.l2p_model").L2PModel
    theirs = kind.__new__(kind)
    nn.Module.__init__(theirs)
    theirs.original_model, theirs.model = original.eval().requires_grad_(False), prompted
    for name, parameter in prompted.named_parameters():
        parameter.requires_grad_("prompt" in name or "head" in name)
    with patch.object(import_module("models.l2p"), "L2PModel", lambda args: theirs):
        args = {"batchwise_prompt": False, "pull_constraint": True, "pull_constraint_coeff": 0.7, "clip_grad": 1.0}
        model = world.model_of(import_module("models.l2p").L2P, net, stream, **args)
    model.args.lr = world.LR
    model.opt = model.get_optimizer()

    def weights():
        yield ours.pool.prompts, prompted.prompt.prompt
        yield ours.pool.keys, prompted.prompt.prompt_key
        yield net.head.weight, prompted.head.weight
        yield net.blocks[0].attn.qkv.weight, prompted.blocks[0].attn.qkv.weight

    return prompts_side_by_side(stream, ours, model, lambda: None, weights)


@comparison
def coda_prompt() -> Found:
    """Their components of a phase are set to ours at its start; the penalty of both is on."""
    stream = world.tasks(3)
    net, feature = transformers(6, "models.coda_prompt_utils.vit", drop_path_rate=0)
    ours = world.learner_on(net, stream, "coda_prompt", pool=6, length=4, layers=2, ortho=0.3)
    module = import_module("models.coda_prompt_utils.model")
    theirs = module.Model.__new__(module.Model)
    nn.Module.__init__(theirs)
    theirs.task_id, theirs.feat, theirs.last = 0, feature, nn.Linear(12, 6)
    theirs.last.load_state_dict(net.head.state_dict())

    class Two(module.CodaPrompt):
        def _init_smart(self, emb_d, prompt_param):
            super()._init_smart(emb_d, prompt_param)
            self.e_layers = [0, 1]

    theirs.prompt = Two(12, 3, [6, 4, 1.0], key_dim=12)
    kind, package = import_module("models.coda_prompt").CodaPrompt, import_module("models.coda_prompt")
    args = {
        "pool_size": 6,
        "prompt_len": 4,
        "ortho_mu": 1.0,
        "mu": 0.3,
        "virtual_bs_iterations": 1,
        "lr_scheduler": None,
        "n_epochs": 3,
    }
    with (
        patch.object(package, "get_dataset", lambda _: world.dataset_of(stream)),
        patch.object(package, "Model", lambda **_: theirs),
    ):
        model = world.model_of(kind, net, stream, **args)

    def begin():
        number = model.current_task
        with torch.no_grad():
            for layer, block in enumerate(ours.prompts.components()):
                for letter, values in zip("pka", block.vectors(), strict=True):
                    getattr(theirs.prompt, f"e_{letter}_{layer}")[2 * number : 2 * number + 2] = values[number]
        model.custom_scheduler = None

    def weights():
        known = 2 * (model.current_task + 1)
        for layer, block in enumerate(ours.prompts.components()):
            for letter, values in zip("pka", block.vectors(), strict=True):
                yield torch.cat(tuple(values))[:known], getattr(theirs.prompt, f"e_{letter}_{layer}")[:known]
        yield net.head.weight, theirs.last.weight
        yield net.blocks[0].attn.qkv.weight, feature.blocks[0].attn.qkv.weight

    return prompts_side_by_side(stream, ours, model, begin, weights)


if __name__ == "__main__":
    open_checkout(Path(sys.argv[1]))
    print("FOUND " + json.dumps({name: compare() for name, compare in COMPARISONS.items()}))
