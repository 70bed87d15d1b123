"""The verb ``modalities`` at a tiny size."""

from __future__ import annotations

import pytest

from benchmarks import modalities
from benchmarks.rates import Rates

TINY = {"train_per_class": 10, "test_per_class": 2}
NET = {"name": "embedding_bag", "vocabulary": 300, "dim": 4, "hidden": 4}


def test_both_sides_are_measured_and_reported(monkeypatch):
    case = modalities.Case({"name": "phrases", **TINY}, {}, NET)
    monkeypatch.setattr(modalities, "CASES", {"bag": case, "long one": modalities.Case({}, {}, {}, is_short=False)})
    monkeypatch.setattr(modalities, "run_memory", lambda name: 2.0)
    done = []

    def measured(works, asked, repeats):
        for work in works.values():
            work.do()
        done.append(set(works))
        return Rates({"ours": 320, "bare": 320}, {"ours": [1.0, 1.0], "bare": [0.9, 0.5]})

    monkeypatch.setattr(modalities, "measured", measured)
    found = modalities.measure(short=True)
    assert done == [{"ours", "bare"}]
    speed, memory = found["rows"]
    assert speed["what"].startswith("bag on phrases, 40 tokens a text, batches of 32, 1 thread: sgd in T2")
    assert speed["measured"].startswith("0.70 (0.50 to 0.90, 2 times)")
    assert (speed["reached"], memory["reached"]) == (False, False)


def test_a_stand_in_where_the_data_are_not_found(monkeypatch, tmp_path):
    monkeypatch.setenv("EINSTELLUNG_DATA", str(tmp_path))
    monkeypatch.chdir(tmp_path)
    case = modalities.Case(
        {"name": "ucr", "dataset": "Crop"}, {"name": "waves", **TINY}, {"name": "resnet1d", "width": 4}
    )
    config, stream = case.prepared()
    assert (config.stream.name, stream.name) == ("waves", "waves")


def test_a_whole_run_is_measured(monkeypatch):
    monkeypatch.setitem(modalities.CASES, "tiny", modalities.Case({"name": "phrases", **TINY}, {}, NET))
    assert 2**26 < modalities.one_run("tiny") < 2**34


def test_a_mistake_in_a_case_is_not_taken_for_missing_data():
    from einstellung.errors import InputError

    with pytest.raises(InputError, match=r"stream\.length is 8"):
        modalities.Case({"name": "waves", "length": 8}, {"name": "waves"}, {"name": "resnet1d"}).prepared()
