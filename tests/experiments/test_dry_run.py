"""Plans of studies whose data are not here yet."""

from __future__ import annotations

import pytest

from einstellung.errors import InputError
from einstellung.experiments import estimate
from einstellung.experiments.dry_run import describe, dry_run
from einstellung.experiments.study import prepare_study
from einstellung.results.config import build_config, merged, read_preset
from einstellung.results.folder import ResultsFolder
from einstellung.sources.cifar100 import stand_in


@pytest.fixture
def no_data(tmp_path, monkeypatch):
    """A folder without any data set, and an empty cache; nothing is timed."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("EINSTELLUNG_DATA", raising=False)
    monkeypatch.setenv("EINSTELLUNG_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr(estimate, "measure_throughput", lambda *_: estimate.Throughput(training=1.0, evaluation=1e9))
    return tmp_path


def smoke(**changes):
    change = {"methods": ["scratch_t2", "sgd"], **changes}
    return build_config(merged({**read_preset("smoke"), "name": "smoke"}, change))


def test_a_plan_needs_no_download(no_data):
    planned = dry_run(no_data / "out", {"": smoke(stream={"train_per_class": None})}, 1)
    study = planned["studies"]["smoke"]
    (assumed,) = study["assumed"]
    assert assumed.startswith("CIFAR-100 is not here")
    lines = list(describe(planned))
    assert f"  assumed: {assumed}" in lines
    assert any("measured on synthetic inputs of that shape" in line for line in lines)
    # of T2's 4 superclasses with 5 classes of 500 images each, a tenth is held out; one image a second
    epochs = smoke().training.epochs[1]
    scratch = next(run for run in study["runs"] if run["method"] == "scratch_t2")
    assert scratch["seconds"] == pytest.approx(epochs * 4 * 5 * 450, rel=1e-3)
    assert not (no_data / "out").exists()
    assert not (no_data / "cache").exists()


def test_names_of_superclasses_are_known_without_the_data(no_data):
    planned = dry_run(no_data / "out", {"": smoke(stream={"t1": ["fish", "trees"]})}, 1)
    assert planned["studies"]["smoke"]["assumed"]
    with pytest.raises(InputError, match=r"'tres', which is not a superclass of CIFAR-100: did you mean 'trees'"):
        dry_run(no_data / "out", {"": smoke(stream={"t1": ["tres"]})}, 1)


def test_the_stand_in_has_the_shape_of_the_published_files(raw_cifar100):
    made = stand_in()
    names = [name.decode() for name in raw_cifar100["meta"][b"coarse_label_names"]]
    assert list(made.coarse_names) == names
    for part, arrays in (("train", made.train), ("test", made.test)):
        real = raw_cifar100[part]
        assert arrays.images.shape == (len(real[b"data"]), 3, 32, 32)
        for mine, published in ((arrays.fine, b"fine_labels"), (arrays.coarse, b"coarse_labels")):
            assert sorted(mine.tolist()) == sorted(real[published].tolist())


def test_only_a_plan_goes_without_the_data(no_data):
    with pytest.raises(InputError, match="CIFAR-100 not found in"):
        prepare_study(smoke(), no_data / "out")
    results = ResultsFolder(no_data / "out")
    results.write_config(smoke())  # a study that has begun had its data
    with pytest.raises(InputError, match="CIFAR-100 not found in"):
        dry_run(results.path, {"": smoke()}, 1)


def test_scenes_are_not_rendered_for_a_plan(no_data):
    config = build_config(
        {
            "name": "scenes",
            "stream": {"name": "concon", "train": 8, "val": 4, "test": 6, "size": 32},
            "backbone": {"name": "resnet18", "width": 8},
            "training": {"epochs": [1, 1, 1], "milestones": []},
            "methods": ["sgd"],
            "seeds": [1],
        }
    )
    planned = dry_run(no_data / "out", {"": config}, 1)["studies"]["scenes"]
    (assumed,) = planned["assumed"]
    assert assumed.startswith("scenes are not rendered yet")
    assert not (no_data / "cache").exists()
    made = prepare_study(config)
    assert not made.assumed
    again = dry_run(no_data / "out", {"": config}, 1)["studies"]["scenes"]  # now they are in the cache
    assert not again["assumed"]
    assert [run["seconds"] for run in again["runs"]] == pytest.approx(
        [run["seconds"] for run in planned["runs"]], rel=1e-6
    )
