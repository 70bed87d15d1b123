"""The command line as a user meets it."""

from __future__ import annotations

import hashlib
import json
import subprocess
import sys
from pathlib import Path

import pandas as pd
import pytest

from .experiments.conftest import einstellung, typed


def timeline(path: Path, methods: tuple[str, ...] = ("scratch_t2", "sgd"), seeds: tuple[int, ...] = (1, 2, 3)) -> Path:
    """sgd crosses 0.6 two epochs before scratch, ends higher and loses more when the cue is covered."""
    rows = []
    for method in methods:
        lead = 0 if method == "scratch_t2" else 2
        for seed in seeds:
            for epoch in range(1, 9):
                acc = min(0.1 * (epoch + lead) + 0.002 * seed, 0.95)
                masked = acc * (0.7 if method == "scratch_t2" else 0.3)
                for split, value in {
                    "T1_all": 0.0,
                    "T2_shortcut_normal": acc,
                    "T2_shortcut_masked": masked,
                    "T2_nonshortcut_normal": 0.5,
                }.items():
                    rows.append(
                        {"method": method, "seed": seed, "phase": "T2", "epoch": epoch, "split": split, "acc": value}
                    )
    frame = pd.DataFrame(rows).assign(loss=1.0, n=500)
    frame.to_csv(path, index=False)
    return path


def test_help_answers_without_torch_pandas_or_matplotlib():
    """What makes it answer at once: nothing heavy is imported."""
    script = (
        "import sys\nsys.argv = ['einstellung', '--help']\nfrom einstellung.cli import main\n"
        "try:\n    main()\nexcept SystemExit as stop:\n    assert not stop.code\n"
        "heavy = {'torch', 'pandas', 'numpy', 'scipy', 'matplotlib', 'rich', 'pydantic'} & set(sys.modules)\n"
        "assert not heavy, heavy\n"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert "adapt for the right reason" in done.stdout


def test_score_needs_no_torch(tmp_path):
    path = timeline(tmp_path / "timeline.csv")
    script = (
        f"import sys\nsys.argv = ['einstellung', 'score', {str(path)!r}, '--json', '--out', {str(tmp_path / 'out')!r}]\n"
        "from einstellung.cli import main\ntry:\n    main()\nexcept SystemExit as stop:\n    assert not stop.code\n"
        "assert 'torch' not in sys.modules\n"
    )
    subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert (tmp_path / "out/report.html").exists()


def test_score_prints_json_and_nothing_else(tmp_path):
    done = einstellung("score", timeline(tmp_path / "timeline.csv"), "--json")
    card = json.loads(done.stdout)
    assert (card["baseline"], card["tau"], card["window"], card["final"]) == ("scratch_t2", 0.6, 3, "last")
    sgd = card["methods"]["sgd"]
    assert sgd["AD"]["mean"] == -2
    assert sgd["AD"]["n"] == 3
    assert sgd["PD"]["mean"] == pytest.approx(
        -0.146
    )  # 0.8 + 0.002 s against the ceiling of 0.95, mean over s = 1, 2, 3
    assert sgd["SFR_rel"]["mean"] == pytest.approx(0.95 * 0.7 - 0.804 * 0.3)
    assert sgd["pattern"] == "red-flag"
    assert sgd["per_seed"]["1"]["E"] == 5
    assert set(sgd["AD_tau"]) == {"0.30", "0.35", "0.40", "0.45", "0.50", "0.55", "0.60"}


def test_score_options_change_what_they_name(tmp_path):
    path = timeline(tmp_path / "timeline.csv")

    def card(*options):
        return json.loads(einstellung("score", path, "--json", *options).stdout)

    assert card("--tau", 0.4)["methods"]["sgd"]["per_seed"]["1"]["E"] == 3
    assert card("--window", 1)["methods"]["sgd"]["per_seed"]["1"]["E"] == 4
    assert card("--smoothing", "none")["methods"]["sgd"]["per_seed"]["1"]["E"] == 4
    assert list(card("--tau-grid", "0.5:0.6:0.1")["methods"]["sgd"]["AD_tau"]) == ["0.50", "0.60"]
    assert list(card("--tau-grid", "0.25,0.5")["methods"]["sgd"]["AD_tau"]) == ["0.25", "0.50"]
    assert card("--margins", "5,0.02,0.02")["methods"]["sgd"]["pattern"] == "ambiguous"
    assert card("--classes", 20)["floor"] == {"level": 0.15, "chance": 0.05, "classes": 20}
    assert card("--baseline", "sgd")["methods"]["scratch_t2"]["AD"]["mean"] == 2
    assert card("--variant", "guide")["variant"] == "guide"
    assert card("--variant", "guide", "--guide-threshold", 0.3)["threshold"] == 0.3


def test_methods_and_seeds_choose_what_is_scored(tmp_path):
    """Every number is that of a log with these runs alone; Holm's correction is over the methods that are left."""
    path = timeline(tmp_path / "timeline.csv", ("scratch_t2", "sgd", "er"), (1, 2, 3, 4))
    frame = pd.read_csv(path)
    chosen = frame[frame["method"].isin(["scratch_t2", "sgd"]) & frame["seed"].isin([1, 3, 4])]
    chosen.to_csv(tmp_path / "chosen.csv", index=False)

    def card(path, *options):
        return json.loads(einstellung("score", path, "--json", *options).stdout)

    filtered = card(path, "--methods", "sgd, scratch_t2", "--seeds", "4,1,3")
    assert filtered == card(tmp_path / "chosen.csv")
    assert list(filtered["methods"]) == ["scratch_t2", "sgd"]
    assert list(filtered["methods"]["sgd"]["per_seed"]) == ["1", "3", "4"]
    for found, family in ((filtered, 1), (card(path, "--seeds", "1,3,4"), 2)):
        test = found["methods"]["sgd"]["tests"]["PD"]
        assert test["p_holm"] == family * test["p"]
    assert "no baseline" in card(path, "--methods", "sgd")["warnings"][0]
    assert card(path, "--variant", "guide", "--seeds", "2")["methods"]["sgd"]["n_seeds"] == 1  # any diagnosis


def test_the_number_of_classes_may_change_the_answer(tmp_path):
    """Masked .07 in both is above the floor of a head of 60 classes, and not above that of 10."""
    path = timeline(tmp_path / "timeline.csv")
    frame = pd.read_csv(path)
    frame.loc[frame["split"] == "T2_shortcut_masked", "acc"] = 0.07
    frame.to_csv(path, index=False)

    def sgd(*options):
        card = json.loads(einstellung("score", path, "--json", *options).stdout)
        assert card["schema_version"] == 2
        return card["methods"]["sgd"]

    assert (sgd()["pattern"], sgd()["saturated"], sgd()["high_rigidity"]) == ("red-flag", False, True)
    assert sgd("--classes", 60)["pattern"] == "red-flag"
    few = sgd("--classes", 10)
    assert (few["pattern"], few["saturated"], few["high_rigidity"]) == ("saturated", True, None)
    assert "(0.250 (chance is 1/10))" in few["verdict"]
    assert (few["SFR_rel_within"], few["PD_specific"]["n"]) == (None, 3)
    assert "acc_within" in few["why_undefined"]["SFR_rel_within"]
    assert few["share_lost"]["mean"] == pytest.approx(1 - 0.07 / 0.95)
    assert few["error_rate"].endswith(".")


def test_score_reads_a_folder_and_writes_a_report(tmp_path):
    (tmp_path / "logs").mkdir()
    timeline(tmp_path / "logs/timeline.csv")
    done = einstellung("score", tmp_path / "logs", "--out", tmp_path / "report")
    assert "red-flag" in done.stdout
    assert f"report: {tmp_path / 'report/report.html'}" in done.stdout
    assert (tmp_path / "report/tables/table1.tex").exists()
    assert (tmp_path / "report/figures/fig3_accuracy.pdf").exists()
    guide = einstellung("score", tmp_path / "logs", "--variant", "guide", "--out", tmp_path / "guide")
    assert "guide" in guide.stdout
    content = hashlib.sha256((tmp_path / "logs/timeline.csv").read_bytes()).hexdigest()[:16]
    for folder in ("report", "guide"):
        page = (tmp_path / folder / "report.html").read_text()
        assert content in page  # which file the numbers came from
        assert "einstellung score" in page


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["score", "absent.csv"], "absent.csv"),
        (["score", "empty.csv"], "empty.csv"),
        (["score", "binary.csv"], "binary.csv"),
        (["score", "no_column.csv"], "acc"),
        (["score", "good.csv", "--baseline", "scrach_t2"], "did you mean 'scratch_t2'"),
        (["score", "good.csv", "--final", "best-val"], "T2_val"),
        (
            ["score", "good.csv", "--margins", "1,2"],
            "--margins is 1,2: give three non-negative numbers for AD, PD and SFR_rel",
        ),
        (["score", "good.csv", "--tau-grid", "0.6:0.3:0.1"], "--tau-grid"),
        (["score", "good.csv", "--tau-grid", "nan:0.6:0.05"], "--tau-grid"),
        (["score", "good.csv", "--tau-grid", "0.3:0.6:1e-12"], "--tau-grid"),
        (["score", "good.csv", "--tau", "1.5"], "tau is 1.5"),
        (["score", "good.csv", "--classes", "1"], "--classes is 1"),
        (["score", "good.csv", "--methods", "sdg"], "no method 'sdg' in the timeline: did you mean 'sgd'?"),
        (["score", "good.csv", "--methods", ","], "--methods ',': give names separated by commas"),
        (["score", "good.csv", "--seeds", "1,7"], "no seed 7 in the timeline: there are: 1, 2, 3"),
        (["score", "good.csv", "--seeds", "one"], "--seeds one: give whole numbers separated by commas"),
        (["run", "--preset", "demo", "--seeds", "1.7"], "--seeds 1.7: give whole numbers"),
        (["run", "--preset", "demo", "--seeds", "99999999999999999999"], "seeds.0"),
        (["validate", "--preset", "demo", "--set", "backbone.width=0"], "backbone.width is 0"),
        (["score", "good.csv", "--out", "good.csv"], "good.csv is a file"),
        (["score"], "Missing argument"),
        (["scor"], "No such command 'scor'"),
        (["run"], "give either a CONFIG.yaml or --preset NAME"),
        (["run", "absent.yaml"], "no such configuration"),
        (["run", "--preset", "demo", "--methods", "sgdd"], "unknown learner 'sgdd': did you mean 'sgd'"),
        (["run", "--preset", "demo", "--seeds", "one"], "--seeds one"),
        (["run", "--preset", "demo", "--methods", " , "], "--methods ' , ': give names separated by commas"),
        (
            ["run", "--preset", "demo", "--only", "nn-strict"],
            "has a single study: leave out --only, which chooses among several",
        ),
        (["run", "--preset", "concon-fast", "--only", "nn-stric"], "has no study 'nn-stric'; did you mean 'nn-strict'"),
        (["run", "--preset", "demo", "--set", "trainin.lr=1"], "did you mean 'training'"),
        (
            ["run", "--preset", "demo", "--set", "training.lr=2024-13-45"],
            "unable to parse string as a number (got '2024-13-45')",
        ),
        (["run", "date.yaml"], "the YAML tag '!!timestamp' is not allowed"),
        (["run", "--preset", "demo", "--sweep", "cue.size=2024-13-45,2"], "cue.size is '2024-13-45'"),
        (["validate", "--preset", "dem"], "did you mean 'demo'"),
        (["report", "absent"], "no such folder"),
        (["report", "."], "is not a results folder"),
        (["run", "--preset", "demo", "--data", "nowhere"], "--data nowhere: no such file or folder"),
        (
            ["run", "--preset", "demo", *(f"--sweep={key}=1,2" for key in ("cue.size", "cue.share", "stream.noise"))],
            "--sweep is given 3 times: a sweep varies one or two settings",
        ),
        (
            ["run", "--preset", "demo", "--sweep", "cue.size=2,4", "--sweep", "cue.size=6,8"],
            "--sweep names cue.size twice",
        ),
        (
            ["run", "--preset", "demo", "--sweep", "cue.size=2,4", "--sweep", "cue.share=0.5"],
            "--sweep cue.share=0.5: give at least two different values",
        ),
        (
            ["run", "--preset", "demo", "--sweep", "cue.size=2,4", "--sweep", "cue.opacty=0.5,1"],
            "did you mean 'opacity'",
        ),
        (["run", "--preset", "demo", "--set", "probes=[ckaa]"], "unknown probe 'ckaa': did you mean 'cka'"),
        (["probe", "absent"], "no such folder: absent"),
        (
            ["probe", "."],
            "is not a results folder (no config.yaml): probes need stored nets, which log files do not have",
        ),
        (["probe", ".", "--probes", "ckaa"], "unknown probe 'ckaa': did you mean 'cka'"),
        (["run", "--preset", "demo", "--sweep", "seeds=1,2"], "--sweep seeds=1,2: write it as key=value,value"),
        (["run", "--preset", "demo", "--sweep", "cue.size=2,huge"], "cue.size is 'huge'"),
        (["run", "--preset", "demo", "--sweep", "cue.siz=2,4"], "did you mean 'size'"),
        (
            ["run", "--preset", "demo", "--set", "training.milestones=[[1], [2], [3]]"],
            "milestones has one list per phase",
        ),
        (["validate", "--preset", "smoke"], "CIFAR-100 not found in ./data, ./data/CIFAR100"),
        (["data", "get", "cifar10"], "cifar10"),
    ],
)
def test_bad_input_is_one_line_and_exit_code_two(tmp_path, words, message, monkeypatch, capsys):
    timeline(tmp_path / "good.csv")
    (tmp_path / "empty.csv").write_text("")
    (tmp_path / "date.yaml").write_text("name: !!timestamp 2024-13-45\n")
    (tmp_path / "binary.csv").write_bytes(bytes(range(256)) * 20)
    (tmp_path / "no_column.csv").write_text("method,seed,phase,epoch,split,loss,n\nsgd,1,T2,1,T1_all,0,5\n")
    before = sorted(path.name for path in tmp_path.iterdir())
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("EINSTELLUNG_DATA", raising=False)
    assert typed(monkeypatch, *words) == 2
    said = capsys.readouterr()
    assert said.out == ""
    assert said.err.startswith("einstellung: ")
    assert said.err.count("\n") == 1
    assert message in said.err
    assert sorted(path.name for path in tmp_path.iterdir()) == before


@pytest.mark.parametrize("what", ["learners", "streams", "cues", "covers", "backbones", "presets"])
def test_ls_lists_with_and_without_json(what, monkeypatch, capsys):
    assert typed(monkeypatch, "ls", what, "--json") == 0
    entries = json.loads(capsys.readouterr().out)[what]
    assert typed(monkeypatch, "ls", what) == 0
    text = capsys.readouterr().out
    assert entries
    assert all(entry["name"] in text and entry["summary"] for entry in entries)


def test_validate_shows_the_proof(monkeypatch, capsys):
    assert typed(monkeypatch, "validate", "--preset", "demo", "--no-data-map", "--json") == 0
    done = json.loads(capsys.readouterr().out)
    assert done["holds"] is True
    assert len(done["proof"]["checks"]) == 9
    assert typed(monkeypatch, "validate", "--preset", "demo", "--no-data-map") == 0
    text = capsys.readouterr().out
    assert "16 runs and 8 first phases to train" in text
    assert text.count("ok  ") == 9


def test_a_missing_baseline_is_a_warning(monkeypatch, capsys, tmp_path):
    """One line on stderr and one in the JSON, and no error: the baseline can be added later."""
    tiny = {
        "stream": {"name": "shapes", "size": 12, "train_per_class": 8, "test_per_class": 2},
        "backbone": {"name": "resnet18", "width": 8},
        "training": {"epochs": [1, 1], "batch_size": 8, "precision": "fp32"},
        "seeds": [1],
    }
    line = "warning: no baseline 'scratch_t2' among the methods: AD, PD, SFR_rel and the verdicts will be undefined"
    for methods, warned in ((["sgd"], True), (["scratch_t2", "sgd"], False)):
        (tmp_path / "tiny.yaml").write_text(json.dumps({**tiny, "methods": methods}))
        for words in (("validate",), ("run", "--dry-run", "--workers", "1", "--out", tmp_path / "out")):
            assert typed(monkeypatch, *words, tmp_path / "tiny.yaml", "--json") == 0
            shown, said = capsys.readouterr()
            told = json.loads(shown)
            told = told if words[0] == "validate" else told["studies"]["tiny"]
            assert [f"warning: {warning}" for warning in told["warnings"]] == [
                one for one in said.splitlines() if line in one
            ]
            assert len(told["warnings"]) == warned
    assert not (tmp_path / "out").exists()


def test_validate_says_what_it_did_not_check(monkeypatch, capsys):
    """A cue of 12 of 20 pixels has no second place, which is no failure."""
    assert typed(monkeypatch, "validate", "--preset", "demo", "--no-data-map", "--set", "cue.size=12") == 0
    lines = capsys.readouterr().out.splitlines()
    assert [line for line in lines if line.startswith("--  ")] == [
        "--    the displaced cue is present and clear of its usual place: not checked: no split shows the cue displaced"
    ]
    assert sum(line.startswith("ok  ") for line in lines) == 8
