"""Find, verify, read, cache and download the files of data sets. Arrays only: no torch in here."""

from einstellung.sources.cifar100 import Cifar100, LabelledArrays, load_cifar100
from einstellung.sources.newsgroups import LabelledTexts, Newsgroups, load_newsgroups
from einstellung.sources.published import CIFAR100, PublishedDataset
from einstellung.sources.spamassassin import Mail, SpamAssassin, load_spamassassin
from einstellung.sources.ucr import LabelledSeries, UcrDataset, load_ucr
from einstellung.sources.vocabulary import EncodedTexts, Vocabulary

PUBLISHED = {published.name: published for published in (CIFAR100,)}

__all__ = [
    "CIFAR100",
    "PUBLISHED",
    "Cifar100",
    "EncodedTexts",
    "LabelledArrays",
    "LabelledSeries",
    "LabelledTexts",
    "Mail",
    "Newsgroups",
    "PublishedDataset",
    "SpamAssassin",
    "UcrDataset",
    "Vocabulary",
    "load_cifar100",
    "load_newsgroups",
    "load_spamassassin",
    "load_ucr",
]
