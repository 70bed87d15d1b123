"""The flags of the guide's command, and the configuration they stand for. No torch here."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import NoReturn

from einstellung.arguments import whole_numbers
from einstellung.boundary import Finished
from einstellung.errors import InputError
from einstellung.foreign_files import usable_path
from einstellung.guide.debug import check_mark, made_small
from einstellung.guide.settings import (
    CODE_OPTIMIZATION,
    PRESET,
    STRATEGIES,
    Log,
    fitted_to_backbone,
    listed,
    training_for,
    with_guide_keys,
    with_its_backbone,
)
from einstellung.registry import suggestion
from einstellung.results.config import StudyConfig, build_config, merged, read_preset, with_assignments

COMPARED = ("scratch_t2", *STRATEGIES, "interleaved")


class _Parser(argparse.ArgumentParser):
    """Reports errors in one line, with a suggestion for a misspelt flag."""

    def exit(self, status: int = 0, message: str | None = None) -> NoReturn:
        raise Finished(status)

    def error(self, message: str) -> NoReturn:
        words = message.partition("unrecognized arguments: ")[2].split()
        flag = words[0].partition("=")[0] if words else ""
        if flag.startswith("-"):
            known = [name for action in self._actions for name in action.option_strings if name.startswith("--")]
            raise InputError(f"unknown flag '{flag}': {suggestion(flag, known)}")
        raise InputError(message)


def parsed(words: list[str] | None = None) -> argparse.Namespace:
    """The given flags; contradictory ones are an error."""
    flags = _parser().parse_args(words)
    if flags.skip_training and flags.force_retrain:
        raise InputError("--skip_training and --force_retrain contradict each other: remove one of them")
    if flags.force_retrain and flags.auto_checkpoint:
        raise InputError("--auto_checkpoint and --force_retrain contradict each other: remove one of them")
    if flags.seed is not None and flags.seeds:
        raise InputError("--seed and --seeds are both given: remove one of them")
    return flags


def configured(flags: argparse.Namespace, log: Log) -> StudyConfig:
    """The preset ``guide``, changed by the flags; ``--set`` is applied last."""
    values = read_preset(PRESET)
    if flags.backbone is not None:
        values["backbone"] = {"name": flags.backbone.strip()}
    named = listed("--model", flags.model) if flags.model is not None else []
    values["methods"] = list(dict.fromkeys([*named, *COMPARED])) if flags.comparative else named or ["derpp"]
    values["seeds"] = _seeds(flags)
    if flags.debug:
        values = made_small(values)
    if flags.epochs is not None:
        epochs = whole_numbers("--epochs", flags.epochs)
        values = merged(values, training_for(epochs if len(epochs) > 1 else epochs[0], read_preset(PRESET)))
    if flags.code_optimization is not None:
        values = merged(values, {"training": CODE_OPTIMIZATION[flags.code_optimization]})
    logs = {"csv": flags.csv_log or flags.verbose, "tensorboard": flags.tensorboard}
    values["logging"] = [kind for kind, wanted in logs.items() if wanted]
    values = fitted_to_backbone(with_its_backbone(values, flags.assignments))
    values = with_guide_keys(with_assignments(values, flags.assignments), log)
    config = build_config(values, "the flags")
    if flags.debug:
        check_mark(config)
    return config


def _seeds(flags: argparse.Namespace) -> list[int]:
    if flags.seeds:
        return list(dict.fromkeys(whole_numbers("--seeds", ",".join(flags.seeds))))
    return [42 if flags.seed is None else flags.seed]


def _path(text: str) -> Path:
    try:
        return usable_path(text)
    except InputError as error:
        raise argparse.ArgumentTypeError(str(error)) from None


def _parser() -> argparse.ArgumentParser:
    parser = _Parser(
        prog="run_einstellung_experiment.py",
        description="The Einstellung experiment on CIFAR-100, with the commands and files of the Mammoth integration guide.",
        allow_abbrev=False,
    )
    add = parser.add_argument
    add(
        "--model", metavar="NAMES", help="comma list: sgd, ewc_on, derpp, gpm, dgr, scratch_t2, interleaved ... [derpp]"
    )
    add("--backbone", metavar="NAME", help="resnet18, vit, vit_base_patch16_224 [resnet18]")
    add("--comparative", action="store_true", help=f"all of {', '.join(COMPARED)}, and their comparison")
    add("--seed", type=int, metavar="N", help="one seed [42]")
    add("--seeds", nargs="+", metavar="N", help="several, separated by spaces or commas")
    add("--epochs", metavar="N", help="epochs of each phase, or T1,T2 [50]")
    add("--auto_checkpoint", action="store_true", help="use finished runs with the same settings")
    add("--skip_training", action="store_true", help="train nothing: re-evaluate the stored checkpoints")
    add("--force_retrain", action="store_true", help="delete the requested runs and retrain them")
    add("--debug", action="store_true", help="smoke test: few images, 2 + 2 epochs, a narrow net")
    add("--code_optimization", type=int, choices=CODE_OPTIMIZATION, metavar="0-3", help=_LEVELS)
    cache = parser.add_mutually_exclusive_group()
    cache.add_argument("--enable_cache", action="store_true", help="keep decoded data between commands (default)")
    cache.add_argument("--disable_cache", action="store_true", help="read the published files every time")
    add(
        "--results_root",
        type=_path,
        default=Path("einstellung_results"),
        metavar="FOLDER",
        help="[einstellung_results]",
    )
    add(
        "--verbose",
        action="store_true",
        help="settings first, every measurement as a line",
    )
    add("--data", type=_path, metavar="FOLDER", help="folder of data sets [EINSTELLUNG_DATA, ./data, ./data/CIFAR100]")
    add(
        "--workers",
        metavar="N|auto",
        help="runs at a time, auto: by a short measurement [cores / threads per run, 1 on a GPU]",
    )
    add("--csv_log", action="store_true", help="write log.csv into every run's folder during training")
    add("--tensorboard", action="store_true", help="write TensorBoard events into every run's folder")
    add(
        "--set",
        dest="assignments",
        action="append",
        default=[],
        metavar="KEY=VALUE",
        help="any setting, ours or the guide's",
    )
    return parser


_LEVELS = (
    "0 nothing, 1 TF32 for products of matrices, 2 bf16, 3 bf16 and torch.compile [bf16 where the hardware has it]"
)
