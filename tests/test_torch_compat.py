"""Fallbacks for older torch releases: each is compared with what a newer torch does by itself, or with the plain net."""

from __future__ import annotations

import pytest
import torch
from torch import nn

from einstellung import torch_compat
from einstellung.torch_compat import attention_hooks_called, cpu_has_bf16, has_global_hooks, is_compiled, uncompiled


@pytest.fixture(params=["set_stance", "fallback"])
def either_way(request, monkeypatch):
    if request.param == "fallback":
        monkeypatch.delattr(torch.compiler, "set_stance", raising=False)
    elif not hasattr(torch.compiler, "set_stance"):
        pytest.skip("this torch has no set_stance")


def compiled_nets() -> dict[str, nn.Module]:
    whole, part = (nn.Sequential(nn.Linear(3, 4), nn.ReLU(), nn.Linear(4, 2)) for _ in range(2))
    whole.compile(backend="eager")
    part[0].compile(backend="eager")
    wrapped = torch.compile(nn.Sequential(nn.Linear(3, 4), nn.ReLU(), nn.Linear(4, 2)), backend="eager")
    return {"whole": whole, "part": part, "wrapped": wrapped}


@pytest.mark.parametrize("kind", ["whole", "part", "wrapped"])
def test_hooks_added_after_compilation_are_called(either_way, kind):
    torch._dynamo.reset()
    net, inputs = compiled_nets()[kind], torch.randn(5, 3)
    before = net(inputs)  # compiled by now, without hooks
    state = [(dict(vars(part)).get("forward"), part._compiled_call_impl) for part in net.modules()]
    seen: list[torch.Tensor] = []
    first = getattr(net, "_orig_mod", net)[0]
    handle = first.register_forward_hook(lambda module, given, output: seen.append(output))
    with uncompiled(net):
        assert torch.equal(net(inputs), before)
    handle.remove()
    assert len(seen) == 1
    assert torch.equal(seen[0], inputs @ first.weight.T + first.bias) or torch.allclose(seen[0], first(inputs))
    assert state == [(dict(vars(part)).get("forward"), part._compiled_call_impl) for part in net.modules()]
    assert is_compiled(net)


def test_the_compiled_form_is_restored_after_an_error(monkeypatch):
    monkeypatch.delattr(torch.compiler, "set_stance", raising=False)
    net = compiled_nets()["whole"]
    compiled = net._compiled_call_impl
    seen = []

    def fail_inside():
        with uncompiled(net):
            seen.append(net._compiled_call_impl)
            raise KeyError

    with pytest.raises(KeyError):
        fail_inside()
    assert seen == [None]
    assert net._compiled_call_impl is compiled


@pytest.mark.parametrize(
    "register",
    [
        nn.modules.module.register_module_forward_hook,
        nn.modules.module.register_module_forward_pre_hook,
        nn.modules.module.register_module_full_backward_hook,
        nn.modules.module.register_module_full_backward_pre_hook,
    ],
)
def test_every_kind_of_global_hook_is_seen(register):
    assert not has_global_hooks()
    handle = register(lambda *given: None)
    try:
        assert has_global_hooks()
    finally:
        handle.remove()
    assert not has_global_hooks()


def test_an_encoder_layer_calls_the_hooks_of_its_attention():
    """With its weights frozen and in evaluation mode, torch takes the fused path otherwise."""
    layer = nn.TransformerEncoderLayer(8, 2, batch_first=True).eval()
    called = []
    layer.self_attn.register_forward_pre_hook(lambda module, given: called.append(module))
    before = torch.backends.mha.get_fastpath_enabled()
    with torch.inference_mode(), attention_hooks_called():
        layer(torch.randn(2, 3, 8))
    assert called == [layer.self_attn]
    assert torch.backends.mha.get_fastpath_enabled() == before


@pytest.mark.parametrize(
    ("answers", "expected"), [((True, False), True), ((False, True), True), ((False, False), False)]
)
def test_bf16_of_the_cpu_is_what_torch_says(monkeypatch, answers, expected):
    for name, answer in zip(("_is_avx512_bf16_supported", "_is_amx_tile_supported"), answers, strict=True):
        monkeypatch.setattr(torch.cpu, name, lambda answer=answer: answer, raising=False)
    assert cpu_has_bf16() is expected


def test_a_torch_that_cannot_say_has_no_bf16(monkeypatch):
    for name in ("_is_avx512_bf16_supported", "_is_amx_tile_supported"):
        monkeypatch.delattr(torch_compat.torch.cpu, name, raising=False)
    assert cpu_has_bf16() is False
