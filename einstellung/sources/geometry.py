"""Where pixels of a stored picture go when it is resized and cropped, and where those of the result come from."""

from __future__ import annotations

from dataclasses import dataclass

Box = tuple[int, int, int, int]  # top, left, height, width, in pixels


def scaled_box(box: Box, height: int, width: int, to_height: int, to_width: int) -> Box:
    """A box in an image of ``height`` x ``width``, scaled to another size and rounded outwards.

    >>> scaled_box((10, 0, 10, 25), height=100, width=50, to_height=8, to_width=8)
    (0, 0, 2, 4)
    """
    top, left, box_height, box_width = box
    first_row, first_col = top * to_height // height, left * to_width // width
    end_row, end_col = -(-(top + box_height) * to_height // height), -(-(left + box_width) * to_width // width)
    return first_row, first_col, end_row - first_row, end_col - first_col


@dataclass(frozen=True)
class Geometry:
    """A picture is resized so that its shorter side has ``resize`` pixels, then its middle of ``size`` x ``size`` is cut out.

    ``squash``: both sides are resized to ``resize``, whatever the aspect ratio.
    """

    size: int
    resize: int
    squash: bool = False

    @property
    def whole(self) -> bool:
        """Whether nothing is cut off."""
        return self.squash and self.resize == self.size

    def resized(self, height: int, width: int) -> tuple[int, int]:
        """Height and width before the crop.

        >>> Geometry(224, 256).resized(500, 400)
        (320, 256)
        """
        if self.squash:
            return self.resize, self.resize
        scale = self.resize / min(height, width)
        return max(round(height * scale), self.resize), max(round(width * scale), self.resize)

    def stored_box(self, box: Box, height: int, width: int) -> Box:
        """The box, in a stored picture of ``height`` x ``width``, that a box of the prepared picture shows; rounded outwards.

        >>> Geometry(224, 256).stored_box((0, 0, 224, 224), 512, 512)
        (32, 32, 448, 448)
        """
        tall, wide = self.resized(height, width)
        top, left, box_height, box_width = box
        whole = ((tall - self.size) // 2 + top, (wide - self.size) // 2 + left, box_height, box_width)
        return scaled_box(whole, tall, wide, height, width)
