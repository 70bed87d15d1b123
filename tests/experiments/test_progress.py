"""The estimate of the time left."""

from __future__ import annotations

from einstellung.experiments import progress
from einstellung.experiments.plan import Job
from einstellung.experiments.progress import WorkProgress


def job(name, work):
    return Job("run", name, 1, name, name, None, work)


def test_the_rate_is_that_of_the_work_done_now(monkeypatch):
    """A job resumed at 60 of 100 has gained 20 after ten seconds: the other 120 take a minute."""
    clock = [0.0]
    monkeypatch.setattr(progress.time, "monotonic", lambda: clock[0])
    resumed, fresh = job("resumed", 100.0), job("fresh", 100.0)
    done = WorkProgress([resumed, fresh])
    done.update(resumed, 60.0)
    assert done.time_left() == "estimating time left"
    clock[0] = 10.0
    done.update(resumed, 80.0)
    assert done.share == 0.4
    assert done.time_left() == "about 1 min 00 s left"
    clock[0] = 20.0
    done.finish(resumed)
    done.finish(fresh)  # so short that it reported nothing
    assert done.time_left() == "about 0 s left"
