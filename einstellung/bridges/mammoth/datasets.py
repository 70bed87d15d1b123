"""Our streams as Mammoth datasets, registered through Mammoth's own function."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from importlib import import_module
from types import SimpleNamespace
from typing import Any, ClassVar, TypeVar

import numpy as np
import torch.nn.functional as F
from torch import Tensor
from torch.utils.data import Dataset

from einstellung.bridges.mammoth.evaluator import ADAPTATION_THRESHOLD
from einstellung.bridges.mammoth.transforms import MammothPresentation
from einstellung.cues import PatchCue
from einstellung.errors import InputError
from einstellung.streams import ImageSet, Stream, prove, streams
from einstellung.timeline import NSC, SC_PATCH, T1_ALL

_F = TypeVar("_F", bound=Callable[..., Any])


@dataclass(frozen=True)
class MammothDataset:
    """What Mammoth needs to know of a dataset before it is built, and the stream behind it."""

    stream: str
    classes_per_task: tuple[int, ...]
    side: int
    input_size: int | None
    backbone: str
    mean: tuple[float, float, float]
    std: tuple[float, float, float]


_CIFAR100 = MammothDataset(
    "cifar100", (40, 20), 32, None, "resnet18", (0.5071, 0.4867, 0.4408), (0.2675, 0.2565, 0.2761)
)
DATASETS = {
    "seq-cifar100-einstellung": _CIFAR100,
    "seq-cifar100-einstellung-224": replace(_CIFAR100, side=224, input_size=224, backbone="vit"),
    "seq-shapes-einstellung": MammothDataset("shapes", (24, 12), 32, None, "resnet18", (0.5,) * 3, (0.25,) * 3),
}


def yes_or_no(value: Any) -> bool:
    """A boolean from the command line.

    >>> yes_or_no("0"), yes_or_no("true"), yes_or_no(True)
    (False, True, True)
    """
    words = {"1": True, "true": True, "yes": True, "0": False, "false": False, "no": False}
    if (known := words.get(str(value).lower())) is None:
        raise InputError(f"'{value}' is neither yes (1, true) nor no (0, false)")
    return known


def whole_numbers(value: Any) -> tuple[int, ...]:
    """Integers separated by commas or spaces, with or without brackets.

    >>> whole_numbers("[255, 0, 255]"), whole_numbers("3 5"), whole_numbers((1, 2))
    ((255, 0, 255), (3, 5), (1, 2))
    """
    parts = value.strip("[]() ").replace(",", " ").split() if isinstance(value, str) else value
    try:
        return tuple(int(part) for part in parts)
    except ValueError:
        raise InputError(f"'{value}' is not a list of whole numbers: write 255,0,255") from None


def place(value: Any) -> str | tuple[int, ...]:
    """The name of a place, or row and column.

    >>> place("top-left"), place("3,5")
    ('top-left', (3, 5))
    """
    return value if isinstance(value, str) and not value.strip("[( ")[:1].isdigit() else whole_numbers(value)


#: Options of these datasets on Mammoth's command line: parser and default.
OPTIONS: dict[str, tuple[Callable[[Any], Any], Any]] = {
    "einstellung_apply_shortcut": (yes_or_no, True),
    "einstellung_patch_size": (int, 4),
    "einstellung_patch_color": (whole_numbers, (255, 0, 255)),
    "einstellung_patch_place": (place, "per-index"),
    "einstellung_mask_cover": (str, "black"),
    "einstellung_train_per_class": (int, None),
    "einstellung_test_per_class": (int, None),
    "einstellung_adaptation_threshold": (float, ADAPTATION_THRESHOLD),  # for the evaluator, not the stream
}


def build_stream(name: str, options: dict[str, Any]) -> Stream:
    """The stream of a Mammoth dataset, after it has passed its checks."""
    given = {key: default for key, (_, default) in OPTIONS.items()} | options
    cue = PatchCue(
        size=given["einstellung_patch_size"],
        colour=given["einstellung_patch_color"],
        place=given["einstellung_patch_place"],
        share=1.0 if given["einstellung_apply_shortcut"] else 0.0,
    )
    sizes = {key: given[f"einstellung_{key}"] for key in ("train_per_class", "test_per_class")}
    kind = DATASETS[name]
    make = streams[kind.stream]
    stream = make(cue, given["einstellung_mask_cover"], **{key: n for key, n in sizes.items() if n is not None})
    prove(stream).require()
    return replace(stream, input_size=kind.input_size)


class Images(Dataset[Any]):
    """Images in the form of Mammoth's own data sets: it selects a task's rows of ``data`` and ``targets``."""

    def __init__(self, images: ImageSet, transform: Callable[[Any], Tensor], with_raw: bool) -> None:
        self.data = images.images.permute(0, 2, 3, 1).contiguous().numpy()
        self.targets: Any = images.labels.numpy()
        self.transform = transform
        if with_raw:  # Mammoth's buffers check for this attribute
            self.not_aug_transform = unit_floats

    def __len__(self) -> int:
        return len(self.data)

    def __getitem__(self, row: int) -> tuple[Any, ...]:
        from PIL import Image

        raw, target = self.data[row], int(self.targets[row])
        shown = self.transform(Image.fromarray(raw))  # methods may replace the transform by one that expects PIL
        if hasattr(self, "not_aug_transform"):
            return shown, target, self.not_aug_transform(raw)
        return shown, target


def unit_floats(raw: Any) -> Tensor:
    """The raw image as Mammoth stores it in buffers: floats in 0..1, [3, H, W]."""
    return Tensor(np.array(raw)).permute(2, 0, 1) / 255


def register_datasets() -> None:
    """Register :data:`DATASETS` with Mammoth, which must be importable (see :func:`open_checkout`)."""
    mammoth = import_module("datasets")
    for name in DATASETS:
        if name not in mammoth.REGISTERED_DATASETS:
            mammoth.register_dataset(name)(_dataset_class(name, DATASETS[name]))


def _dataset_class(name: str, kind: MammothDataset) -> type[Any]:
    base = import_module("datasets.utils.continual_dataset")
    default_of: Callable[[str], Callable[[_F], _F]] = import_module("datasets.utils").set_default_from_args
    denormalise = import_module("datasets.transforms.denormalization").DeNormalize

    class EinstellungDataset(base.ContinualDataset):  # type: ignore[misc, name-defined]
        NAME = name
        SETTING = "class-il"
        N_CLASSES_PER_TASK: ClassVar[Any] = list(kind.classes_per_task)
        N_TASKS = len(kind.classes_per_task)
        N_CLASSES = sum(kind.classes_per_task)
        SIZE = (kind.side, kind.side)
        MEAN, STD = kind.mean, kind.std

        def __init__(self, args: Any, **options: Any) -> None:
            _refuse_other_orders(args)
            super().__init__(args)
            self.stream = build_stream(name, options)
            self.presented = MammothPresentation(self.stream)
            self.TRANSFORM = self.presented.augmented
            self.TEST_TRANSFORM = self.presented.unaugmented

        def get_data_loaders(self) -> Any:
            train = Images(self.presented.training_images.images, self.presented.augmented, with_raw=True)
            shown = ImageSet.joined([self.stream.split(one).images for one in (T1_ALL, SC_PATCH, NSC)])
            test = Images(shown, self.presented.normalised, with_raw=False)
            return base.store_masked_loaders(train, test, self)

        def get_transform(self) -> Any:
            return _nested(_batch_transform(self.presented.augmented))

        def get_normalization_transform(self) -> Any:
            return _batch_transform(self.presented.unaugmented)

        @staticmethod
        def get_denormalization_transform() -> Any:
            return denormalise(kind.mean, kind.std)

        @staticmethod
        def get_loss() -> Any:
            return F.cross_entropy

        def get_class_names(self) -> Sequence[str]:
            return self.stream.class_names

        @default_of("backbone")
        def get_backbone(self) -> str:
            return kind.backbone

        @default_of("n_epochs")
        def get_epochs(self) -> int:
            return 50

        @default_of("batch_size")
        def get_batch_size(self) -> int:
            return 32

    # Mammoth reads a dataset's options from its constructor's signature; annotations become argparse types.
    keyword = inspect.Parameter.POSITIONAL_OR_KEYWORD
    EinstellungDataset.__init__.__signature__ = inspect.Signature(  # type: ignore[attr-defined]
        [
            *(inspect.Parameter(one, keyword) for one in ("self", "args")),
            *(inspect.Parameter(key, keyword, default=d, annotation=read) for key, (read, d) in OPTIONS.items()),
        ]
    )
    return EinstellungDataset


def _refuse_other_orders(args: Any) -> None:
    for key in ("permute_classes", "custom_class_order", "custom_task_order"):
        if getattr(args, key, None):
            raise InputError(f"--{key} cannot be used with the einstellung datasets: their class order is fixed")


def _batch_transform(present: Callable[[Any], Tensor]) -> Any:
    """A transform of the only kind that Mammoth applies to whole batches without converting it."""
    kornia = import_module("utils.kornia_utils")

    class Presented(kornia.KorniaAugNoGrad):  # type: ignore[misc, name-defined]
        def __call__(self, images: Any) -> Tensor:
            return present(images)

        def forward(self, images: Any) -> Tensor:
            return present(images)

    return Presented()


def _nested(transform: Any) -> Any:
    """Wrap a batch transform so that Mammoth finds it in ``transform.transforms[-1].transforms``."""

    class Nested:
        transforms = (SimpleNamespace(transforms=transform),)

        def __call__(self, images: Any) -> Any:
            return transform(images)

    return Nested()
