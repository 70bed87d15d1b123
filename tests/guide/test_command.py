"""Every flag of the guide's command makes the difference it promises."""

from __future__ import annotations

import json
import os
import re
import shutil
from pathlib import Path

import pandas as pd
import pytest
import yaml

from einstellung.errors import InputError
from einstellung.experiments.execution import execute
from einstellung.experiments.plan import plan
from einstellung.experiments.study import prepare_study
from einstellung.guide import command as module
from einstellung.guide import experiment, flags
from einstellung.guide.experiment import Performed, study_folder
from einstellung.results.folder import ResultsFolder
from einstellung.results.merging import merge_timelines
from einstellung.sources import cifar100, load_cifar100
from einstellung.sources.cache import cache_folder
from tests.experiments.conftest import typed
from tests.sources.archives import FOLDER, published_as, small_files, write_folder

from .conftest import TINY, run_command

FILES = ("timeline.csv", "model.safetensors", "model_last.safetensors", "predictions.csv", "predictions_last.csv")


def config(*words: str):
    return flags.configured(flags.parsed([*words]), lambda line: None)


def run_files(root: Path, name: str) -> dict[str, bytes]:
    (folder,) = root.glob(f"studies/*/runs/{name}")
    return {file: (folder / file).read_bytes() for file in FILES}


def written(root: Path) -> dict[Path, int]:
    """When every file of a run was written."""
    return {path: path.stat().st_mtime_ns for path in root.glob("studies/*/[rf]*s/*/*")}


@pytest.fixture(scope="module")
def finished(tmp_path_factory):
    """``sgd`` and ``scratch_t2``, one seed, through the whole command, and what it said."""
    root = tmp_path_factory.mktemp("front_door") / "results"
    said = run_command("--model=sgd,scratch_t2", "--seed=1", f"--results_root={root}", *TINY)
    assert said.code == 0, said.err
    return root, said


@pytest.fixture
def root(finished, tmp_path, without_figures, in_process) -> Path:
    """A copy of the finished runs that a test may change."""
    return Path(shutil.copytree(finished[0], tmp_path / "results"))


def test_it_ends_with_the_table_the_verdict_and_the_paths(finished):
    root, said = finished
    assert "adaptation delay" in said.out
    assert "performance deficit" in said.out
    assert "feature reliance" in said.out
    assert "sgd: Ambiguous" in said.out
    verdict = next(line for line in said.out.splitlines() if line.startswith("sgd: Ambiguous"))
    assert 90 < len(verdict) <= 120  # wrapped as the table is
    assert max(map(len, said.out.partition("\nreport: ")[0].splitlines())) <= 120
    (study,) = root.glob("studies/resnet18-*")
    assert f"report: {study / 'report.html'}" in said.out
    assert f"results: {root / 'comprehensive_results.json'}" in said.out
    for name in ("sgd_resnet18_seed1", "scratch_t2_resnet18_seed1"):
        assert {file.name for file in (root / name).iterdir()} == {
            "detailed_results.json",
            "einstellung_final_results.json",
        }
    assert {"report.html", "config.yaml", "timeline.csv", "score.json"} <= {file.name for file in study.iterdir()}
    assert set(json.loads((root / "comprehensive_results.json").read_text())["studies"]) == {study.name}
    assert json.loads((study / "provenance.json").read_text())["command"].startswith("run_einstellung_experiment.py")


def test_results_root(root):
    assert run_command("--model=sgd", "--seed=1", f"--results_root={root}", "--skip_training", *TINY).code == 0
    elsewhere = root.parent / "elsewhere"
    said = run_command("--model=sgd", "--seed=1", f"--results_root={elsewhere}", "--skip_training", *TINY)
    assert str(elsewhere) in said.error
    assert not elsewhere.exists()


def test_the_guides_files_are_written_whatever_the_study_says(root):
    (root / "comprehensive_results.json").unlink()
    words = ("--model=sgd", "--seed=1", "--auto_checkpoint", f"--results_root={root}", *TINY)
    assert run_command(*words, "--set=guide_files=false").code == 0
    assert (root / "comprehensive_results.json").exists()


def test_the_report_verb_renews_the_guides_files_where_they_are(root, monkeypatch):
    (study,) = root.glob("studies/resnet18-*")
    view = root / "sgd_resnet18_seed1" / "detailed_results.json"
    before = view.read_text()
    view.unlink()
    assert typed(monkeypatch, "report", study) == 0
    assert json.loads(view.read_text()) == json.loads(before)
    assert not list(study.glob("*_seed1"))


def test_a_finished_run_stops_the_command(root):
    before = written(root)
    said = run_command("--model=sgd", "--seed=1", f"--results_root={root}", *TINY)
    assert said.error.startswith("sgd seed 1 is already finished in ")
    assert "--auto_checkpoint reuses it" in said.error
    assert "--force_retrain retrains it" in said.error
    assert "--skip_training re-evaluates it" in said.error
    assert written(root) == before


def test_auto_checkpoint_uses_what_is_finished(root):
    before = written(root)
    said = run_command("--model=sgd,scratch_t2", "--seed=1", "--auto_checkpoint", f"--results_root={root}", *TINY)
    assert said.code == 0
    assert "sgd seed 1: already finished, reused" in said.err
    assert "start" not in said.err
    assert written(root) == before


def test_force_retrain_trains_what_is_asked_for_and_no_more(root):
    before, files = written(root), run_files(root, "sgd-seed1")
    said = run_command("--model=sgd", "--seed=1", "--force_retrain", f"--results_root={root}", *TINY)
    assert said.code == 0, said.err
    assert "sgd seed 1 T1: deleted for retraining" in said.err
    assert "start  sgd seed 1\n" in said.err
    after = written(root)
    changed = {path.parent.name.partition("-")[0] for path in after if after[path] != before.get(path)}
    assert changed == {"sgd"}
    assert any("first_phases" in str(path) and after[path] != before[path] for path in before)
    assert run_files(root, "sgd-seed1") == files  # the same settings give the same bytes


def test_an_interrupted_run_is_continued(root, monkeypatch):
    whole = run_files(root, "sgd-seed1")
    (study,) = root.glob("studies/*")
    shutil.rmtree(study / "runs/sgd-seed1")
    prepared = prepare_study(config("--model=sgd", "--seed=1", *TINY), study)
    (job,) = (job for job in plan(prepared.config, prepared.stream) if job.kind == "run")

    def interrupted(*_: object) -> None:
        raise KeyboardInterrupt

    from einstellung.experiments.execution import JobExecution

    with monkeypatch.context() as patch:
        save = JobExecution._save
        patch.setattr(JobExecution, "_save", lambda self, *where: (save(self, *where), interrupted()))
        with pytest.raises(KeyboardInterrupt):
            execute(job, prepared.config, study, prepared.stream, lambda work, where: None)
    assert (study / "runs/sgd-seed1/checkpoint.safetensors").exists()
    said = run_command("--model=sgd", "--seed=1", f"--results_root={root}", *TINY)
    assert said.code == 0, said.err
    assert "sgd seed 1: resumed" in said.err
    assert "sgd seed 1 T1: already trained, reused" in said.err
    assert run_files(root, "sgd-seed1") == whole


def test_skip_training_measures_what_is_stored(root):
    before = written(root)
    (root / "comprehensive_results.json").unlink()
    said = run_command("--model=sgd,scratch_t2", "--seed=1", "--skip_training", f"--results_root={root}", *TINY)
    assert said.code == 0, said.err
    assert said.err.count("7 splits agree with its timeline") == 2
    assert written(root) == before
    assert (root / "comprehensive_results.json").exists()


def test_skip_training_scores_with_the_settings_that_are_given(root):
    again = ("--model=sgd", "--seed=1", "--skip_training", f"--results_root={root}", *TINY)
    assert run_command(*again, "--set=einstellung_adaptation_threshold=0.01").code == 0
    final = json.loads((root / "sgd_resnet18_seed1/einstellung_final_results.json").read_text())["final_metrics"]
    assert final["adaptation_threshold"] == 0.01


def test_skip_training_says_what_is_missing(root):
    said = run_command("--model=sgd,gpm", "--seeds", 1, 2, "--skip_training", f"--results_root={root}", *TINY)
    assert "no finished run of gpm seed 1, sgd seed 2, gpm seed 2 with these settings" in said.error


def test_another_setting_is_another_checkpoint(root):
    changed = run_command(
        "--model=sgd", "--seed=1", "--skip_training", f"--results_root={root}", *TINY, "--set=cue.size=3"
    )
    assert "no finished run of sgd seed 1 with these settings" in changed.error


@pytest.mark.parametrize(
    "change", ["cue.size=3", "training.lr=0.5", "stream.seed=1", "learners.derpp.buffer=9", "backbone.width=16"]
)
def test_the_folder_is_known_by_all_that_shapes_results(change):
    plain, root = study_folder(config(*TINY), Path("r")), Path("r")
    assert study_folder(config(*TINY, f"--set={change}"), root) != plain
    assert study_folder(config(*TINY, f"--set={change}", "--model=sgd", "--seeds=1,2"), root) == study_folder(
        config(*TINY, f"--set={change}"), root
    )
    assert plain.parent == Path("r/studies")
    assert plain.name.startswith("resnet18-")


@pytest.mark.parametrize(
    "words", ["--model=sgd", "--seeds=1,2", "--set=score.guide_threshold=0.5", "--csv_log", "--set=learners.sgd={}"]
)
def test_what_shapes_no_result_leaves_the_folder(words):
    assert study_folder(config(*TINY, words), Path("r")) == study_folder(config(*TINY), Path("r"))


def test_comparative(root, monkeypatch):
    assert config("--comparative").methods == ("scratch_t2", "sgd", "ewc_on", "derpp", "interleaved")
    assert config("--comparative", "--model=gpm").methods[0] == "gpm"
    monkeypatch.setattr(flags, "COMPARED", ("scratch_t2", "sgd"))
    alone = run_command("--model=sgd", "--seed=1", "--auto_checkpoint", f"--results_root={root}", *TINY)
    both = run_command("--comparative", "--seed=1", "--auto_checkpoint", f"--results_root={root}", *TINY)
    assert "scratch_t2 against sgd: performance deficit" in both.out
    assert "SFR" in both.out
    assert "against sgd" not in alone.out


def test_without_the_baseline_it_says_what_is_missing(root):
    (study,) = root.glob("studies/*")
    shutil.rmtree(study / "runs/scratch_t2-seed1")
    said = run_command("--model=sgd", "--seed=1", "--auto_checkpoint", f"--results_root={root}", *TINY)
    assert "no verdict: the triplet needs scratch_t2; add it to --model, or use --comparative" in said.out


def test_verbose_shows_settings_and_every_measurement(root):
    """And logs are left beside the run that was asked for, no other."""
    shutil.rmtree(next(root.glob("studies/*/runs/scratch_t2-seed1")))
    said = run_command("--model=scratch_t2", "--seed=1", "--verbose", "--tensorboard", f"--results_root={root}", *TINY)
    assert said.code == 0, said.err
    settings, lines = said.err.split("start  scratch_t2 seed 1\n")
    assert yaml.safe_load(settings)["training"]["epochs"] == [1, 2]
    (run,) = root.glob("studies/*/runs/scratch_t2-seed1")
    shown = [line for line in lines.splitlines() if "scratch_t2 seed 1: T2 epoch" in line]
    table = pd.read_csv(run / "timeline.csv")
    assert len(shown) == len(table) == len(pd.read_csv(run / "log.csv"))
    for row in table.itertuples():
        assert any(f"epoch {row.epoch:g}: {row.split} acc {row.acc:.4f}, loss {row.loss:.4f}" in line for line in shown)
    assert any((run / "tensorboard").iterdir())
    assert not (run.parent / "sgd-seed1" / "log.csv").exists()


def test_an_unexpected_error_is_one_line_that_names_its_trace(monkeypatch, tmp_path):
    def broken(*_: object) -> Performed:
        raise ZeroDivisionError("by hand")

    monkeypatch.setattr(experiment, "perform", broken)
    said = run_command(f"--results_root={tmp_path}", *TINY)
    assert said.code == 70
    found = re.fullmatch(
        r"run_einstellung_experiment: unexpected error, its trace is in (\S+): ZeroDivisionError: by hand\n", said.err
    )
    assert found is not None, said.err
    assert 'raise ZeroDivisionError("by hand")' in Path(found[1]).read_text()
    Path(found[1]).unlink()


def test_model_and_backbone():
    assert config().methods == ("derpp",)
    assert config("--model=sgd, ewc_on,gpm").methods == ("sgd", "ewc_on", "gpm")
    assert config().backbone.name == "resnet18"
    assert config().attention is None
    tiny = config("--backbone=vit")
    assert (tiny.backbone.name, tiny.stream.input_size) == ("vit", None)
    assert tiny.attention is not None
    assert config("--set=backbone=vit").attention is not None
    base = config("--backbone=vit_base_patch16_224")
    assert (base.stream.name, base.stream.input_size) == ("cifar100", 224)
    assert base.attention is not None


@pytest.mark.parametrize(
    ("words", "line"),
    [
        (["--model=derp"], "unknown learner 'derp': did you mean 'derpp'?"),
        (["--backbone=resnet81"], "unknown backbone 'resnet81': did you mean 'resnet18' or 'resnet1d'?"),
        (["--modle", "sgd"], "unknown flag '--modle': did you mean '--model'?"),
        (["--output_dir", "x"], "unknown flag '--output_dir': "),
        (["--skip_training", "--force_retrain"], "--skip_training and --force_retrain contradict each other"),
        (["--auto_checkpoint", "--force_retrain"], "--auto_checkpoint and --force_retrain contradict each other"),
        (["--enable_cache", "--disable_cache"], "argument --disable_cache: not allowed with argument --enable_cache"),
        (["--seed=1", "--seeds", "2"], "--seed and --seeds are both given"),
        (["--seeds", "one"], "--seeds one: give whole numbers separated by commas"),
        (["--epochs=1,2,3"], "n_epochs is [1, 2, 3]: give one whole number from 1, or one for each of the two phases"),
        (["--epochs=0"], "n_epochs is 0: give one whole number"),
        (["--code_optimization=4"], "argument --code_optimization: invalid choice: 4"),
        (["--workers=0"], "workers is 0: give a number from 1"),
        (["--set=dataset=[1]"], "Integration not enabled: dataset '[1]' is none of the guide's"),
        (
            ["--set=logging=5", "--set=csv_log=true"],
            "logging.0: input should be 'csv', 'tensorboard', 'mlflow' or 'wandb' (got 5)",
        ),
        (["--data=nowhere"], "--data nowhere: no such file or folder"),
        (["--set=cue.sise=4"], "unknown key 'cue.sise': did you mean 'size'?"),
        (
            ["--set=einstellung_patch_sise=4"],
            "unknown key 'einstellung_patch_sise': did you mean 'einstellung_patch_size'?",
        ),
    ],
)
def test_what_is_wrong_is_said_in_one_line(words, line, tmp_path):
    tiny = [] if "--epochs" in words[0] else TINY
    said = run_command(*tiny, f"--results_root={tmp_path / 'r'}", *words)
    assert line in said.error
    assert len(said.err.splitlines()) == 1
    assert not (tmp_path / "r").exists()


def test_seeds():
    assert config().seeds == (42,)
    assert config("--seed=7").seeds == (7,)
    assert config("--seeds", "42", "123").seeds == config("--seeds", "42,123").seeds == (42, 123)


def test_epochs():
    assert config().training.epochs == (50, 50)
    assert config().training.milestones == (35, 45)
    assert config("--epochs=10").training.epochs == (10, 10)
    assert config("--epochs=10").training.milestones == ((7, 9), (7, 9))  # the same shares of the way
    assert config("--epochs=10,20").training.milestones_of(1) == (14, 18)


def test_debug():
    small = config("--debug")
    assert small.name == "guide-debug"
    assert config().name == "guide"
    assert small.training.epochs == (2, 2)
    assert small.stream.options["train_per_class"] == 10
    assert small.backbone.options == {"width": 8}
    assert config("--debug", "--epochs=3").training.epochs == (3, 3)
    assert "train_per_class" not in config().stream.options
    assert config("--debug", "--backbone=vit").backbone.options == {"dim": 24, "depth": 2}
    assert config("--debug", "--backbone=vit_base_patch16_224").stream.options["train_per_class"] == 5
    with pytest.raises(InputError, match="--debug names its study 'guide-debug': remove name=mine"):
        config("--debug", "--set=name=mine")


@pytest.mark.parametrize(
    ("words", "small"),
    [
        ((), "10 training images per class, 2 + 2 epochs, width 8"),
        (("--epochs=3",), "10 training images per class, 3 + 3 epochs, width 8"),
        (("--set=backbone=vit",), "10 training images per class, 2 + 2 epochs, the net as configured"),
        (("--backbone=vit",), "10 training images per class, 2 + 2 epochs, 2 blocks of 24 channels"),
    ],
)
def test_debug_says_what_it_makes_smaller(words, small, monkeypatch):
    def enough(*_: object) -> Performed:
        raise InputError("enough")

    monkeypatch.setattr(experiment, "perform", enough)
    said = run_command("--debug", *words)
    assert said.err.splitlines()[0] == f"--debug: {small}; the results are meaningless"


@pytest.mark.parametrize("words", ["--backbone=resnet81", "--model=derp", "--workers=0"])
def test_debug_says_nothing_of_what_cannot_be_run(words):
    said = run_command("--debug", words)
    assert said.code == 2
    assert len(said.err.splitlines()) == 1


def test_debug_marks_its_results(tmp_path, monkeypatch, without_figures, in_process):
    words = ("--debug", "--model=sgd", "--seed=1", f"--results_root={tmp_path}", *TINY)
    assert run_command(*words).code == 0
    (study,) = tmp_path.glob("studies/*")
    run = tmp_path / "sgd_resnet18_seed1"
    warning = "--debug: 8 training images per class, 1 + 2 epochs: the results are meaningless"
    for renewed in (False, True):
        if renewed:
            shutil.rmtree(run)
            assert typed(monkeypatch, "report", study) == 0
        detailed = json.loads((run / "detailed_results.json").read_text())
        final = json.loads((run / "einstellung_final_results.json").read_text())
        (whole,) = json.loads((tmp_path / "comprehensive_results.json").read_text())["studies"].values()
        assert detailed["debug"] is whole["debug"] is True
        assert warning == detailed["origin"]["warnings"][0] == final["origin"]["warnings"][0] == whole["warnings"][0]
        assert whole["configuration"]["name"] == "guide-debug"


def test_code_optimization():
    levels = [config(f"--code_optimization={level}").training for level in range(4)]
    seen = [(training.precision, training.matmul, training.compile) for training in levels]
    assert seen == [
        ("fp32", "highest", False),
        ("fp32", "high", False),
        ("bf16", "medium", False),
        ("bf16", "medium", True),
    ]
    assert config().training.precision == "auto"


def test_logs():
    assert config().logging == ()
    assert config("--csv_log", "--tensorboard").logging == ("csv", "tensorboard")


def test_another_stream():
    assert config("--set=stream.name=shapes").stream.name == "shapes"
    with pytest.raises(InputError, match=r"'seq-cifar100-einstellung' and stream\.name 'shapes' contradict each other"):
        config("--set=stream.name=shapes", "--set=dataset=seq-cifar100-einstellung")


def test_set_takes_our_keys_and_the_guides():
    changed = config("--set=cue.size=6", "--set=einstellung_patch_color=[0, 0, 0]", "--set=lr=0.5")
    assert changed.cue.options["size"] == 6
    assert changed.cue.options["colour"] == [0, 0, 0]
    assert changed.training.lr == 0.5


def test_data_and_workers(tmp_path, monkeypatch):
    seen = []

    def looked(request, log):
        seen.append((request.workers, os.environ.get("EINSTELLUNG_DATA")))
        raise InputError("enough")

    monkeypatch.setattr(experiment, "perform", looked)
    monkeypatch.setenv("EINSTELLUNG_DATA", "before")
    run_command()
    run_command(f"--data={tmp_path}", "--workers=3")
    assert seen == [(None, "before"), (3, f"{tmp_path}{os.pathsep}before")]


def test_cache(tmp_path, monkeypatch):
    """Switched off, published files are read every time and nothing is written; switched on, they are read once."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setenv("EINSTELLUNG_CACHE", "off")
    monkeypatch.delenv("EINSTELLUNG_DATA", raising=False)
    files = small_files()
    write_folder(Path("data") / FOLDER, files)
    published, opened, read_files = published_as(files), [], cifar100.read_files
    monkeypatch.setattr(cifar100, "read_files", lambda path, known: (opened.append(path), read_files(path, known))[1])

    def looked(*_: object) -> Performed:
        load_cifar100(published)
        load_cifar100(published)
        raise InputError("enough")

    monkeypatch.setattr(experiment, "perform", looked)
    run_command("--enable_cache")
    assert len(opened) == 1
    assert any((tmp_path / "cache").rglob("*.npy"))
    shutil.rmtree(tmp_path / "cache")
    run_command("--disable_cache")
    assert len(opened) == 3
    assert not (tmp_path / "cache").exists()
    with pytest.raises(InputError, match="disabled by EINSTELLUNG_CACHE=off"):
        cache_folder()


def test_stopped_by_hand(monkeypatch):
    monkeypatch.setattr(module, "configured", lambda *_: (_ for _ in ()).throw(KeyboardInterrupt))
    said = run_command()
    assert said.code == 130
    assert "interrupted; rerun with --auto_checkpoint to resume" in said.err


def test_the_study_is_one_of_ours(finished):
    """What the front door makes, every other verb can take."""
    (study,) = finished[0].glob("studies/*")
    results = ResultsFolder(study)
    assert "guide" in results.config().companions
    assert merge_timelines(results).methods == ("scratch_t2", "sgd")


def test_the_script_at_the_root():
    script = Path(flags.__file__).parents[2] / "run_einstellung_experiment.py"
    lines = [line for line in script.read_text().splitlines() if line.strip()]
    assert lines[1:] == [
        "from einstellung.guide.command import main",
        'if __name__ == "__main__":',
        "    main()",
    ]
