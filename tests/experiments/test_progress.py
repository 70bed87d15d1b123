"""What a person is told about the time left."""

from __future__ import annotations

from einstellung.experiments import progress
from einstellung.experiments.plan import Job
from einstellung.experiments.progress import Tally


def job(name, work):
    return Job("run", name, 1, name, name, None, work)


def test_the_pace_is_that_of_the_work_done_now(monkeypatch):
    """A job taken up again at 60 of 100 has gained 20 after ten seconds: the other 120 take a minute."""
    clock = [0.0]
    monkeypatch.setattr(progress.time, "monotonic", lambda: clock[0])
    resumed, fresh = job("resumed", 100.0), job("fresh", 100.0)
    tally = Tally([resumed, fresh])
    tally.heard(resumed, 60.0)
    assert tally.time_left() == "estimating time left"
    clock[0] = 10.0
    tally.heard(resumed, 80.0)
    assert tally.share == 0.4
    assert tally.time_left() == "about 1 min 00 s left"
    clock[0] = 20.0
    tally.ended(resumed)
    tally.ended(fresh)  # so short that nothing was heard of it
    assert tally.time_left() == "about 0 s left"
