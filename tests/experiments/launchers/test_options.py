"""Options of launchers: in YAML and on the command line, those of another launcher refused by name, packages that are missing."""

from __future__ import annotations

import importlib.util
from dataclasses import dataclass

import pytest
import yaml

from einstellung.cli.launching import Launching
from einstellung.errors import InputError
from einstellung.experiments.launcher import Launcher, make_launcher
from einstellung.experiments.launchers import launchers
from einstellung.experiments.launchers.ray import RayLauncher
from einstellung.experiments.launchers.slurm import SlurmLauncher
from einstellung.results.config import LauncherConfig, build_config, merged, to_yaml, with_assignments
from tests.experiments.conftest import SMALL, study, typed


def made(**section: object) -> Launcher:
    return make_launcher(build_config({"launcher": section}).launcher)


def test_a_launcher_is_a_name_or_a_section_with_its_options():
    assert build_config({"launcher": "ray"}).launcher == LauncherConfig(name="ray")
    assert made(name="ray", address="auto", retries=5) == RayLauncher(address="auto", retries=5)
    assert made(name="slurm", time=30, setup=["module load python"]) == SlurmLauncher(
        time=30, setup=("module load python",)
    )
    assert merged({"launcher": "ray"}, {"launcher": {"memory": "2GB"}}) == {
        "launcher": {"name": "ray", "memory": "2GB"}
    }


@pytest.mark.parametrize("launcher", ["local", {"name": "ray", "address": "auto"}])
def test_the_recorded_configuration_is_read_back(launcher):
    text = to_yaml(build_config({"launcher": launcher}))
    assert yaml.safe_load(text)["launcher"] == launcher
    assert to_yaml(build_config(yaml.safe_load(text))) == text


@pytest.mark.parametrize(
    ("section", "message"),
    [
        ({"name": "slurm", "address": "auto"}, "launcher.address is an option of the launcher 'ray'.* 'slurm'"),
        ({"name": "local", "partition": "gpu"}, "launcher.partition is an option of the launcher 'slurm'.* 'local'"),
        ({"name": "ray", "adress": "auto"}, "unknown key 'launcher.adress': did you mean 'address'?"),
        ({"name": "ray", "results": "here"}, "launcher.results is 'here'"),
    ],
)
def test_wrong_options_are_one_line(section, message):
    with pytest.raises(InputError, match=message):
        made(**section)


@pytest.mark.parametrize(
    ("flags", "values", "assigned", "section"),
    [
        (Launching("ray"), {"launcher": {"name": "ray", "memory": "2GB"}}, [], {"name": "ray", "memory": "2GB"}),
        (Launching("slurm"), {"launcher": {"name": "ray", "memory": "2GB"}}, [], {"name": "slurm"}),
        (Launching("slurm", {"slurm-time": 5}), {}, [], {"name": "slurm", "time": 5}),
        (Launching(None, {"slurm-gpus": 1}), {"launcher": "slurm"}, [], {"name": "slurm", "gpus": 1}),
        (Launching("ray"), {"launcher": "local"}, ["launcher.retries=9"], {"name": "ray", "retries": 9}),
    ],
)
def test_the_command_line_changes_the_section(flags, values, assigned, section):
    """The name first, then ``--set``, then the flags: no option is lost on the way."""
    assert flags.applied(with_assignments(flags.named(values), assigned))["launcher"] == section


def test_an_option_of_another_launcher_ends_with_code_2_and_writes_nothing(small_config, tmp_path, monkeypatch, capsys):
    words = ("run", small_config, "--out", tmp_path / "out", "--launcher", "slurm", "--ray-address", "auto")
    assert typed(monkeypatch, *words) == 2
    assert capsys.readouterr().err == (
        "einstellung: --ray-address is for the launcher 'ray', not for 'slurm': add --launcher ray\n"
    )
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize(("name", "package"), [("ray", "ray"), ("slurm", "submitit")])
def test_a_missing_package_is_named_with_its_extra(name, package, small_config, tmp_path, monkeypatch, capsys):
    found = importlib.util.find_spec
    module = f"einstellung.experiments.launchers.{name}.find_spec"
    monkeypatch.setattr(module, lambda asked: None if asked == package else found(asked))
    assert typed(monkeypatch, "run", small_config, "--out", tmp_path / "out", "--launcher", name) == 2
    message = capsys.readouterr().err
    assert message.endswith(f"pip install 'einstellung[{name}]'\n")
    assert message.count("\n") == 1
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize(
    ("section", "message"),
    [
        ({"name": "ray", "address": "ray://somewhere:10001"}, "a ray:// address is not supported"),
        ({"name": "ray", "memory": "lots"}, "launcher.memory is 'lots'"),
        ({"name": "ray", "gpus": -1}, "launcher.gpus is -1"),
        ({"name": "slurm", "time": 0}, "launcher.time is 0: give 1 or more"),
        ({"name": "slurm", "gpus": -1}, "launcher.gpus is -1"),
        ({"name": "slurm", "memory": "0GB"}, "launcher.memory is '0GB'"),
    ],
)
def test_what_a_launcher_cannot_run_is_refused_before_anything_starts(section, message, monkeypatch):
    monkeypatch.setattr(f"einstellung.experiments.launchers.{section['name']}.find_spec", lambda asked: True)
    with pytest.raises(InputError, match=message):
        made(**section).check(build_config({}))


def test_mlflow_needs_a_results_folder_that_workers_see(monkeypatch):
    monkeypatch.setattr("einstellung.experiments.launchers.ray.find_spec", lambda asked: True)
    config = build_config({"logging": ["mlflow"]})
    made(name="ray").check(config)
    with pytest.raises(InputError, match="mlflow writes into the results folder"):
        made(name="ray", address="auto").check(config)


def test_results_and_data_are_shared_on_this_machine_and_sent_elsewhere():
    here, there = RayLauncher(), RayLauncher(address="auto")
    assert (here.sends_results, here.sends_data, there.sends_results, there.sends_data) == (False, False, True, True)
    assert not RayLauncher(address="auto", results="shared", data="nodes").sends_results


@pytest.mark.usefixtures("own_names")
@pytest.mark.parametrize(
    ("change", "workers", "message"),
    [({"training": {"threads": "auto"}}, None, "training.threads is 'auto'"), ({}, "auto", "--workers is 'auto'")],
)
def test_nothing_is_measured_here_for_jobs_that_run_elsewhere(change, workers, message, tmp_path):
    from einstellung.experiments.study import prepare_study
    from einstellung.experiments.workers import arrange

    @launchers.register("elsewhere")
    @dataclass(frozen=True)
    class Elsewhere(Launcher):
        runs_here = False

        def run(self, jobs, study):
            return []

        def at_a_time(self, config, jobs):
            return 7

    config = build_config(merged(SMALL, {"launcher": "elsewhere", **change}))
    prepared = prepare_study(config)
    with pytest.raises(InputError, match=f"{message}.*'elsewhere' runs jobs elsewhere: give a number"):
        arrange({"": config}, {"": prepared}, tmp_path, "first_phases", workers, print)
    fixed = build_config(merged(SMALL, {"launcher": "elsewhere"}))
    ready = {"": prepare_study(fixed)}
    for given, count in ((None, 7), (3, 3)):
        _, found = arrange({"": fixed}, ready, tmp_path, "first_phases", given, print)
        assert (found[""].workers, found[""].threads) == (count, 1)


def test_a_launcher_is_not_started_for_a_study_that_is_finished(small_config, tmp_path, monkeypatch):
    from einstellung.experiments.launchers.local import LocalLauncher
    from einstellung.experiments.study import prepare_study
    from einstellung.results.config import read_config

    tiny = {"stream": {"size": 8}, "training": {"epochs": [1, 1]}, "methods": ["scratch_t2"]}
    study(small_config, tmp_path / "out", **tiny)
    started = []
    monkeypatch.setattr(LocalLauncher, "warm_up", lambda self, config: started.append(config.name))
    values = merged(read_config(small_config), tiny)
    prepare_study(build_config(values), tmp_path / "out", about_to_run=True)
    assert started == []
    prepare_study(build_config(merged(values, {"seeds": [1, 2]})), tmp_path / "out", about_to_run=True)
    assert started == ["small"]
