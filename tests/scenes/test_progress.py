"""What a person hears while scenes are drawn."""

from __future__ import annotations

from einstellung.scenes import progress


def test_the_time_left_is_that_of_the_work_done_since_the_start(monkeypatch):
    clock = [100.0]
    monkeypatch.setattr(progress.time, "monotonic", lambda: clock[0])
    messages = list[str]()
    report = progress.progress_logger("drawn", messages.append, interval=10.0)
    for now, done in ((101, 400), (105, 500), (112, 600), (113, 700), (140, 1000)):
        clock[0] = float(now)
        report(done, 1000)
    # 400 were there before: 200 took 12 seconds, so the other 400 take 24.
    assert messages == ["drawn: 600 of 1,000 images, about 24 s left", "drawn: 1,000 of 1,000 images"]


def test_what_is_counted_is_named():
    messages = list[str]()
    progress.progress_logger("predicted", messages.append, unit="models")(2, 2)
    assert messages == ["predicted: 2 of 2 models"]


def test_long_times_are_in_minutes(monkeypatch):
    clock = [0.0]
    monkeypatch.setattr(progress.time, "monotonic", lambda: clock[0])
    messages = list[str]()
    report = progress.progress_logger("drawn", messages.append, interval=0.0)
    report(0, 1000)
    clock[0] = 30.0
    report(100, 1000)
    assert messages == ["drawn: 0 of 1,000 images", "drawn: 100 of 1,000 images, about 4 min left"]
