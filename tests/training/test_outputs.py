"""Logits in whatever models return."""

from __future__ import annotations

from types import SimpleNamespace

import torch

from einstellung.training.outputs import logits_of


def test_every_form():
    logits = torch.eye(2)
    for output in (logits, SimpleNamespace(logits=logits), {"logits": logits, "loss": 0}, (logits, "more"), [logits]):
        assert logits_of(output) is logits


def test_anything_else_is_left_to_the_caller():
    assert logits_of({"scores": 1}) == {"scores": 1}
    assert logits_of(()) == ()
