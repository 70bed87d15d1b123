"""The verb ``step`` at a tiny size, with a stand-in for a peer; and the peers' two sides."""

from __future__ import annotations

import sys
from functools import partial

import pytest
import torch

from benchmarks import step, step_rows
from benchmarks.bare import bare_net, bare_steps, fisher_one_at_a_time, peak_gflops
from benchmarks.fisher import ONE_BY_ONE, fisher_passes, fisher_works, penalty
from benchmarks.learners import BATCH, Setting, leave_t1, some_stream, steps_in_t2
from benchmarks.measuring import row
from benchmarks.peers.answering import flops_per_image
from benchmarks.peers.places import AVALANCHE_PYTHON, MAMMOTH, start_avalanche, start_mammoth
from benchmarks.peers.process import Peer, PeerError
from benchmarks.rates import Rates, Work, measured
from einstellung.experiments.assembly import build_learner
from einstellung.learners import Learner

STAND_IN = """
from benchmarks.peers.answering import answer, own_channel
channel = own_channel()
print("a framework says a lot")
calls = []
def derpp():
    calls.append(1)
    end = __import__("time").process_time() + 0.05
    while __import__("time").process_time() < end: pass
    return 32
def breaks():
    if len(calls) > 1: raise RuntimeError("out of paper")
    return 1
answer({"derpp": derpp, "breaks": breaks}, channel, flops_per_image=7.0)
"""


def stand_in(width: int) -> Peer:
    return Peer([sys.executable, "-c", STAND_IN])


def test_a_peer_is_asked_line_by_line_and_its_own_core_seconds_come_back():
    with stand_in(8) as peer:
        assert peer.facts == {"works": ["derpp", "breaks"], "flops_per_image": 7.0}
        done = peer.do("derpp")
        assert done.images == 32
        assert done.core_seconds >= 0.05
        with pytest.raises(PeerError, match=r"^RuntimeError: out of paper$"):
            peer.do("breaks")


def test_a_missing_peer_is_reported_and_not_measured(monkeypatch):
    monkeypatch.delenv(MAMMOTH, raising=False)
    with pytest.raises(PeerError, match="--mammoth FOLDER"):
        start_mammoth()
    with Peer([sys.executable, "-c", "raise SystemExit('no such package')"]) as broken:
        waiting = {"Mammoth": PeerError("no checkout given"), "Avalanche": broken}
        assert step.ready(waiting) == ({}, {"Mammoth": "no checkout given", "Avalanche": "no such package"})


@pytest.mark.parametrize("wrong", ["folder", "missing", "plain", "nonsense"])
def test_an_interpreter_that_cannot_be_started_is_reported(tmp_path, monkeypatch, wrong):
    place = tmp_path / wrong
    if wrong == "folder":
        place.mkdir()
    elif wrong != "missing":
        place.write_bytes(b"\0 no program")
        place.chmod(0o755 if wrong == "nonsense" else 0o644)
    monkeypatch.setenv(AVALANCHE_PYTHON, str(place))
    with pytest.raises(PeerError) as error:
        start_avalanche()
    assert str(error.value).startswith(f"{place} cannot be started as an interpreter: ")
    assert "\n" not in str(error.value)


def test_a_peer_that_ends_in_the_middle_loses_only_itself():
    with stand_in(8) as broken, stand_in_without_breaking(8) as sound:
        asked = {"A derpp": (broken, "derpp"), "A breaks": (broken, "breaks"), "B derpp": (sound, "derpp")}
        rates = measured({"ours": Work(4, lambda: sum(range(10_000)))}, asked, 3)
    assert rates.lost == {broken: "RuntimeError: out of paper"}
    assert {name: len(took) for name, took in rates.seconds.items()} == {"ours": 3, "B derpp": 3}
    assert rates.images == {"ours": 4, "B derpp": 32}
    assert rates.over("ours", "B derpp").n == 3


def test_a_peer_killed_between_two_requests_is_reported():
    with Peer(
        [sys.executable, "-c", 'print(\'{"works": ["derpp"]}\', flush=True); raise SystemExit("killed")']
    ) as gone:
        assert gone.facts == {"works": ["derpp"]}
        gone._process.wait()
        with pytest.raises(PeerError, match=r"^killed$"):
            gone.do("derpp")


def test_step_through_the_program_at_a_tiny_size(monkeypatch):
    def absent(width):
        raise PeerError("not installed")

    monkeypatch.setattr(step, "FULL", 8)
    monkeypatch.setattr(step, "NARROW", 16)
    known = ("bare", "bare channels_last", "sgd fp32 torch", "sgd", "derpp")
    monkeypatch.setattr(
        step, "measured_narrow", lambda short: Rates(dict.fromkeys(known, 32), {name: [0.5, 0.25] for name in known})
    )
    monkeypatch.setattr(step, "LEARNERS", ("sgd", "derpp"))
    monkeypatch.setattr(step, "LONG_ONLY", ("derpp earlier",))
    peers = {"Mammoth": stand_in_without_breaking, "Avalanche": absent, "Third": stand_in}
    monkeypatch.setattr(step, "PEERS", peers)
    monkeypatch.setattr(step, "peak_gflops", partial(peak_gflops, sides=(64,), times=1))
    monkeypatch.setattr(step_rows, "TARGETED", 8)
    found = step.measure(short=True)
    rows = {line["what"]: line for line in found["rows"]}
    assert [line for line in rows if line.startswith("Avalanche")] == ["Avalanche in the same run"]
    assert rows["Avalanche in the same run"]["measured"] == "not measured: not installed"
    assert rows["Third in the same run"]["measured"] == (
        "not measured: it ended in the middle: RuntimeError: out of paper"
    )
    theirs = [line for what, line in rows.items() if "Mammoth's derpp" in what]
    assert [line["reach"] for line in theirs] == ["at least 1.7", "no target"]
    assert all("with OTHER FLOPs" in line["what"] for line in theirs)
    sgd = next(line for what, line in rows.items() if what.startswith("ResNet-18 width 16") and ": sgd in T2" in what)
    assert sgd["measured"] == "96.0 (64.0 to 128.0, 2 times); 1.00 (1.00 to 1.00, 2 times) x the bare loop's"
    took = found["core_seconds"]["full"]
    assert {"bare", "bare channels_last", "sgd", "derpp", "sgd fp32 torch", "Mammoth derpp"} <= set(took)
    assert all(len(values) == 2 and min(values) > 0 for values in took.values())
    assert found["images"]["full"]["Mammoth derpp"] == 32
    # the narrow ResNet-18 in multiplications and additions, by hand: stem, 3 + 4 + 4 + 4 convolutions of 3x3, 3 of 1x1, head
    fine, coarse = 2 * 32 * 32 * 9 * 3 * 8, 2 * 32 * 32 * 9 * 8 * 8
    forward = fine + 4 * coarse + 3 * (coarse / 2 + 3 * coarse + coarse / 18) + 2 * 64 * 36
    assert found["flops_per_image"]["8"] == pytest.approx(3 * forward - fine, rel=1e-12)  # no gradient for the image


def stand_in_without_breaking(width: int) -> Peer:
    return Peer([sys.executable, "-c", STAND_IN.replace(', "breaks": breaks', "")])


def test_flops_are_counted_where_the_net_is_ours_in_plain_torch():
    assert flops_per_image(bare_net(8)) == flops_per_image(bare_net(8), images=5)


def test_rates_say_how_many_times_as_many_images():
    rates = Rates({"ours": 32, "theirs": 16}, {"ours": [1.0, 2.0, 4.0], "theirs": [1.0, 2.0, 1.0]})
    assert rates.of("ours").median == 16
    assert (rates.over("ours", "theirs").median, rates.over("ours", "theirs").low) == (2.0, 0.5)


def test_targets_are_for_the_full_net_alone():
    seconds = {name: [1.0, 1.0] for name in ("bare", "sgd fp32 torch", "sgd fp32 own")}
    rates = Rates(dict.fromkeys(seconds, 32), {**seconds, "sgd fp32 torch": [1.2, 1.2]})
    full, narrow = (step_rows.plain_rows(width, rates, 1e9, {"fp32": 64.0}) for width in (64, 8))
    assert [(line["reach"], line["reached"]) for line in full[:1]] == [("at most 1.10", False)]
    assert all(line["reach"] == "no target" for line in narrow)
    assert "effective share of the fp32 peak 50 %" in full[1]["measured"]
    assert [line["measured"] for line in full[2:]] == [step_rows.NO_BF16] * 2
    without = step_rows.plain_rows(
        64, Rates(rates.images, {k: rates.seconds[k] for k in seconds if "own" not in k}), 1, {"fp32": 1.0}
    )
    assert without[1] == row(full[1]["what"], "not measured: the package numba is not installed")


def test_learners_have_t1_behind_them():
    stream = some_stream()
    derpp = build_learner(Setting("derpp", 8).config(), "derpp", 1, stream)
    leave_t1(derpp, stream)
    assert len(derpp.buffer) == derpp.options.buffer == 500
    gpm = build_learner(Setting("gpm", 8).config(), "gpm", 1, stream)
    leave_t1(gpm, stream)
    basis = next(iter(gpm.bases.values()))
    assert torch.equal(basis.T @ basis, torch.eye(basis.shape[1]))
    assert basis.shape == (27, 5)  # a fifth of the stem's inputs
    ewc = build_learner(Setting("ewc_on", 8).config(), "ewc_on", 1, stream)
    leave_t1(ewc, stream)
    assert set(ewc.fisher) == {name for name, _ in ewc.net.named_parameters()}


def test_a_piece_of_work_is_so_many_full_batches(monkeypatch):
    batches = []
    observe = Learner.observe
    monkeypatch.setattr(
        Learner, "observe", lambda self, batch: batches.append(len(batch.labels)) or observe(self, batch)
    )
    run = steps_in_t2(Setting("sgd", 8), some_stream(), 2)
    assert batches == []
    run()
    assert batches == [BATCH, BATCH]


def test_bare_loop_and_our_fisher_pass_agree_with_their_definitions():
    passes = fisher_passes(8)
    ours, alone = passes["fisher fp32"], passes[ONE_BY_ONE]
    assert penalty(ours.of_few()) == pytest.approx(penalty(alone.of_few()), rel=1e-3)
    ours.run()
    assert penalty(ours.learner.fisher) != pytest.approx(penalty(alone.of_few()), rel=1e-3)  # of other images, too
    assert {name: work.images for name, work in fisher_works(passes).items() if "bf16" not in name} == {
        "fisher fp32": len(ours.phase.train),
        ONE_BY_ONE: len(alone.labels),
    }
    assert (len(ours.phase.train), len(ours.few.train), len(alone.labels)) == (64, 16, 16)
    net, inputs = torch.nn.Linear(2, 2, bias=False), torch.tensor([[2.0, 0.0], [0.0, 4.0]])
    torch.nn.init.zeros_(net.weight)  # p = 1/2: the gradient of an image is x / 2 in one row and -x / 2 in the other
    fisher = fisher_one_at_a_time(net, inputs, torch.tensor([0, 1]))["weight"]
    assert fisher.tolist() == [[0.5, 2.0], [0.5, 2.0]]
    bare_steps(8, 1, 4, channels_last=True)()
