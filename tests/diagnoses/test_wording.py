"""Numbers and lists as a sentence says them."""

from __future__ import annotations

from einstellung.diagnoses.wording import counted, listed, listed_seeds, percent, points, run_name


def test_one_is_written_as_one():
    assert (counted(1, "run"), counted(2, "run"), counted(1.0, "epoch"), counted(0.5, "epoch")) == (
        "1 run",
        "2 runs",
        "1 epoch",
        "0.5 epochs",
    )


def test_long_lists_are_cut_short():
    assert listed(f"finding {place}" for place in range(8)).endswith("finding 5 and 2 more")
    assert listed([]) == ""
    assert listed_seeds(list(range(10))) == "seeds 0, 1, 2, 3, 4, 5, 6, 7 and 2 more"


def test_shares_and_differences():
    assert (percent(1.0), percent(0.12345)) == ("100.0 %", "12.3 %")
    assert (points(-0.0001), points(-0.12)) == ("0.0", "-12.0")


def test_a_run_is_named_by_method_and_seed():
    assert run_name(("er", 7)) == "er seed 7"
