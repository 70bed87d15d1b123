"""The guide's files beside ours: their tree, their keys, their numbers, and what happens to files that are there."""

from __future__ import annotations

import json
from statistics import fmean, stdev

import pytest

from einstellung.errors import InputError
from einstellung.files import write_json
from einstellung.guide import EinstellungMetricsCalculator, write_guide_files
from einstellung.results.config import build_config
from einstellung.results.folder import ResultsFolder
from einstellung.results.merging import merge_timelines
from einstellung.timeline import Timeline
from tests.diagnoses.rigidity.attention_made import write_attention
from tests.diagnoses.rigidity.hand_made import CURVES, timeline_frame

SEEDS = (1, 2, 10)
METRICS = ("adaptation_delay", "performance_deficit", "shortcut_feature_reliance", "eri_score")
METHODS = ("scratch_t2", "sgd", "derpp")


def study(path, backbone="resnet18", threshold=0.5, methods=METHODS, attention=(), **changes):
    """A finished study without training: T1 reaches 0.5 after a few epochs, never 0.7."""
    results = ResultsFolder(path)
    values = {"name": "by hand", "methods": list(methods), "seeds": list(SEEDS)}
    values |= {"companions": {"guide": {"guide_threshold": threshold}}, "backbone": backbone, **changes}
    results.write_config(build_config(values))
    write_json(results.proof_file, {"stream": "shapes", "checks": [{"name": "p", "passed": True, "detail": "d"}]})
    write_json(results.provenance_file, {"code_version": "1.2", "code_hash": "abc", "data": {"shapes": "0f"}})
    frame = timeline_frame({method: CURVES[method] for method in methods}, seeds=SEEDS)
    for method in methods:
        for seed in SEEDS:
            run = results.path / "runs" / f"{method}-seed{seed}"
            write_json(
                run / "status.json", {"state": "finished", "key": f"{path.name}{method}{seed}", "chosen_epoch": 8.0}
            )
            Timeline(frame[(frame["method"] == method) & (frame["seed"] == seed)]).write(run / "timeline.csv")
            if method in attention:
                write_attention(run, method, seed)
    return results


def read(path):
    """Strict JSON: NaN and infinity are no numbers."""

    def refuse(word):
        raise AssertionError(f"{path} holds {word}")

    return json.loads(path.read_text(encoding="utf-8"), parse_constant=refuse)


@pytest.fixture(scope="module")
def root(tmp_path_factory):
    """As the front door leaves it: one study of a ViT below ``studies``, its views beside."""
    root = tmp_path_factory.mktemp("einstellung_results")
    results = study(root / "studies" / "vit-0a1b2c3d", backbone="vit", attention=("sgd", "scratch_t2"))
    lines = []
    paths = write_guide_files(results, root, lines.append)
    assert lines == []
    return root, paths


def test_the_tree_is_the_guides(root):
    root, paths = root
    attention = {
        f"{method}_vit_seed{seed}/attention_analysis.json" for method in ("sgd", "scratch_t2") for seed in SEEDS
    }
    each = ("detailed_results.json", "einstellung_final_results.json")
    others = {f"{method}_vit_seed{seed}/{name}" for method in METHODS for seed in SEEDS for name in each}
    there = {path.relative_to(root).as_posix() for path in root.rglob("*.json") if "studies" not in path.parts}
    assert there == attention | others | {"comprehensive_results.json"}
    assert {path.relative_to(root).as_posix() for path in paths} == there
    assert paths[-1] == root / "comprehensive_results.json"
    for path in paths:
        read(path)


def test_detailed_results_hold_the_run_and_where_it_comes_from(root):
    detailed = read(root[0] / "sgd_vit_seed2" / "detailed_results.json")
    assert list(detailed) == [
        *("configuration", "timeline_data", "final_metrics", "attention_analysis", "debug", "origin")
    ]
    assert detailed["debug"] is False
    assert not any("--debug" in warning for warning in detailed["origin"]["warnings"])
    configuration = detailed["configuration"]
    assert (configuration["model"], configuration["seed"], configuration["backbone"]["name"]) == ("sgd", 2, "vit")
    assert configuration["companions"]["guide"]["guide_threshold"] == 0.5
    assert "methods" not in configuration
    origin = detailed["origin"]
    assert (origin["run_key"], origin["study"], origin["run"]) == (
        "vit-0a1b2c3dsgd2",
        "studies/vit-0a1b2c3d",
        "runs/sgd-seed2",
    )
    assert (origin["code_version"], origin["code_hash"], origin["data"]) == ("1.2", "abc", {"shapes": "0f"})
    assert origin["checks"][0] == {"name": "p", "passed": True, "detail": "d"}
    assert len(origin["checks"]) == 9
    final = read(root[0] / "sgd_vit_seed2" / "einstellung_final_results.json")
    assert final["final_metrics"] == detailed["final_metrics"]
    assert list(final) == ["model", "backbone", "seed", "final_metrics", "origin"]
    assert (final["model"], final["backbone"]["name"], final["seed"]) == ("sgd", "vit", 2)


def test_the_timeline_goes_through_the_calculator_and_gives_the_same_metrics(root):
    """Both ways are the guide's: its files, and its calculator called by hand."""
    for name in ("sgd_vit_seed10", "scratch_t2_vit_seed1"):
        detailed = read(root[0] / name / "detailed_results.json")
        calculator = EinstellungMetricsCalculator(adaptation_threshold=0.5)
        for moment in detailed["timeline_data"]:
            calculator.add_timeline_data(**moment)
        metrics = calculator.calculate_comprehensive_metrics().to_dict()
        numbers = (*METRICS, "band", "checkpoint_epoch", "adaptation_threshold", "why_undefined")
        assert {key: detailed["final_metrics"][key] for key in numbers} == {key: metrics[key] for key in numbers}
    first = read(root[0] / "sgd_vit_seed10" / "detailed_results.json")["timeline_data"][0]
    assert (first["epoch"], first["task_id"], list(first["subset_accuracies"])) == (0.0, 0, ["T1_all"])
    assert first["subset_losses"]["T1_all"] == pytest.approx(1 - first["subset_accuracies"]["T1_all"])


def test_attention_is_there_per_split_moment_layer_and_head(root):
    analysis = read(root[0] / "sgd_vit_seed1" / "attention_analysis.json")
    readings = analysis["readings"]
    assert {(row["phase"], row["epoch"]) for row in readings} == {("T1", 8), ("T2", 1), ("T2", 4), ("T2", 8)}
    assert {(row["layer"], row["head"]) for row in readings} >= {("1", "1"), ("2", "2"), ("2", "mean"), ("rollout", "")}
    end = next(
        row
        for row in readings
        if (row["phase"], row["epoch"], row["split"], row["layer"]) == ("T2", 8, "T2_shortcut_normal", "rollout")
    )
    cue, clean = 20.1 / 83.1, 1.1 / 64.1  # what the hand-made maps weigh at the cue's token
    assert end["AS"] == pytest.approx(cue)
    assert end["SAG"] == pytest.approx((cue - clean) / clean, rel=1e-6)
    assert 0 < end["CTAS"] < 1
    assert end["ADI"] == pytest.approx(0.01)
    assert analysis["rollout"]["SAG"] == pytest.approx(end["SAG"])
    detailed = read(root[0] / "sgd_vit_seed1" / "detailed_results.json")
    assert detailed["attention_analysis"]["readings"] == readings
    assert read(root[0] / "derpp_vit_seed1" / "detailed_results.json")["attention_analysis"] is None
    scratch = read(root[0] / "scratch_t2_vit_seed1" / "attention_analysis.json")
    assert scratch["rollout"]["CTAS"] is None
    assert "no phase T1" in scratch["why_undefined"]["CTAS"]


def test_comprehensive_results_are_statistics_over_the_runs_files(root):
    whole = read(root[0] / "comprehensive_results.json")
    (name,) = whole["studies"]
    own = whole["studies"][name]
    assert name == "vit-0a1b2c3d"
    assert own["adaptation_threshold"] == 0.5
    assert own["debug"] is False
    for metric in METRICS:
        runs = [read(root[0] / f"sgd_vit_seed{seed}" / "einstellung_final_results.json") for seed in SEEDS]
        values = [run["final_metrics"][metric] for run in runs]
        found = own["methods"]["sgd"][metric]
        assert found["mean"] == pytest.approx(fmean(values))
        assert found["std"] == pytest.approx(stdev(values))
        assert (found["min"], found["max"], found["n"]) == (min(values), max(values), 3)
    assert own["methods"]["sgd"]["band"] == "moderate"
    scratch = own["methods"]["scratch_t2"]
    assert (scratch["eri_score"]["mean"], scratch["eri_score"]["n"], scratch["band"]) == (None, 0, None)
    assert scratch["why_undefined"] == "seeds 1, 2, 10: no T1_all curve in T1"
    tested = {(test["metric"], test["method"]) for test in own["tests"]}
    assert tested == {(metric, method) for metric in METRICS for method in ("scratch_t2", "derpp")}
    assert all(test["against"] == "sgd" and test["n"] in (0, 3) for test in own["tests"])
    assert own["claims"][0]["claim"].startswith("SGD")
    assert own["claims"][0]["holds"] == "no"
    triplet = own["triplet"]
    assert (triplet["baseline"], set(triplet["methods"])) == ("scratch_t2", {"sgd", "derpp"})
    patched = {
        method: [run["accuracies"]["T2_shortcut_normal"] for run in own["methods"][method]["per_seed"].values()]
        for method in ("scratch_t2", "sgd")
    }
    deficit = fmean(patched["scratch_t2"]) - fmean(patched["sgd"])
    assert triplet["methods"]["sgd"]["PD"]["mean"] == pytest.approx(deficit)
    assert triplet["methods"]["sgd"]["verdict"]
    assert whole["bands"] == {"low": "below 0.3", "moderate": "0.3 to 0.6", "high": "above 0.6"}


def test_the_threshold_of_the_configuration_counts(tmp_path):
    write_guide_files(study(tmp_path, threshold=0.7, methods=("sgd",)), tmp_path)
    final = read(tmp_path / "sgd_resnet18_seed1" / "einstellung_final_results.json")["final_metrics"]
    assert (final["adaptation_delay"], final["adaptation_threshold"]) == (None, 0.7)
    assert final["why_undefined"].startswith("T1_all never reached 0.7 in T1")


def test_into_the_results_folder_itself(tmp_path):
    results = study(tmp_path / "here", methods=("sgd",))
    write_guide_files(results, results.path)
    assert read(results.path / "sgd_resnet18_seed1" / "detailed_results.json")["origin"]["study"] == "."
    whole = read(results.path / "comprehensive_results.json")
    assert list(whole["studies"]) == ["here"]
    assert whole["studies"]["here"]["triplet"]["baseline"] is None
    # the views do not disturb who reads the folder's timelines
    assert Timeline.read_many([results.path]).runs == tuple(("sgd", seed) for seed in sorted(SEEDS, key=str))


def test_another_configuration_takes_the_view_over_and_says_so(tmp_path):
    lines = []
    old = study(tmp_path / "studies" / "vit-old", backbone="vit", methods=("sgd",), attention=("sgd",))
    write_guide_files(old, tmp_path, lines.append)
    write_guide_files(old, tmp_path, lines.append)
    assert lines == []  # the same runs: nothing is taken over
    assert (tmp_path / "sgd_vit_seed1" / "attention_analysis.json").exists()
    new = study(tmp_path / "studies" / "vit-new", backbone="vit", methods=("sgd", "derpp"))
    write_guide_files(new, tmp_path, lines.append)
    assert len(lines) == len(SEEDS)
    assert lines[0].startswith(
        "sgd_vit_seed1 showed run vit-olds of studies/vit-old (which is kept) and now shows vit-news of"
    )
    assert read(tmp_path / "sgd_vit_seed1" / "detailed_results.json")["origin"]["study"] == "studies/vit-new"
    assert not (tmp_path / "sgd_vit_seed1" / "attention_analysis.json").exists()  # it was of the old run
    assert (old.path / "runs" / "sgd-seed1" / "attention.csv").exists()
    assert list(read(tmp_path / "comprehensive_results.json")["studies"]) == ["vit-new", "vit-old"]


def test_a_study_that_cannot_be_read_is_named_and_one_without_runs_is_not_there(tmp_path):
    results = study(tmp_path / "studies" / "good", methods=("sgd",))
    empty = ResultsFolder(tmp_path / "studies" / "empty")
    empty.write_config(build_config({"name": "nothing yet"}))
    broken = study(tmp_path / "studies" / "broken", methods=("sgd",))
    merge_timelines(broken)
    broken.record_file.unlink()
    broken.config_file.write_text("nonsense: 1\n")
    write_guide_files(results, tmp_path)
    studies = read(tmp_path / "comprehensive_results.json")["studies"]
    assert set(studies) == {"broken", "good"}
    assert "was made by an older version" in studies["broken"]["problem"]


@pytest.mark.parametrize("content", ['{"final_metrics": {}}', "[]", '{"origin": "mammoth"}'])
def test_somebody_elses_results_are_not_overwritten(tmp_path, content):
    results = study(tmp_path / "studies" / "a", methods=("sgd",))
    theirs = tmp_path / "sgd_resnet18_seed10" / "detailed_results.json"
    theirs.parent.mkdir()
    theirs.write_text(content)
    with pytest.raises(InputError, match=r"sgd_resnet18_seed10/detailed_results.json was not written by einstellung"):
        write_guide_files(results, tmp_path)
    assert theirs.read_text() == content
    assert sorted(entry.name for entry in tmp_path.iterdir()) == ["sgd_resnet18_seed10", "studies"]


def test_a_run_without_its_key_is_not_shown_as_if_it_had_one(tmp_path):
    results = study(tmp_path, methods=("sgd",))
    write_json(tmp_path / "runs" / "sgd-seed2" / "status.json", {"state": "finished"})
    with pytest.raises(InputError, match=r"sgd-seed2/status\.json has no key"):
        write_guide_files(results, tmp_path)
    assert not list(tmp_path.glob("sgd_*"))


def test_nothing_finished_is_an_error(tmp_path):
    results = ResultsFolder(tmp_path)
    results.write_config(build_config({"name": "empty"}))
    with pytest.raises(InputError, match="has no finished run yet"):
        write_guide_files(results, tmp_path)
