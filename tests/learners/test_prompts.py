"""L2P and CODA-Prompt: prompts from explicit loops over images, and what learns."""

from __future__ import annotations

import copy
from contextlib import nullcontext

import pytest
import torch
import torch.nn.functional as F

from einstellung.backbones.vit import VisionTransformer
from einstellung.errors import InputError
from einstellung.learners import Context, make_learner
from einstellung.learners.coda_prompt import orthonormal, overlap
from einstellung.learners.combined import use_final_architecture
from einstellung.learners.methods import learner_options
from einstellung.streams import Presentation

OPTIONS = {"l2p": {"pool": 6, "length": 2, "top": 3}, "coda_prompt": {"pool": 6, "length": 4, "layers": 2}}


@pytest.fixture
def made(stream):
    def build(name, **options):
        torch.manual_seed(0)
        net = VisionTransformer(stream.n_outputs, dim=8, depth=3, heads=2, patch=4, image=12)
        context = Context(
            seed=7,
            presentation=Presentation(stream),
            autocast=nullcontext,
            make_optimiser=lambda parameters: torch.optim.SGD(parameters, lr=0.1, weight_decay=0.1),
            device=torch.device("cpu"),
            phases=stream.phases,
            initial=net.state_dict,
        )
        base = OPTIONS.get(name, {part: values for part, values in OPTIONS.items() if name.endswith(part)})
        return make_learner(name, {**base, **options}, net, context)

    return build


def block_by_hand(block, tokens, prefix=None):
    """Attention head by head, row by row of one image [tokens, dim]."""
    x = block.norm1(tokens)
    query, key, value = F.linear(x, block.attn.qkv.weight, block.attn.qkv.bias).chunk(3, dim=1)
    if prefix is not None:
        key, value = torch.cat((prefix[0], key)), torch.cat((prefix[1], value))
    size, heads = query.shape[1] // block.attn.heads, []
    for head in range(block.attn.heads):
        part = slice(head * size, (head + 1) * size)
        shares = (query[:, part] @ key[:, part].T / size**0.5).softmax(dim=1)
        heads.append(shares @ value[:, part])
    tokens = tokens + block.attn.proj(torch.cat(heads, dim=1))
    return tokens + block.mlp(block.norm2(tokens))


def tokens_by_hand(net, image):
    patches = net.patch_embed(image[None])[0]
    return torch.cat((net.cls_token[0], patches)) + net.pos_embed[0]


def query_by_hand(net, image):
    tokens = tokens_by_hand(net, image)
    for block in net.blocks:
        tokens = block_by_hand(block, tokens)
    return net.norm(tokens)[0]


def competing(logits, labels, classes):
    return F.cross_entropy(logits[:, list(classes)], torch.tensor([classes.index(label) for label in labels.tolist()]))


def test_l2p_by_hand(made, batch_of, stream):
    learner = made("l2p", pull=0.7, clip=0.05)
    phase = stream.phases[1]
    learner.begin_phase(phase)
    learner.begin_epoch(phase, 1)
    net, batch = copy.deepcopy(learner.net), batch_of(phase, range(5))
    features, pulled = [], 0.0
    for image in batch.inputs:
        query = query_by_hand(net, image).detach()
        cosines = torch.stack([F.cosine_similarity(query, key, dim=0) for key in net.prompts.keys])
        best = sorted(range(6), key=lambda number: -cosines[number].item())[:3]
        pulled = pulled + sum(cosines[number] for number in best) / 5
        tokens = tokens_by_hand(net, image)
        prompts = torch.cat([net.prompts.prompts[number] for number in best]) + net.pos_embed[0, 0]
        tokens = torch.cat((tokens[:1], prompts, tokens[1:]))
        for block in net.blocks:
            tokens = block_by_hand(block, tokens)
        features.append(net.norm(tokens)[1:7].mean(dim=0))
    logits = net.head(torch.stack(features))
    assert torch.allclose(learner.net(batch.inputs), logits, atol=1e-5)
    loss = competing(logits, batch.labels, phase.classes) - 0.7 * pulled
    loss.backward()
    learned = {"prompts.keys", "prompts.prompts", "head.weight", "head.bias"}
    gradients = {name: p.grad for name, p in net.named_parameters() if name in learned}
    norm = torch.sqrt(sum((g**2).sum() for g in gradients.values()))
    assert float(norm) > 0.05, "clipped"
    assert torch.allclose(learner.observe(batch), loss.detach(), atol=1e-5)
    for name, parameter in learner.net.named_parameters():
        before = net.get_parameter(name).detach()
        if name in learned:
            assert torch.allclose(
                parameter, before - 0.1 * (gradients[name] * 0.05 / norm + 0.1 * before), atol=1e-6
            ), name
        else:
            assert torch.equal(parameter, before), name


def test_coda_prompt_by_hand(made, batch_of, stream):
    """In the second phase: components of both take part, those of the second learn."""
    learner = made("coda_prompt", ortho=0.3)
    for phase in stream.phases:
        learner.begin_phase(phase)
        learner.begin_epoch(phase, 1)
        learner.observe(batch_of(phase, range(5, 10)))
    phase = stream.phases[1]
    net, batch = copy.deepcopy(learner.net), batch_of(phase, range(5))
    outputs = []
    for image in batch.inputs:
        query, tokens = query_by_hand(net, image).detach(), tokens_by_hand(net, image)
        for number, block in enumerate(net.blocks):
            prefix = None
            if number < 2:
                part = net.prompts.blocks[number]
                prompt = 0.0
                for phase_number in range(2):
                    for m in range(3):
                        key, attention = part.keys[phase_number][m], part.attention[phase_number][m]
                        weight = F.cosine_similarity(query * attention, key, dim=0)
                        prompt = prompt + weight * part.prompts[phase_number][m]
                prefix = prompt[:2], prompt[2:]
            tokens = block_by_hand(block, tokens, prefix)
        outputs.append(net.norm(tokens)[0])
    logits = net.head(torch.stack(outputs))
    assert torch.allclose(learner.net(batch.inputs), logits, atol=1e-5)
    loss = competing(logits, batch.labels, phase.classes)
    for block in net.prompts.blocks:
        for values in (block.prompts, block.keys, block.attention):
            rows = torch.cat(tuple(values)).flatten(1)
            loss = loss + 0.3 * ((rows @ rows.T - torch.eye(6)) ** 2).mean()
    loss.backward()
    assert torch.allclose(learner.observe(batch), loss.detach(), atol=1e-5)
    moved = set()
    for name, parameter in learner.net.named_parameters():
        before = net.get_parameter(name)
        if not torch.equal(parameter, before):
            moved.add(name)
            assert torch.allclose(parameter, before - 0.1 * (before.grad + 0.1 * before), atol=1e-6), name
    own = {f"prompts.blocks.{k}.{what}.1" for k in range(2) for what in ("prompts", "keys", "attention")}
    assert moved == own | {"head.weight", "head.bias"}, "weights of earlier components stay, decay or not"


def test_components_of_a_later_phase_have_no_effect(made, batch_of, stream):
    learner = made("coda_prompt")
    learner.begin_phase(stream.phases[0])
    part = learner.net.prompts.blocks[0]
    assert not part.prompts[1].any()
    assert part.prompts[0].any()
    first = torch.cat(tuple(part.keys))[:3]
    assert torch.allclose(first @ first.T, torch.eye(3), atol=1e-6)
    learner.begin_phase(stream.phases[1])
    known = torch.cat(tuple(part.keys))
    assert torch.allclose(known @ known.T, torch.eye(6), atol=1e-6)


def test_new_components_are_orthogonal_to_trained_ones():
    draws = torch.Generator().manual_seed(0)
    past = torch.randn(4, 9, generator=draws)
    past[3] = past[0]  # trained ones may depend on each other
    fresh = orthonormal(past, 5, draws)
    assert torch.allclose(fresh @ fresh.T, torch.eye(5), atol=1e-6)
    assert float((fresh @ past.T).abs().max()) < 1e-5
    assert float(overlap(fresh)) < 1e-12


@pytest.mark.parametrize("method", ["l2p", "coda_prompt"])
def test_another_method_may_train_the_transformer_first(made, batch_of, stream, method):
    learner = made(f"sgd-then-{method}")
    t1, t2 = stream.phases
    learner.begin_phase(t1)
    learner.begin_epoch(t1, 1)
    before = learner.net.blocks[0].attn.qkv.weight.clone()
    learner.observe(batch_of(t1, range(8)))
    trained = learner.net.blocks[0].attn.qkv.weight.clone()
    assert not torch.equal(trained, before)
    assert learner.net.prompts is None
    learner.end_phase(t1)
    learner.begin_phase(t2)
    learner.begin_epoch(t2, 1)
    learner.observe(batch_of(t2, range(8)))
    assert torch.equal(learner.net.blocks[0].attn.qkv.weight, trained)
    again = made(f"sgd-then-{method}")
    use_final_architecture(again)
    again.net.load_state_dict(learner.net.state_dict())
    inputs = batch_of(t2, range(4)).inputs
    assert torch.equal(again.net(inputs), learner.net(inputs))


def test_what_is_refused(make, made):
    for method in ("l2p", "coda_prompt"):
        with pytest.raises(InputError, match=r"give backbone\.name vit"):
            make(method)
    for method, key, value in (
        ("l2p", "top", 11),
        ("l2p", "clip", 0.0),
        ("l2p", "pull", -1.0),
        ("coda_prompt", "length", 3),
        ("coda_prompt", "ortho", -1.0),
        ("coda_prompt", "layers", 0),
    ):
        with pytest.raises(InputError, match=rf"learners\.{method}\.{key} is {value}"):
            learner_options(method, {key: value})
    with pytest.raises(InputError, match=r"pool is 9: with 2 phases and a transformer of 8 channels, give from 2 to 8"):
        made("coda_prompt", pool=9)
    with pytest.raises(InputError, match="layers is 4, but the transformer has 3 blocks"):
        made("coda_prompt", layers=4)
