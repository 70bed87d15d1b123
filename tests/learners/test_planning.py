"""What a method costs: plain training unless it declares something else."""

from __future__ import annotations

import pytest

from einstellung.learners import Learner, Workload, learner_options, learners

SIZES = [100, 40]


def test_plain_training_costs_one_step_per_image():
    plain = Learner.workload
    assert plain == Workload()
    assert plain.price(None, SIZES, 1, 16) == plain.share(None, SIZES, 1) == 1
    assert plain.extra_images_per_step(None, SIZES, 1) == plain.closing_cost(None, 100) == 0


def test_extra_images_weigh_more_in_a_small_batch():
    class Two(Workload):
        def extra_images_per_step(self, options, sizes, number, stage="train") -> float:
            return 2.0

    assert Two(step_cost=3.0).price(None, SIZES, 0, 8) == 3.25
    assert Two().price(None, [100, 4], 1, 8) == 1.5, "a batch is no larger than its phase"


@pytest.mark.parametrize("name", list(learners))
def test_every_workload_can_be_computed_from_options_alone(name):
    workload, options = learners[name].workload, learner_options(name, {})
    for number in range(2):
        for stage in learners[name].stages(options, SIZES, [2, 3], number):
            assert workload.price(options, SIZES, number, 16, stage.name) >= 1
            assert workload.share(options, SIZES, number, stage.name) > 0
    assert workload.closing_cost(options, 100) >= 0
