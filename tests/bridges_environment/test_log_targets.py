"""Real MLflow and real W&B: what a run exports to them, import reads back to the same timeline."""

from __future__ import annotations

import pytest

from tests.experiments.exported import assert_same, run_and_read_back
from tests.experiments.test_log_targets import (  # noqa: F401  (collected here too, where no target is skipped)
    test_a_resumed_run_replaces_its_log_and_moments_within_a_step_stay_apart,
)


@pytest.mark.parametrize("kind", ["mlflow", "wandb"])
def test_a_study_reads_back(tmp_path, kind):
    assert_same(*run_and_read_back(kind, tmp_path))
