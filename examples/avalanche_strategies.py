"""Avalanche's own strategies, scored: naive fine-tuning, online EWC, replay and DER against training from scratch on T2.

python examples/avalanche_strategies.py --out avalanche_logs
einstellung score avalanche_logs
"""

from __future__ import annotations

import argparse
from functools import partial

import torch
from torch import nn

from einstellung.bridges.installed import declare_torchvision_operators
from einstellung.cues import PatchCue
from einstellung.streams import shapes

declare_torchvision_operators()  # does something only where torchvision was built for another torch: before its first import

from avalanche.training.supervised import DER, EWC, Naive, Replay  # noqa: E402

from einstellung.bridges.avalanche import ERIPlugin, avalanche_benchmark, scratch_t2  # noqa: E402

STRATEGIES = {
    "naive": Naive,
    "ewc_online": partial(EWC, ewc_lambda=10.0, mode="online", decay_factor=1.0),
    "replay": partial(Replay, mem_size=200),
    "der": partial(DER, mem_size=200, batch_size_mem=32, alpha=0.1, beta=0.5),
}


def small_net(outputs: int) -> nn.Module:
    """Any net will do (this one is for 16x16 pixels), as long as its head covers the classes of both phases."""
    layers: list[nn.Module] = []
    for inputs, channels in ((3, 16), (16, 32), (32, 64)):
        layers += [nn.Conv2d(inputs, channels, 3, padding=1), nn.BatchNorm2d(channels), nn.ReLU(), nn.MaxPool2d(2)]
    return nn.Sequential(*layers, nn.Flatten(), nn.Linear(64 * 2 * 2, outputs))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", default="avalanche_logs")
    parser.add_argument("--strategies", nargs="+", default=list(STRATEGIES), choices=list(STRATEGIES))
    parser.add_argument("--seeds", nargs="+", type=int, default=[1, 2, 3])
    parser.add_argument("--epochs", nargs=2, type=int, default=[8, 12], metavar=("T1", "T2"))
    parser.add_argument("--train-per-class", type=int, default=50)
    options = parser.parse_args()

    stream = shapes(PatchCue(), size=16, train_per_class=options.train_per_class, test_per_class=20)
    benchmark = avalanche_benchmark(stream)

    def strategy(kind, seed, *plugins, epochs=1):
        torch.manual_seed(seed)
        net = small_net(stream.n_outputs)
        return kind(
            model=net,
            optimizer=torch.optim.SGD(net.parameters(), lr=0.02, momentum=0.9),
            criterion=nn.CrossEntropyLoss(),
            train_mb_size=32,
            train_epochs=epochs,
            evaluator=None,
            plugins=list(plugins),
        )

    for seed in options.seeds:
        baseline = strategy(Naive, seed, epochs=options.epochs[1])
        scratch_t2(baseline, benchmark, stream, seed, options.out)
        for name in options.strategies:
            learner = strategy(STRATEGIES[name], seed, ERIPlugin((name, seed, options.out), stream))
            for experience, epochs in zip(benchmark.train_stream, options.epochs, strict=True):
                learner.train_epochs = epochs
                learner.train(experience)
    print(f"einstellung score {options.out}")


if __name__ == "__main__":
    main()
