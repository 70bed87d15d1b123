"""Settings that reach torch itself."""

from __future__ import annotations

import pytest
import torch

from einstellung.errors import InputError
from einstellung.experiments.assembly import build_learner, build_stream, resolve
from einstellung.experiments.plan import plan
from einstellung.results.config import build_config, merged, preset_names, read_preset
from einstellung.results.folder import ResultsFolder
from einstellung.training import acceleration

from .conftest import SMALL


def learner_with(**training):
    config = resolve(build_config(merged(SMALL, {"training": training})))
    return build_learner(config, "sgd", 1, build_stream(config))


@pytest.fixture
def _matmul_as_it_was():
    before = torch.get_float32_matmul_precision()
    yield
    torch.set_float32_matmul_precision(before)


@pytest.mark.usefixtures("_matmul_as_it_was")
@pytest.mark.parametrize("matmul", ["high", "medium", "highest"])
def test_products_of_matrices(matmul):
    learner_with(matmul=matmul)
    assert torch.get_float32_matmul_precision() == matmul


def test_a_compiled_net_keeps_the_names_of_its_weights():
    plain, compiled = learner_with(), learner_with(compile=True)
    assert plain.net._compiled_call_impl is None
    assert compiled.net._compiled_call_impl is not None
    assert list(plain.net.state_dict()) == list(compiled.net.state_dict())


def has_kernels(learner):
    return any(type(module).__name__ == "FusedBatchNorm2d" for module in learner.net.modules())


def resolved_kernels(**training):
    return resolve(build_config(merged(SMALL, {"training": training}))).training.kernels


def test_kernels_of_our_own_where_they_can_be(monkeypatch):
    pytest.importorskip("numba")
    assert resolved_kernels(precision="fp32") == "own"
    assert resolved_kernels(precision="bf16") == "torch"
    assert resolved_kernels(precision="fp32", compile=True) == "torch"
    assert resolved_kernels(precision="fp32", layout="contiguous") == "torch"
    monkeypatch.setattr(acceleration, "available", lambda: False)
    assert resolved_kernels(precision="fp32") == "torch"


def test_they_are_used_only_where_channels_lie_innermost():
    pytest.importorskip("numba")
    wide = {"backbone": {"name": "resnet18", "width": 8}}
    for change, uses in (({}, True), ({"training": {"kernels": "torch"}}, False), ({"backbone": {"width": 4}}, False)):
        fp32 = {"training": {"precision": "fp32"}}
        config = resolve(build_config(merged(merged(merged(SMALL, wide), fp32), change)))
        assert has_kernels(build_learner(config, "sgd", 1, build_stream(config))) == uses


@pytest.mark.parametrize(
    ("training", "message"),
    [
        ({"kernels": "own", "precision": "bf16"}, "which needs the CPU, fp32 and channels last, without compile"),
        (
            {"kernels": "own", "precision": "fp32", "layout": "contiguous"},
            "which needs the CPU, fp32 and channels last",
        ),
    ],
)
def test_kernels_that_cannot_be_are_refused(training, message):
    with pytest.raises(InputError, match=message):
        resolve(build_config(merged(SMALL, {"training": training})))


def test_a_layout_that_a_net_does_not_suit_is_refused():
    narrow = {"backbone": {"width": 4}, "training": {"layout": "channels_last"}}
    config = resolve(build_config(merged(SMALL, narrow)))
    with pytest.raises(InputError, match=r"training\.layout is 'channels_last'"):
        build_learner(config, "sgd", 1, build_stream(config))


def test_a_folder_keeps_the_meaning_of_auto_and_its_keys(tmp_path):
    """``kernels: auto`` means what was recorded, and the runs keep their keys."""
    config = resolve(build_config(merged(SMALL, {"training": {"kernels": "torch", "precision": "fp32"}})))
    folder = ResultsFolder(tmp_path)
    folder.write_config(config)
    left_open = build_config(merged(SMALL, {"training": {"kernels": "auto", "precision": "fp32"}}))
    again = resolve(folder.with_recorded_choices(left_open))
    assert again.training.kernels == "torch"
    folder.adopt(again)
    stream = build_stream(again)
    assert [job.key for job in plan(again, stream)] == [job.key for job in plan(config, stream)]
    own = again.model_copy(update={"training": again.training.model_copy(update={"kernels": "own"})})
    assert not {job.key for job in plan(own, stream)} & {job.key for job in plan(config, stream)}


def test_a_draw_of_the_batch_size_is_written_out_and_has_the_key_of_the_number():
    shape = {"training": {"batch_size": 8}, "methods": ["derpp"]}
    open_, given, other = (
        resolve(build_config(merged(SMALL, merged(shape, {"learners": {"derpp": {"draw": draw}}}))))
        for draw in (None, 8, 32)
    )
    assert open_ == given
    assert open_.learners["derpp"]["draw"] == 8
    keys = [[job.key for job in plan(config, build_stream(config))] for config in (open_, given, other)]
    assert keys[0] == keys[1]
    assert keys[0] != keys[2]


def test_presets_say_how_much_they_draw_unless_their_batches_have_32_images():
    """So far 32 was the default whatever the batch size: no preset may get another draw by the change."""
    for preset in preset_names():
        whole = read_preset(preset)
        for study in (whole.pop("studies", None) or {"": {}}).values():
            values = merged(whole, study)
            if values.get("training", {}).get("batch_size", 32) == 32:
                continue
            replaying = {part for name in values["methods"] for part in name.split("+")} & {"er", "der", "derpp", "bgs"}
            assert all("draw" in values["learners"].get(name, {}) for name in replaying), preset
