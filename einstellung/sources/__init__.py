"""Files of published data sets: found, checked, read, cached, downloaded. Arrays only; no torch in here."""

from einstellung.sources.cifar100 import Cifar100, LabelledArrays, load_cifar100
from einstellung.sources.published import CIFAR100, Published

PUBLISHED = {published.name: published for published in (CIFAR100,)}

__all__ = ["CIFAR100", "PUBLISHED", "Cifar100", "LabelledArrays", "Published", "load_cifar100"]
