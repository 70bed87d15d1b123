"""Find, verify, read, cache and download the files of data sets. Arrays only: no torch in here."""

from einstellung.sources.cifar100 import Cifar100, LabelledArrays, load_cifar100
from einstellung.sources.published import CIFAR100, PublishedDataset

PUBLISHED = {published.name: published for published in (CIFAR100,)}

__all__ = ["CIFAR100", "PUBLISHED", "Cifar100", "LabelledArrays", "PublishedDataset", "load_cifar100"]
