"""In which order jobs are started: nobody waits long at the end, and first phases come before what needs them."""

from __future__ import annotations

from itertools import permutations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from einstellung.experiments.launcher import Failure
from einstellung.experiments.plan import Job
from einstellung.experiments.schedule import JobQueue, in_order, makespan, most_at_once, next_job


def job(folder, work, needs=None):
    return Job("run", "m", 1, folder, folder, needs, float(work))


def seed(number, costs):
    """A first phase and the runs that need it, beside one from random weights."""
    t1 = job(f"t1-{number}", costs["t1"])
    runs = [job(f"{name}-{number}", cost, t1.folder) for name, cost in costs.items() if name not in ("t1", "scratch")]
    return [t1, job(f"scratch-{number}", costs["scratch"]), *runs]


STUDY = {"t1": 300, "scratch": 180, "sgd": 180, "ewc_on": 260, "derpp": 540, "gpm": 200.56, "dgr": 454}


def played(order, workers):
    """Minute by minute, as slowly as can be: who is free takes the first job in line that may start."""
    waiting, running, done, now = list(order), {}, set(), 0.0
    while waiting or running:
        for entry in list(waiting):
            if len(running) < workers and (entry.needs is None or entry.needs in done):
                waiting.remove(entry)
                running[entry.folder] = now + entry.work
        now = min(running.values())
        for folder in [folder for folder, end in running.items() if end == now]:
            del running[folder]
            done.add(folder)
    return now


def seconds(jobs):
    return {entry.folder: entry.work for entry in jobs}


@pytest.mark.parametrize(
    ("seeds", "workers", "at_most"),
    # What is possible at best (every order of the few jobs, or the work after all first phases shared evenly) plus 2 %
    [(1, 2, 1134.56 * 1.02), (3, 2, 3171.8 * 1.02), (3, 4, 1586 * 1.02), (5, 4, 2643 * 1.02), (5, 8, 1400)],
)
def test_little_time_is_lost_at_the_end(seeds, workers, at_most):
    jobs = [entry for number in range(seeds) for entry in seed(number, STUDY)]
    assert makespan(jobs, seconds(jobs), workers) <= at_most


@settings(max_examples=25, deadline=None)
@given(costs=st.lists(st.integers(1, 30), min_size=2, max_size=5), first=st.integers(1, 30), workers=st.integers(1, 3))
def test_the_best_of_all_orders_is_nearly_reached(costs, first, workers):
    jobs = [job("t1", first), *(job(f"run {n}", cost, "t1" if n % 2 else None) for n, cost in enumerate(costs))]
    best = min(played(order, workers) for order in permutations(jobs))
    found = makespan(jobs, seconds(jobs), workers)
    assert best <= found <= 1.05 * best
    assert found == played(in_order(jobs, workers), workers)


def test_the_order_is_always_the_same_and_complete():
    jobs = [entry for number in range(2) for entry in seed(number, STUDY)]
    assert in_order(jobs, 3) == in_order(jobs, 3)
    assert sorted(in_order(jobs, 3), key=lambda entry: entry.folder) == sorted(jobs, key=lambda entry: entry.folder)
    assert in_order([], 3) == []


def test_many_jobs_are_simply_sorted_by_their_chains():
    jobs = [entry for number in range(10) for entry in seed(number, STUDY)]
    order = [entry.folder.partition("-")[0] for entry in in_order(jobs, 2)]
    sorted_out = [name for name in ("t1", "derpp", "dgr", "ewc_on", "gpm") for _ in range(10)]
    assert order == sorted_out + ["scratch", "sgd"] * 10


def test_a_job_waits_for_a_first_phase_of_this_plan_only():
    waiting = [job("a", 1, "t1"), job("b", 1, "earlier")]
    assert next_job(waiting, {"t1", "a", "b"}, set()) == waiting[1]
    assert next_job(waiting, {"t1", "a", "b"}, {"t1"}) == waiting[0]
    assert next_job(waiting[:1], {"t1", "a"}, set()) is None


def test_how_many_can_run_at_once():
    jobs = seed(1, STUDY)
    assert most_at_once(jobs) == 6  # the five that wait for T1, and the one that does not
    assert most_at_once(jobs[:1]) == 1
    assert most_at_once(jobs[2:]) == 5  # T1 was trained earlier
    assert most_at_once([]) == 0


class Notes:
    """A display that keeps what it is told."""

    def __init__(self):
        self.lines = []

    def started(self, entry):
        self.lines.append(f"start {entry.folder}")

    def ended(self, entry, failure):
        self.lines.append(f"end {entry.folder} {failure or 'ok'}")


def test_a_queue_hands_out_what_may_start_and_drops_what_needs_a_failed_job():
    first, second, other = job("t1", 3), job("a", 2, "t1"), job("b", 1, "t1")
    display = Notes()
    queue = JobQueue([second, first, other], display)
    assert queue.take() == first
    assert queue.take() is None
    assert len(queue) == 2
    queue.finish(first, None)
    assert queue.take() == second
    queue.finish(second, Failure(second, "diverged", by_input=False))
    assert queue.take() == other
    queue.finish(other, None)
    assert [failure.reason for failure in queue.failures] == ["diverged"]
    assert display.lines == ["start t1", "end t1 ok", "start a", "end a diverged", "start b", "end b ok"]

    queue = JobQueue([first, second, other], display := Notes())
    queue.finish(queue.take(), Failure(first, "disk full", by_input=True))
    assert not queue
    assert [(failure.job, failure.by_input) for failure in queue.failures] == [
        (first, True),
        (second, True),
        (other, True),
    ]
    assert queue.failures[1].reason == f"its first phase ({first.label}) failed"
    assert len(display.lines) == 4
