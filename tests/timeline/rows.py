"""Timeline files of a few rows."""

from __future__ import annotations

HEADER = "method,seed,phase,epoch,split,acc,loss,n"


def write(path, *lines, header=HEADER):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("\n".join([header, *lines]) + "\n")
    return path


def row(method="sgd", seed=1, epoch=1, acc=0.5):
    return f"{method},{seed},T2,{epoch},T1_all,{acc},,"
