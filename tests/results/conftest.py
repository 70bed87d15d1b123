"""The small study of the experiments' tests."""

from __future__ import annotations

from tests.experiments.conftest import small_config

__all__ = ["small_config"]
