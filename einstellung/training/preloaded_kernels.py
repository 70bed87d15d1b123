"""Importing this loads the kernels: the server that forks workers preloads it, so that they inherit compiled code."""

from einstellung.training.acceleration import load_kernels

load_kernels()
