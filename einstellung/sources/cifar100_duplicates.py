"""Pixel-identical images in CIFAR-100, by their positions in its files.

A table rather than a count, so that a stream's own count can be verified. Duplicates have the same fine class (aquarium fish)
or two similar ones (otter and seal, girl and baby). Three pairs of training images belong to two superclasses: 18461 and 27737
are snakes and their duplicates worms, 31227 is a whale and its duplicate a shark. Two more pairs lie within the test images
(3438 and 7715, 4654 and 6709) and do not affect training.
"""

from __future__ import annotations

WITHIN_TRAIN: tuple[tuple[int, int], ...] = (
    (4348, 30931),
    (8393, 36874),
    (8599, 22657),
    (9012, 31128),
    (16646, 31828),
    (17688, 41874),
    (18461, 46752),
    (20635, 32666),
    (23947, 33638),
    (25218, 46851),
    (27737, 47636),
    (28293, 41860),
    (30418, 47806),
    (31227, 34187),
)

TRAIN_AND_TEST: tuple[tuple[int, int], ...] = (
    (15597, 9524),
    (21619, 3932),
    (24083, 1100),
    (25390, 5564),
    (28189, 3499),
    (28538, 2615),
    (29363, 4716),
    (30697, 2996),
    (32205, 1357),
    (37654, 6526),
)
