"""Outputs read as tables, against the tables of the scenes themselves."""

from __future__ import annotations

import torch

from einstellung.perception.columns import PRESENCE, codes_of, tables_of
from einstellung.scenes.attributes import KINDS
from einstellung.scenes.tables import attribute_table

from .conftest import sure


def test_every_kind_becomes_its_own_row():
    codes = torch.from_numpy(KINDS).long().view(24, 4, 4)
    outputs = sure(codes, torch.full((24, 4, 2), 0.5))
    assert torch.equal(codes_of(outputs)[:, :4], codes)
    tables = tables_of(outputs)
    assert tables.dtype == torch.uint8
    assert torch.equal(tables[:, :4], torch.from_numpy(attribute_table(codes.numpy().astype("uint8"))))
    assert not tables[:, 4].any()


def test_half_a_presence_is_enough():
    outputs = torch.zeros(1, 2, 18)
    outputs[0, 1, PRESENCE] = -1e-6
    assert tables_of(outputs)[0, :, PRESENCE].tolist() == [1, 0]
