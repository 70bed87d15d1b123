"""Find, verify, read, cache and download the files of data sets. Arrays only: no torch in here."""

from collections.abc import Mapping

from einstellung.sources.cifar100 import Cifar100, LabelledArrays, load_cifar100
from einstellung.sources.newsgroups import NEWSGROUPS, LabelledTexts, Newsgroups, load_newsgroups
from einstellung.sources.published import CIFAR100, PublishedDataset
from einstellung.sources.spamassassin import SPAMASSASSIN, Mail, SpamAssassin, load_spamassassin
from einstellung.sources.survey import Checkable
from einstellung.sources.ucr import UCR, LabelledSeries, UcrDataset, load_ucr
from einstellung.sources.vocabulary import EncodedTexts, Vocabulary

PUBLISHED: Mapping[str, PublishedDataset | Checkable] = {
    published.name: published for published in (CIFAR100, NEWSGROUPS, SPAMASSASSIN, UCR)
}

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
