"""Load the kernels on import: the fork server preloads this module, so that workers inherit compiled code."""

from einstellung.training.acceleration import load_kernels

load_kernels()
