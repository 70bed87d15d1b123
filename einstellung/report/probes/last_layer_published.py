"""What the Whac-A-Mole paper reports for last layers on a frozen ResNet-50.

Z. Li, I. Evtimov, A. Gordo, C. Hazirbas, T. Hassner, C. Canton Ferrer, C. Xu and M. Ibrahim, "A Whac-A-Mole Dilemma: Shortcuts
Come in Multiples Where Mitigating One Amplifies Others", Table 4: per cent and points, one number each. Of its 14 methods those
stand here that can be learned on fixed features, of its columns those that are measured in the same way: its IN-R Gap restricts
logits to 200 classes, its IN-9 Gap maps them to nine, and both are measured by another command, for nets as they are.
"""

from __future__ import annotations

SOURCE = (
    "Z. Li et al., A Whac-A-Mole Dilemma: Shortcuts Come in Multiples Where Mitigating One Amplifies Others, "
    "Table 4 (ImageNet)"
)
#: The paper's extractor is torchvision's first ResNet-50, which timm has under this name.
MODEL = "timm:resnet50.tv_in1k"
DIFFERENCES = (
    "the paper learns from all training pictures of ImageNet, cropped and flipped at random, with new watermarks in every "
    "epoch; it tests on the 50,000 validation pictures (50 cartons); its LLE knows watermark, texture and background; its "
    "texture Gap is on Stylized ImageNet; its IN-R and IN-9 gaps are not measured here"
)
COLUMNS = ("clean_acc", "watermark_gap", "carton_gap", "texture_gap")

#: Our name of the method (the paper's: ERM, WTM Aug, TXT Aug, BG Aug, LLE); IN-1k, IN-W Gap, Carton Gap, SIN Gap.
_TABLE_4 = """
erm 76.39 -25.40 +30 -69.43
wtm_aug 76.32 -5.78 +14 -69.31
texture_aug 75.94 -25.93 +36 -63.99
background_aug 76.03 -25.01 +36 -68.41
lle 76.25 -6.18 +10 -61.00
"""


def _read() -> dict[str, dict[str, float]]:
    rows = (line.split() for line in _TABLE_4.split("\n")[1:-1])
    return {
        method: {key: round(float(one) / 100, 6) for key, one in zip(COLUMNS, numbers, strict=True)}
        for method, *numbers in rows
    }


#: Method -> what the paper reports, as shares.
TABLE_4 = _read()


def reported_for(model: str, method: str) -> dict[str, float] | None:
    """The paper's numbers of a method, as shares; None for another model or method.

    >>> reported_for("timm:resnet50.tv_in1k", "lle")["watermark_gap"], reported_for("efficientnet-lite0", "lle")
    (-0.0618, None)
    """
    return TABLE_4.get(method) if model == MODEL else None
