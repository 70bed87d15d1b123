"""A user's own file in a study: found from where the configuration lies, part of a run's key, named when it is wrong."""

from __future__ import annotations

import hashlib
from pathlib import Path

import pytest
import yaml

from einstellung.errors import InputError
from einstellung.experiments.assembly import build_stream, resolve
from einstellung.experiments.plan import plan
from einstellung.experiments.plugins import load_plugins
from einstellung.experiments.study import prepare_study
from einstellung.learners import learners
from einstellung.results.config import PluginConfig, build_config, merged, read_config
from einstellung.results.folder import ResultsFolder

from .conftest import SMALL, study

pytestmark = pytest.mark.usefixtures("own_names")

LEARNER = '''
"""Fine-tuning that stops after the first step of an epoch."""
from einstellung.learners import Learner, learners

@learners.register("{name}")
class Lazy(Learner):
    def begin_epoch(self, phase, epoch):
        self.rested = False

    def observe(self, batch):
        loss = self.cross_entropy(batch.inputs, batch.labels)
        if not self.rested:
            self.rested = True
            return self.step(loss)
        return loss.detach()
'''


def written(folder: Path, name: str, text: str = LEARNER) -> Path:
    path = folder / f"{name}.py"
    path.write_text(text.replace("{name}", name))
    return path


def test_a_learner_of_ones_own_runs_like_any_other(tmp_path):
    written(tmp_path, "lazy_whole")
    change = {"plugins": ["lazy_whole.py"], "methods": ["lazy_whole"]}
    (tmp_path / "mine.yaml").write_text(yaml.safe_dump(merged(SMALL, change)))
    assert not study(tmp_path / "mine.yaml", tmp_path / "out").failures
    rows = (tmp_path / "out" / "runs" / "lazy_whole-seed1" / "timeline.csv").read_text().splitlines()
    assert len(rows) > 10
    recorded = yaml.safe_load((tmp_path / "out" / "config.yaml").read_text())["plugins"]
    assert recorded == [
        {
            "file": str(tmp_path / "lazy_whole.py"),
            "sha256": hashlib.sha256((tmp_path / "lazy_whole.py").read_bytes()).hexdigest(),
        }
    ]


def test_paths_are_relative_to_the_configuration_and_a_plugin_is_run_once(tmp_path, capsys):
    path = written(tmp_path, "lazy_once", LEARNER + "\nprint('ran')\n")
    (tmp_path / "mine.yaml").write_text("plugins: [lazy_once.py]")
    assert read_config(tmp_path / "mine.yaml")["plugins"] == [str(path)]
    first, second = (load_plugins([PluginConfig(file=str(path))]) for _ in range(2))
    assert first == second
    assert capsys.readouterr().out == "ran\n"
    assert learners["lazy_once"].__name__ == "Lazy"


def test_only_runs_that_use_a_plugin_depend_on_what_is_in_it(tmp_path):
    keys = {}
    for name, text in (("lazy_a", LEARNER), ("lazy_b", LEARNER + "\n# another version\n")):
        written(tmp_path, name, text)
        change = {"plugins": [str(tmp_path / f"{name}.py")], "methods": ["sgd", name]}
        config = resolve(build_config(merged(SMALL, change)))
        keys[name] = {job.method: job.key for job in plan(config, build_stream(config)) if job.kind == "run"}
    plain = resolve(build_config(merged(SMALL, {"methods": ["sgd"]})))
    without = {job.method: job.key for job in plan(plain, build_stream(plain)) if job.kind == "run"}
    assert keys["lazy_a"]["sgd"] == keys["lazy_b"]["sgd"] == without["sgd"]
    assert keys["lazy_a"]["lazy_a"] != keys["lazy_b"]["lazy_b"]


def test_attention_depends_on_every_plugin_because_any_may_hold_its_adapter(tmp_path):
    vit = {"backbone": {"name": "vit", "dim": 12, "depth": 1, "heads": 2, "patch": 4, "image": 12}, "methods": ["sgd"]}
    keys = []
    for name in ("lazy_c", "lazy_d"):
        path = written(tmp_path, name)
        values = {**SMALL, **vit, "attention": {}, "plugins": [str(path)]}
        config = resolve(build_config(values))
        keys.append([job.key for job in plan(config, build_stream(config))])
    assert not set(keys[0]) & set(keys[1])


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (None, "cannot read"),
        ("import nowhere_to_be_found", "cannot be executed: ModuleNotFoundError"),
        ("def broken(:", "cannot be executed: SyntaxError"),
        (LEARNER.replace("{name}", "sgd"), "two learners are named 'sgd'"),
        ("raise ValueError('one\\ntwo')", "cannot be executed: ValueError: one$"),
        ("raise SystemExit(0)", "cannot be executed: SystemExit"),
    ],
)
def test_a_wrong_plugin_gets_one_line(tmp_path, text, words):
    path = tmp_path / "wrong.py"
    if text is not None:
        path.write_text(text)
    with pytest.raises(InputError, match=words) as caught:
        load_plugins([PluginConfig(file=str(path))])
    assert "\n" not in str(caught.value)
    assert "wrong.py" in str(caught.value)


def test_a_plugin_that_changes_between_preparation_and_work_is_refused(tmp_path):
    path = written(tmp_path, "lazy_changed")
    (loaded,) = load_plugins([PluginConfig(file=str(path))])
    path.write_text(path.read_text() + "\n# changed\n")
    with pytest.raises(InputError, match="has changed since"):
        load_plugins([loaded])


def test_plugins_of_runs_that_are_there_stay_on_record(tmp_path):
    """A second call that needs no plug-in adds its methods to a folder, and forgets nothing of it."""
    path = written(tmp_path, "lazy_kept")
    with_it = resolve(build_config(merged(SMALL, {"plugins": [str(path)], "methods": ["lazy_kept"]})))
    folder = ResultsFolder(tmp_path / "out")
    folder.write_config(with_it)
    recorded = folder.adopt(resolve(build_config(merged(SMALL, {"methods": ["sgd"]}))))
    assert recorded.methods == ("lazy_kept", "sgd")
    assert recorded.plugins == with_it.plugins


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (("return self.step(loss)", "self.step(loss)"), "Lazy.observe returned None: end it with 'return self.step"),
        (
            ("return self.step(loss)", "return self.step(loss.missing)"),
            r"AttributeError: .*missing.* \(\w+\.py, line 14\)",
        ),
        (
            (
                "    def observe",
                "    def state_dict(self):\n        return {'old': [self.net.head.bias]}\n\n    def observe",
            ),
            "'old' in a state is a list of tensors: use a dict of them, or torch.stack",
        ),
    ],
)
def test_a_slip_in_a_learner_is_found_before_anything_is_trained(tmp_path, change, words):
    name = f"lazy_slip_{len(words)}"
    text = (
        LEARNER.replace(*change).replace("return loss.detach()", "return None")
        if "returned" in words
        else LEARNER.replace(*change)
    )
    path = written(tmp_path, name, text)
    with pytest.raises(InputError, match=f"learner '{name}' in T1: {words}"):
        prepare_study(build_config(merged(SMALL, {"plugins": [str(path)], "methods": [name]})))


def test_a_learner_that_fails_in_training_is_named_with_its_line(tmp_path):
    later = LEARNER.replace("self.rested = False", "self.rested = 1 // (3 - epoch) < 0")
    written(tmp_path, "lazy_late", later)
    change = {"plugins": ["lazy_late.py"], "methods": ["lazy_late"], "training": {"epochs": 3}}
    (tmp_path / "mine.yaml").write_text(yaml.safe_dump(merged(SMALL, change)))
    outcome = study(tmp_path / "mine.yaml", tmp_path / "out")
    first = outcome.failures[0]
    assert "ZeroDivisionError" in first.reason
    assert "(lazy_late.py, line 8); traceback: " in first.reason
