"""A little in the place of Mammoth: the names and signatures that the bridge relies on, and the order of Mammoth's calls.

Only what an einstellung run touches is here. That it is true to the real thing is tested where a checkout is at hand (see
test_mammoth_checkout.py).
"""

from __future__ import annotations

import argparse
import inspect
import sys
from pathlib import Path
from types import ModuleType
from typing import Any, ClassVar

import numpy as np
import pytest
import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset

DEFAULTS: dict[str, dict[str, Any]] = {}


def set_default_from_args(arg_name):
    name = inspect.currentframe().f_back.f_locals["NAME"]

    def keep(function):
        DEFAULTS.setdefault(name, {})[arg_name] = function(None)
        return function

    return keep


class MammothDatasetWrapper(Dataset):
    """What Mammoth puts around a set: attributes of the set inside are read and written through it."""

    extra_return_fields = ()

    def __init__(self, inside, train):
        object.__setattr__(self, "inside", inside)

    def __getattr__(self, name):
        return getattr(self.inside, name)

    def __setattr__(self, name, value):
        setattr(self.inside, name, value)

    def __len__(self):
        return len(self.inside)

    def __getitem__(self, row):
        return self.inside[row]


class ContinualDataset:
    def __init__(self, args):
        self.args, self.c_task = args, -1
        self.train_loader, self.test_loaders = None, []
        if args.joint:
            self.N_CLASSES_PER_TASK, self.N_TASKS = self.N_CLASSES, 1

    def get_offsets(self, task_idx=None):
        task = self.c_task if task_idx is None else task_idx
        sizes = self.N_CLASSES_PER_TASK if isinstance(self.N_CLASSES_PER_TASK, list) else [self.N_CLASSES_PER_TASK]
        return sum(sizes[:task]), sum(sizes[: task + 1])

    @staticmethod
    def evaluate(model, dataset, last=False, return_loss=False):
        return [_accuracy(model, loader) for loader in dataset.test_loaders], []


def store_masked_loaders(train_dataset, test_dataset, setting):
    train, test = MammothDatasetWrapper(train_dataset, True), MammothDatasetWrapper(test_dataset, False)
    setting.c_task += 1
    start, end = setting.get_offsets()
    for images in (train, test):
        mask = np.logical_and(images.targets >= start, images.targets < end)
        images.data, images.targets = images.data[mask], torch.tensor(images.targets[mask])
    order = torch.Generator().manual_seed(setting.args.seed)
    setting.train_loader = DataLoader(train, setting.args.batch_size, shuffle=True, generator=order)
    setting.test_loaders.append(DataLoader(test, setting.args.batch_size))
    return setting.train_loader, setting.test_loaders[-1]


class DeNormalize:
    def __init__(self, mean, std):
        self.mean, self.std = mean, std


class KorniaAugNoGrad(nn.Module):
    def __init__(self, *args, **kwargs):
        super().__init__()


def to_kornia_transform(transform, apply=True, override_p=None):
    if isinstance(transform, KorniaAugNoGrad):
        return transform
    raise NotImplementedError


def apply_transform(x, transform, autosqueeze=False):
    return transform(x) if isinstance(transform, KorniaAugNoGrad) else torch.stack([transform(one) for one in x])


class ContinualModel(nn.Module):
    NAME = "sgd"
    COMPATIBILITY: ClassVar[list[str]] = ["class-il", "task-il"]

    def __init__(self, backbone, loss, args, transform, dataset=None):
        super().__init__()
        self.net, self.loss, self.args, self.dataset = backbone, loss, args, dataset
        self.transform = to_kornia_transform(transform.transforms[-1].transforms)
        self.normalization_transform = to_kornia_transform(dataset.get_normalization_transform())
        self._current_task = 0

    @property
    def current_task(self):
        return self._current_task

    def forward(self, x):
        return self.net(x)

    def observe(self, inputs, labels, not_aug_inputs, epoch=None):
        return self._step(self.loss(self.net(inputs), labels))

    def end_task(self, dataset):
        pass

    def meta_begin_task(self, dataset):
        self.opt = torch.optim.SGD(self.net.parameters(), lr=self.args.lr)

    def meta_observe(self, *args, **kwargs):
        return self.observe(*args, **kwargs)

    def meta_end_epoch(self, epoch, dataset):
        assert self.net.training

    def meta_end_task(self, dataset):
        self.end_task(dataset)
        self._current_task += 1

    def _step(self, loss):
        self.opt.zero_grad()
        loss.backward()
        self.opt.step()
        return loss.item()


class Er(ContinualModel):
    """Replay: raw images are kept, and pass through the dataset's transform when they come back."""

    NAME = "er"

    def __init__(self, *args, **kwargs):
        super().__init__(*args, **kwargs)
        self.kept, self.replayed = [], []

    def observe(self, inputs, labels, not_aug_inputs, epoch=None):
        loss = self.loss(self.net(inputs), labels)
        if self.kept:
            raw, theirs = self.kept[torch.randint(len(self.kept), (1,)).item()]
            self.replayed.append((raw, apply_transform(raw, self.transform)))
            loss = loss + self.loss(self.net(self.replayed[-1][1]), theirs)
        self.kept.append((not_aug_inputs, labels))
        return self._step(loss)


class Consolidating(ContinualModel):
    NAME = "consolidating"

    def end_task(self, dataset):
        with torch.no_grad():
            next(self.net.parameters()).mul_(0.5)


class TaskAware(ContinualModel):
    NAME = "task-aware"
    COMPATIBILITY: ClassVar[list[str]] = ["task-il"]


class Diverging(ContinualModel):
    NAME = "diverging"

    def observe(self, inputs, labels, not_aug_inputs, epoch=None):
        with torch.no_grad():
            next(self.net.parameters()).fill_(float("nan"))
        return 0.0


MODELS = {one.NAME: one for one in (ContinualModel, Er, Consolidating, TaskAware, Diverging)}


def get_model(args, backbone, loss, transform, dataset):
    return MODELS[args.model](backbone, loss, args, transform, dataset=dataset)


def registration(registered):
    def register_dataset(name):
        def keep(made):
            parameters = list(inspect.signature(made.__init__).parameters.values())[2:]
            registered[name] = {"class": made, "parsable_args": {one.name: one for one in parameters}}
            return made

        return keep

    def get_dataset(args):
        entry = registered[args.dataset]
        return entry["class"](args, **{name: getattr(args, name) for name in entry["parsable_args"]})

    return register_dataset, get_dataset


def parse_args(cmd=None, return_parser_only=False, verbose=False):
    words = cmd or sys.argv[1:]
    parser = argparse.ArgumentParser(allow_abbrev=False)
    for name, default in {"model": "sgd", "dataset": None, "loadcheck": None}.items():
        parser.add_argument(f"--{name}", default=default)
    for name in ("seed", "start_from", "stop_batches", "n_epochs", "batch_size"):
        parser.add_argument(f"--{name}", type=int)
    for name in ("joint", "permute_classes"):
        parser.add_argument(f"--{name}", type=int, default=0)
    parser.add_argument("--lr", type=float, default=0.05)
    dataset = parser.parse_known_args(words)[0].dataset
    for name, one in sys.modules["datasets"].REGISTERED_DATASETS[dataset]["parsable_args"].items():
        parser.add_argument(f"--{name}", type=one.annotation, default=one.default)
    parser.set_defaults(**DEFAULTS[dataset])
    args = parser.parse_args(words)
    torch.manual_seed(args.seed or 0)
    return args


def initialize(args):
    dataset = sys.modules["datasets"].get_dataset(args)
    head = nn.Linear(3 * 8 * 8, dataset.N_CLASSES)
    backbone = nn.Sequential(nn.AdaptiveAvgPool2d(8), nn.BatchNorm2d(3), nn.Dropout(0.2), nn.Flatten(), head)
    model = sys.modules["models"].get_model(
        args, backbone, dataset.get_loss(), dataset.get_transform(), dataset=dataset
    )
    return model, dataset


def train(model, dataset, args):
    for _ in range(args.start_from or 0):
        dataset.get_data_loaders()
        model.meta_begin_task(dataset)
        model.meta_end_task(dataset)
    for _ in range(args.start_from or 0, dataset.N_TASKS):
        model.net.train()
        loader, _ = dataset.get_data_loaders()
        model.meta_begin_task(dataset)
        for epoch in range(args.n_epochs):
            for number, (inputs, labels, not_aug_inputs) in enumerate(loader):
                if number == args.stop_batches:
                    break
                model.meta_observe(inputs, labels, not_aug_inputs, epoch=epoch)
            model.meta_end_epoch(epoch, dataset)
        model.meta_end_task(dataset)
        dataset.evaluate(model, dataset)


def main(args=None):
    train(*initialize(args), args)


@torch.no_grad()
def _accuracy(model, loader):
    model.net.eval()
    hits = [(model(inputs).argmax(dim=1) == labels).float() for inputs, labels in loader]
    model.net.train()
    return 100 * float(torch.cat(hits).mean())


def install(patch: pytest.MonkeyPatch) -> dict[str, ModuleType]:
    """Put the stand-in where Mammoth's modules are looked for, until the test is over."""
    registered: dict[str, Any] = {}
    register_dataset, get_dataset = registration(registered)
    DEFAULTS.clear()
    contents = {
        "main": {"main": main, "parse_args": parse_args, "initialize": initialize, "train": train},
        "datasets": {
            "REGISTERED_DATASETS": registered,
            "register_dataset": register_dataset,
            "get_dataset": get_dataset,
        },
        "datasets.utils": {"set_default_from_args": set_default_from_args},
        "datasets.utils.continual_dataset": {
            "ContinualDataset": ContinualDataset,
            "store_masked_loaders": store_masked_loaders,
        },
        "datasets.transforms": {},
        "datasets.transforms.denormalization": {"DeNormalize": DeNormalize},
        "models": {"get_model": get_model},
        "models.utils": {},
        "models.utils.continual_model": {"ContinualModel": ContinualModel},
        "utils": {},
        "utils.kornia_utils": {"KorniaAugNoGrad": KorniaAugNoGrad, "to_kornia_transform": to_kornia_transform},
        "utils.augmentations": {"apply_transform": apply_transform},
    }
    modules = {}
    for name, things in contents.items():
        modules[name] = ModuleType(name)
        vars(modules[name]).update(things)
        patch.setitem(sys.modules, name, modules[name])
    return modules


def folder(at: Path) -> Path:
    """A folder that looks like a checkout."""
    for name in ("datasets", "models", "backbone", "utils"):
        (at / name).mkdir(parents=True)
    (at / "main.py").write_text("")
    (at / "datasets" / "seq_clip.py").write_text("import open_clip\n\nopen_clip.create_model_and_transforms()\n")
    (at / "datasets" / "seq_mnist.py").write_text("")
    return at
