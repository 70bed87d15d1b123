"""Settings that reach torch itself."""

from __future__ import annotations

import pytest
import torch

from einstellung.experiments.assembly import build_learner, build_stream, resolve
from einstellung.experiments.config import build_config, merged

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
