"""The rules of corroboration, with probe files made by hand: a probe speaks where an interval excludes 0, and only there."""

from __future__ import annotations

import json
import shlex
from dataclasses import asdict, replace
from pathlib import Path

import pytest

from einstellung.diagnoses.rigidity.answer import overview
from einstellung.diagnoses.rigidity.corroboration import corroborate
from einstellung.diagnoses.rigidity.probe_tables import probe_tables
from einstellung.diagnoses.rigidity.salience import salience_command, seeds_command, swept
from einstellung.hashes import write_sealed
from einstellung.metrics.statistics import summarise
from einstellung.results.probe_files import (
    ALL_OF_T2,
    CalibrationReading,
    FlipReading,
    PlasticityReading,
    Probed,
    ProbedRun,
    ProbeFile,
    SimilarityReading,
    probed,
    write_probe,
)
from einstellung.results.run_files import RunFiles, run_folder
from einstellung.results.sweep import Sweep, parse_sweeps, write_sweep
from einstellung.timeline import NSC_PATCHED, SC_MASK, SC_PATCH

from .hand_made import scorecard, seed, typed

SEEDS = (1, 2, 3, 4)
CERTAIN = (0.3, 0.32, 0.29, 0.31)
UNSURE = (0.3, -0.3, 0.2, -0.1)


def card(pattern="red-flag", seeds=SEEDS):
    runs = {
        "scratch_t2": {str(one): seed(8, 0.7, 0.6) for one in seeds},
        "sgd": {str(one): seed(4, 0.8, 0.4) for one in seeds},
    }
    made = typed(scorecard(runs))
    record = made.methods["sgd"].model_copy(update={"pattern": pattern})
    return made.model_copy(update={"methods": {**made.methods, "sgd": record}})


def file(probe, of_run, seeds=SEEDS, **more):
    """``of_run(method, place of the seed)`` are the readings of a run."""
    runs = tuple(
        ProbedRun(method=method, seed=one, key=f"{method}{one}", readings=of_run(method, place))
        for place, one in enumerate(seeds)
        for method in ("scratch_t2", "sgd")
    )
    return ProbeFile(probe=probe, checkpoint="chosen", baseline="scratch_t2", runs=runs, **more)


def flips(differences, seeds=SEEDS, **more):
    def of_run(method, place):
        turned = 0.4 + (differences[place] if method == "sgd" else 0.0)
        return (FlipReading(change="cue", split=NSC_PATCHED, n=50, negative=turned, positive=0.0),)

    return file("flips", of_run, seeds, **more)


def cka(differences):
    def of_run(method, place):
        value = 0.5 - (differences[place] if method == "sgd" else 0.0)
        same = {"ci95": None, "n": 50, "change": "cue"}
        return (
            SimilarityReading(split=SC_PATCH, layer="features", value=0.99, **same),
            SimilarityReading(split=ALL_OF_T2, layer="stage 1", value=0.99, **same),
            SimilarityReading(split=ALL_OF_T2, layer="features", value=value, **same),
        )

    return file("cka", of_run)


def calibration(differences):
    def of_run(method, place):
        lost = 0.2 + (differences[place] if method == "sgd" else 0.0)
        same = {
            "n": 50,
            "accuracy": 0.5,
            "confidence": 0.5,
            "ece_width": 0.1,
            "ece_mass": 0.1,
            "shortcut_probability": 0.5,
        }
        scores = {SC_PATCH: 0.1, SC_MASK: 0.1 + lost}
        return tuple(CalibrationReading(split=split, brier=brier, bins=(), **same) for split, brier in scores.items())

    return file("calibration", of_run)


def plasticity(dormant, rank):
    def of_run(method, place):
        own = method == "sgd"
        return (
            PlasticityReading(
                net="T2",
                dormant={"0": 0.0, "0.025": 0.1 + (dormant[place] if own else 0.0)},
                layers=(),
                effective_rank=10 + (rank[place] if own else 0.0),
                stable_rank=2.0,
                weight_magnitude=0.1,
                gradient_norm=None,
                n=50,
            ),
        )

    return file("plasticity", of_run)


def line(found, pattern="red-flag"):
    (one,) = corroborate(card(pattern), found, RunFiles()).lines
    return one


@pytest.mark.parametrize("make", [flips, cka, calibration])
@pytest.mark.parametrize(
    ("pattern", "sign", "speaks"),
    [
        *(("red-flag", 1, "for"), ("red-flag", -1, "against")),
        *(("benign-avoidance", 1, "against"), ("benign-avoidance", -1, "for")),
        *(("benign-transfer", 1, "against"), ("benign-transfer", -1, "for")),
        *(("shared-shortcut", 1, "against"), ("shared-shortcut", -1, "against")),
        *(("ambiguous", 1, "neither"), ("saturated", 1, "neither"), ("cue-harmful", -1, "neither")),
    ],
)
def test_what_each_verdict_claims(make, pattern, sign, speaks):
    found = make([sign * one for one in CERTAIN])
    one = line(Probed(**{found.probe: found}), pattern)
    assert (one.probe, one.speaks) == (found.probe, speaks)
    assert one.value == pytest.approx(sign * 0.305)
    assert f"indicates {'more' if sign > 0 else 'less'} reliance" in one.text


@pytest.mark.parametrize("make", [flips, cka, calibration])
def test_an_interval_that_holds_zero_says_nothing(make):
    found = make(UNSURE)
    one = line(Probed(**{found.probe: found}))
    assert (one.speaks, one.ci95[0] < 0 < one.ci95[1]) == ("neither", True)
    assert "the interval contains 0" in one.text


def test_two_seeds_say_nothing_however_sure_they_look():
    made = corroborate(card(seeds=(1, 2)), Probed(flips=flips([0.3, 0.3001], (1, 2))), RunFiles())
    assert made.lines[0].speaks == "neither"
    assert "fewer than three paired seeds" in made.lines[0].text


def test_pairs_are_of_the_same_seed():
    """The baseline's own spread cancels: unpaired, this interval would hold 0."""

    def of_run(method, place):
        turned = (0.0, 0.2, 0.4, 0.6)[place] + (0.1 + 0.01 * (place % 2) if method == "sgd" else 0.0)
        return (FlipReading(change="cue", split=NSC_PATCHED, n=50, negative=turned, positive=0.0),)

    assert line(Probed(flips=file("flips", of_run))).speaks == "for"


LOST = ([0.2, 0.21, 0.19, 0.2], [-5, -5.1, -4.9, -5])


@pytest.mark.parametrize(
    ("pattern", "dormant", "rank", "speaks"),
    [
        ("red-flag", *LOST, "against"),
        ("benign-avoidance", *LOST, "against"),
        ("benign-transfer", *LOST, "neither"),
        ("red-flag", LOST[0], UNSURE, "neither"),
        ("red-flag", UNSURE, LOST[1], "neither"),
    ],
)
def test_lost_plasticity_needs_both_signs_and_contradicts_faster_adaptation(pattern, dormant, rank, speaks):
    one = line(Probed(plasticity=plasticity(dormant, rank)), pattern)
    assert one.speaks == speaks
    assert ("plasticity is lost" in one.text) == ((dormant, rank) == LOST)


def with_nets(tmp_path: Path) -> RunFiles:
    runs = tuple((method, one) for method in ("scratch_t2", "sgd") for one in SEEDS)
    for run in runs:
        run_folder(tmp_path, run).mkdir(parents=True)
        (run_folder(tmp_path, run) / "model.safetensors").write_bytes(b"")
        (run_folder(tmp_path, run) / "status.json").write_text(json.dumps({"key": f"{run[0]}{run[1]}"}))
    return RunFiles(tmp_path, runs)


def test_an_ambiguous_verdict_names_the_command_to_run_next(tmp_path):
    folder = tmp_path / "my study"
    files = with_nets(folder)
    made = corroborate(card("ambiguous"), Probed(), files)
    assert made.next_command == {"sgd": f"einstellung probe '{folder}'"}
    some = corroborate(card("ambiguous"), Probed(flips=flips(CERTAIN), cka=cka(CERTAIN)), files)
    assert some.next_command["sgd"].endswith(" --probes calibration,plasticity")
    assert corroborate(card("red-flag"), Probed(), files) is None
    assert corroborate(card("ambiguous"), Probed(), RunFiles(tmp_path, files.runs)) is None  # no nets there
    shown = card("ambiguous").model_copy(update={"corroboration": some})
    paragraphs = {one.lead: one.text for one in overview(shown).paragraphs}
    assert paragraphs["next: "] == some.next_command["sgd"]
    assert paragraphs["flips, neither: "] == some.lines[1].text


def test_runs_that_came_later_are_named():
    files = RunFiles(None, tuple(("sgd", one) for one in (*SEEDS, 9)))
    assert corroborate(card(), Probed(flips=flips(CERTAIN)), files).notes == (
        "not probed yet: sgd seed 9; rerun the probes",
    )


def test_files_come_back_as_they_were_and_wrong_ones_are_named(tmp_path):
    files = with_nets(tmp_path)
    for made in (flips(CERTAIN), cka(CERTAIN), calibration(CERTAIN), plasticity(*LOST)):
        write_probe(tmp_path, made)
    found, problems = probed(files)
    assert found == Probed(cka(CERTAIN), calibration(CERTAIN), plasticity(*LOST), flips(CERTAIN))
    assert problems == []
    (tmp_path / "probes/cka.json").write_text("{")
    values = json.loads((tmp_path / "probes/flips.json").read_text())
    values["runs"][0]["readings"][0]["negative"] = "many"
    write_sealed(tmp_path / "probes/flips.json", {key: value for key, value in values.items() if key != "sha256"})
    (run_folder(tmp_path, ("sgd", 2)) / "status.json").write_text('{"key": "trained again"}')
    found, problems = probed(files)
    assert found.names == []
    assert [problem.partition("probes/")[2].partition(" ")[0] for problem in problems] == [
        f"{name}.json" for name in ("cka", "calibration", "plasticity", "flips")
    ]
    assert "runs.0.readings.0.negative" in problems[3]
    assert "was measured on other nets of sgd seed 2" in problems[1]
    assert probed(RunFiles()) == (Probed(), [])


def test_tables_hold_every_reading_over_seeds():
    measured = Probed(cka(CERTAIN), calibration(CERTAIN), plasticity(*LOST), flips(CERTAIN))
    tables = probe_tables(corroborate(card(), measured, RunFiles()))
    assert list(tables) == [
        "corroboration",
        *(f"probe_{name}" for name in ("cka", "calibration", "plasticity", "flips")),
    ]
    assert [row[2].text for row in tables["corroboration"].rows] == ["for", "for", "for", "against"]
    turned = tables["probe_flips"].values
    assert [(row["method"], round(row["negative_mean"], 6), row["negative_n"]) for row in turned] == [
        ("scratch_t2", 0.4, 4),
        ("sgd", 0.705, 4),
    ]
    alike = {(row["method"], row["layer"]): row[f"cue_{ALL_OF_T2}_mean"] for row in tables["probe_cka"].values}
    assert alike["sgd", "features"] == pytest.approx(0.195)
    assert alike["sgd", "stage 1"] == pytest.approx(0.99)
    assert tables["probe_cka"].rows[0][2].text == "–"  # the net after T1: not measured


def moved_card(pattern, worth):
    """The cue at another place is worth so much more to sgd than to scratch, seed by seed."""
    runs = {
        "scratch_t2": {str(one): seed(8, 0.7, 0.6, SC_elsewhere=0.65) for one in SEEDS},
        "sgd": {str(one): seed(4, 0.8, 0.4, SC_elsewhere=0.45 + worth[place]) for place, one in enumerate(SEEDS)},
    }
    made = typed(scorecard(runs))
    record = made.methods["sgd"].model_copy(update={"pattern": pattern})
    return made.model_copy(update={"methods": {**made.methods, "sgd": record}})


@pytest.mark.parametrize(
    ("worth", "speaks"), [(CERTAIN, "for"), ([-one for one in CERTAIN], "against"), (UNSURE, "neither")]
)
def test_the_cue_at_another_place_is_one_line(worth, speaks):
    lines = corroborate(moved_card("red-flag", worth), Probed(flips=flips(CERTAIN)), RunFiles()).lines
    (one,) = (line for line in lines if line.probe == "placement")
    assert one.speaks == speaks
    assert one.value == pytest.approx(sum(worth) / len(worth))
    assert one.text.startswith("gain in accuracy from the cue at another place, relative to scratch_t2: ")


def of_a_study(folder):
    files = with_nets(folder)
    (folder / "config.yaml").write_text("")
    return files


CUE = {"size": 4, "opacity": 1.0, "share": 0.3}
ALL = {
    "flips": flips(CERTAIN),
    "cka": cka(CERTAIN),
    "calibration": calibration(CERTAIN),
    "plasticity": plasticity(*LOST),
}


def salience_line(made):
    return next(line for line in made.lines if line.probe == "salience")


def test_after_all_probes_an_ambiguous_verdict_asks_for_seeds_while_an_interval_is_undecided(tmp_path):
    files = of_a_study(tmp_path)
    undecided = card("ambiguous")
    record = undecided.methods["sgd"]
    wide = record.model_copy(update={"SFR_rel": replace(record.SFR_rel, ci95=(-0.1, 0.1))})
    undecided = undecided.model_copy(update={"methods": {**undecided.methods, "sgd": wide}})
    made = corroborate(undecided, Probed(**ALL), files, CUE)
    run = f"einstellung run {tmp_path}/config.yaml"
    assert made.next_command == {"sgd": f"{run} --seeds 1,2,3,4,5 --out {tmp_path}"}
    sweep = f"{run} --sweep cue.opacity=0.25,0.5,1 --out {tmp_path}-opacity"
    assert salience_line(made).text == f"not measured; run: {sweep}"
    assert salience_line(made).speaks == "neither"
    narrow = {name: replace(getattr(record, name), ci95=(0.1, 0.2)) for name in ("PD", "SFR_rel")}
    narrow["AD"] = replace(record.AD, ci95=(-5.0, -3.0))
    decided = undecided.model_copy(update={"methods": {**undecided.methods, "sgd": record.model_copy(update=narrow)}})
    assert corroborate(decided, Probed(**ALL), files, CUE).next_command == {"sgd": sweep}
    assert corroborate(decided, Probed(**ALL), files, {}).next_command["sgd"].startswith(f"{run} --seeds")


def test_the_commands_are_those_that_the_program_takes(tmp_path):
    for options in (CUE, {"size": 6}):
        words = shlex.split(salience_command(tmp_path, options))
        assert parse_sweeps([words[words.index("--sweep") + 1]]) is not None
    assert salience_command(tmp_path, {"names": "a.txt"}) is None
    assert seeds_command(tmp_path, list(range(1, 13))).endswith(f"{','.join(map(str, range(1, 25)))} --out {tmp_path}")


def swept_studies(root, found):
    """The stored cards of a sweep over the cue's opacity, with these SFR_rel of sgd."""
    write_sweep(root, Sweep("cue.opacity", tuple(found)))
    for value, values in found.items():
        record = card().to_json()
        record["methods"]["sgd"]["SFR_rel"] = asdict(summarise(values))
        folder = root / f"cue.opacity={value}"
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "score.json").write_text(json.dumps(record))


@pytest.mark.parametrize(
    ("others", "speaks", "words"),
    [
        ((CERTAIN, CERTAIN), "for", "indicates more reliance"),
        (([-one for one in CERTAIN],) * 2, "against", "indicates less reliance"),
        ((CERTAIN, UNSURE), "neither", "not all on the same side of 0"),
        ((UNSURE, UNSURE), "neither", "all intervals contain 0"),
    ],
)
def test_a_sweep_over_the_cues_strength_is_read_from_its_other_studies(tmp_path, others, speaks, words):
    swept_studies(tmp_path, {0.25: others[0], 0.5: others[1], 1: UNSURE})
    made = corroborate(card(), Probed(flips=flips(CERTAIN)), of_a_study(tmp_path / "cue.opacity=1"), CUE)
    one = salience_line(made)
    assert one.speaks == speaks
    assert one.text.startswith("SFR_rel at other values of cue.opacity: 0.25: ")
    assert words in one.text


def test_a_damaged_study_of_a_sweep_is_left_out(tmp_path):
    swept_studies(tmp_path, {0.25: CERTAIN, 0.5: CERTAIN, 1: CERTAIN})
    (tmp_path / "cue.opacity=0.25" / "score.json").write_text("[]")
    found = swept(tmp_path / "cue.opacity=1", "sgd")
    assert list(found.found) == ["0.5"]
