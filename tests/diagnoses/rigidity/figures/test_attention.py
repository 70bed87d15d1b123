"""Figures of attention: the right maps in the right places, the box, numbers in cells, and nothing cut off."""

from __future__ import annotations

import numpy as np
import pytest
from matplotlib.patches import Rectangle
from matplotlib.text import Text

from einstellung.diagnoses.rigidity.attention import attention_summary
from einstellung.diagnoses.rigidity.figures.attention import attention_plans
from einstellung.diagnoses.rigidity.figures.attention_epochs import box_area, draw_attention_epochs, shares_over_epochs
from einstellung.diagnoses.rigidity.figures.attention_heads import draw_attention_heads
from einstellung.diagnoses.rigidity.figures.attention_maps import draw_attention_maps, moments_shown, share_in
from einstellung.metrics.bands import band
from einstellung.report.figures.canvas import drawing, render, settle
from einstellung.report.notation import number
from einstellung.results.attention_files import AttentionRun, Reading
from tests.diagnoses.rigidity.attention_made import PULLS, attention_files, share, wavy_map, weight
from tests.diagnoses.rigidity.hand_made import scorecard, seed, typed

SEEDS = (1, 2, 3)


def made(method, number):
    rows, arrays = attention_files(method, number)
    readings = {
        ((row.phase, row.epoch), row.split, (str(row.layer), str(row.head))): Reading(
            row.n, row.AS, bool(row.boxed), row.entropy, row.ADI
        )
        for row in rows.itertuples()
    }
    return AttentionRun(readings, arrays)


@pytest.fixture(scope="module")
def runs():
    return {(method, one): made(method, one) for method in PULLS for one in SEEDS}


def card_of(runs):
    methods = dict.fromkeys(method for method, _ in runs)
    card = typed(scorecard({method: {"1": seed(4, 0.6, 0.3)} for method in methods}))
    return card.model_copy(update={"attention": attention_summary(runs)})


def heads_of(runs):
    card = card_of(runs)
    return draw_attention_heads(card, card.attention)


def texts_of(figure):
    return [text.get_text() for text in figure.findobj(Text) if text.get_visible() and text.get_text()]


def cut_off(figure):
    """Texts that reach over the edge; a tick beyond its axis is there, but not drawn."""
    settle(figure)
    width, height = figure.bbox.size
    boxes = {text.get_text(): text.get_window_extent() for text in figure.findobj(Text) if text.get_text()}
    boxes = {words: box for words, box in boxes.items() if not words.replace(".", "").replace("−", "").isdigit()}
    return [
        words for words, box in boxes.items() if box.x0 < -2 or box.y0 < -2 or box.x1 > width + 2 or box.y1 > height + 2
    ]


def test_shares_over_epochs_start_where_phase_one_ended(runs):
    table = shares_over_epochs(runs, "sgd", "T2_shortcut_normal")
    assert table.index.tolist() == [0.0, 1.0, 4.0, 8.0]
    assert table.columns.tolist() == [1, 2, 3]
    assert table.loc[0.0, 2] == pytest.approx(share(weight("sgd", "T1", 8.0, "T2_shortcut_normal", 2)))
    assert table.loc[4.0, 2] == pytest.approx(share(weight("sgd", "T2", 4.0, "T2_shortcut_normal", 2)))
    assert shares_over_epochs(runs, "scratch_t2", "T2_shortcut_normal").index.tolist() == [1.0, 4.0, 8.0]


def test_an_even_map_would_give_the_area_of_the_box(runs):
    assert box_area(runs) == 16 / 32**2
    assert box_area({("sgd", 1): AttentionRun({})}) is None
    with drawing():
        figure = draw_attention_epochs(runs, card_of(runs))
    for axes in figure.axes:
        dotted = [line for line in axes.lines if set(line.get_ydata()) == {16 / 32**2}]
        assert len(dotted) == 1
        assert dotted[0].is_dashed()
    assert "even 0.016" in texts_of(figure)


def test_panels_hold_mean_and_band_of_their_own_split(runs):
    with drawing():
        figure = draw_attention_epochs(runs, card_of(runs))
    assert [axes.get_title() for axes in figure.axes] == ["with the cue", "never painted", "cue covered"]
    for axes, kind in zip(figure.axes, ("normal", "clean", "masked"), strict=True):
        summary = band(shares_over_epochs(runs, "sgd", f"T2_shortcut_{kind}"))
        lines = [line for line in axes.lines if line.get_color() == "#0072B2" and len(line.get_xdata()) == 4]
        np.testing.assert_allclose(lines[0].get_ydata(), summary.mean)
        highest = max(path.vertices[:, 1].max() for band_ in axes.collections for path in band_.get_paths())
        assert highest >= (summary.mean + summary.sd).max() - 1e-12
    assert cut_off(figure) == []


def test_a_single_moment_gets_a_bar(runs):
    last = {
        ("scratch_t2", one): AttentionRun(
            {key: value for key, value in runs["scratch_t2", one].readings.items() if key[0] == ("T2", 8.0)}
        )
        for one in SEEDS
    }
    with drawing():
        figure = draw_attention_epochs(last, card_of(last))
    shares = [share(weight("scratch_t2", "T2", 8.0, "T2_shortcut_normal", one)) for one in SEEDS]
    segments = [part for bars in figure.axes[0].collections for part in getattr(bars, "get_segments", list)()]
    ends = sorted(segments[0][:, 1])
    assert ends == pytest.approx([np.mean(shares) - np.std(shares, ddof=1), np.mean(shares) + np.std(shares, ddof=1)])


def test_cells_hold_the_means_of_their_head(runs):
    card = card_of(runs)
    with drawing():
        figure = draw_attention_heads(card, card.attention)
    words = texts_of(figure)
    for method in PULLS:
        for place in card.attention.methods[method].heads:
            if place.head != "mean":
                assert number(place.AS_cue.mean) in words
                gain = place.SAG.mean
                assert number(gain, digits=2 if gain < 10 else 0, signed=True) in words
    assert {"scratch_t2", "sgd", "derpp", "layer", "head"} <= set(words)
    cells = [patch for axes in figure.axes for patch in axes.patches if isinstance(patch, Rectangle)]
    assert len([cell for cell in cells if cell.get_width() == 1]) == 3 * 2 * 4
    assert cut_off(figure) == []


def test_without_clean_images_there_is_no_gain_to_draw(runs):
    some = {
        run: AttentionRun({key: value for key, value in found.readings.items() if key[1] != "T2_shortcut_clean"})
        for run, found in runs.items()
    }
    with drawing():
        figure = heads_of(some)
    assert not any("SAG" in words for words in texts_of(figure))
    assert any("AS" in words for words in texts_of(figure))


def test_the_share_of_a_single_map_counts_tokens_in_part():
    region = np.zeros((32, 32), dtype=bool)
    region[2:6, 0:4] = True  # half of it in the first token, half in the one below
    attention = np.zeros((8, 8))
    attention[0, 0], attention[1, 0], attention[5, 5] = 0.4, 0.2, 0.4
    assert share_in(region, attention) == pytest.approx(0.3)
    coarse = np.full((14, 14), 1 / 196)  # 32 pixels are no multiple of 14 tokens
    assert share_in(region, coarse) == pytest.approx(16 / 32**2)


def test_maps_stand_in_groups_of_image_map_overlay(runs):
    run = runs["sgd", 1]
    moments = moments_shown(run)
    assert moments == [("T1", 8.0), ("T2", 8.0)]
    with drawing():
        figure = draw_attention_maps(run, moments)
    assert len(figure.axes) == 2 * 3 * 9  # moments, examples, three kinds of three variants
    words = texts_of(figure)
    assert [word for word in words if word.startswith("end of")] == ["end of phase 1", "end of phase 2"]
    assert {"never painted", "with the cue", "cue covered"} <= set(words)
    image = np.asarray(figure.axes[3].images[0].get_array())  # first example with the cue
    assert (image[:16, :16] == (255, 0, 255)).all()
    assert not (image[16, 16] == (255, 0, 255)).all()
    brightest = np.asarray(figure.axes[27 + 4].images[0].get_array())  # its map at the end of phase 2
    assert brightest[0, 0].tolist() == pytest.approx([0.993248, 0.906157, 0.143936])  # the last colour of viridis
    for axes, split in (
        (figure.axes[27 + 1], "clean"),
        (figure.axes[27 + 4], "normal"),
        (figure.axes[27 + 7], "masked"),
    ):
        corner = weight("sgd", "T2", 8.0, f"T2_shortcut_{split}", 1)
        assert axes.get_xlabel() == f"AS {number(float(wavy_map(corner, 0)[0, 0]))}"
    for axes in figure.axes:
        (box,) = axes.patches
        assert (box.get_xy(), box.get_width(), box.get_height()) == ((0, 0), 4, 4)
    assert cut_off(figure) == []


def test_maps_need_images_regions_and_maps_of_all_three_kinds(runs):
    whole = runs["sgd", 1]
    for gone in ("example_regions", "example_images/T2_shortcut_masked"):
        arrays = {name: array for name, array in whole.arrays.items() if name != gone}
        assert moments_shown(AttentionRun(whole.readings, arrays)) == []
    arrays = {name: array for name, array in whole.arrays.items() if not name.startswith("example_rollout/T1")}
    assert moments_shown(AttentionRun(whole.readings, arrays)) == [("T2", 8.0)]


def test_plans_name_every_figure_and_say_why_one_is_missing(runs):
    names = ["attention_epochs", "attention_heads", *(f"attention_maps_{method}" for method in PULLS)]
    plans = list(attention_plans(runs, card_of(runs)))
    assert [plan.name for plan in plans] == names
    assert [plan.why for plan in plans] == [None] * 5
    assert "3 seeds per method" in plans[0].caption
    assert "50 images" in plans[0].caption
    assert "(0.016)" in plans[0].caption
    assert plans[3].caption.startswith("Attention of sgd, seed 1, on 3 test images")
    assert "before training with any cue, and at the end of phase 2" in plans[3].caption
    assert "end of phase 1" not in plans[2].caption
    bare = {
        run: AttentionRun({key: reading._replace(boxed=False) for key, reading in found.readings.items()})
        for run, found in runs.items()
    }
    reasons = {plan.name: plan.why for plan in attention_plans(bare, card_of(bare))}
    assert list(reasons) == names
    assert reasons["attention_epochs"] == "no split has a cue box"
    assert "was not measured at the end of T2" in reasons["attention_heads"]
    assert reasons["attention_maps_sgd"].startswith("no examples with their maps were stored")
    assert list(attention_plans({}, card_of(runs))) == []


def test_the_first_seed_that_has_examples_is_shown(runs):
    own = {("sgd", 1): AttentionRun(runs["sgd", 1].readings), ("sgd", 2): runs["sgd", 2]}
    *_, plan = attention_plans(own, card_of(own))
    assert plan.caption.startswith("Attention of sgd, seed 2, on 3 test images")


def test_a_single_seed_has_no_band(runs):
    alone, both = ({("sgd", one): runs["sgd", one] for one in seeds} for seeds in ((1,), (1, 2)))
    captions = [next(attention_plans(some, card_of(some))).caption for some in (alone, both)]
    assert "a single seed" in captions[0]
    assert ["standard deviation" in caption for caption in captions] == [False, True]


def test_equal_input_gives_equal_bytes(runs):
    whole = runs["derpp", 1]
    arrays = {name: array[:1] if name.startswith("example") else array for name, array in whole.arrays.items()}

    def once():
        with drawing():
            return render(draw_attention_maps(AttentionRun(whole.readings, arrays), [("T2", 8.0)]), "svg")

    assert once() == once()


def test_many_heads_and_long_names_stay_inside():
    readings = {
        (("T2", 5.0), f"T2_shortcut_{kind}", (str(layer), str(head))): Reading(9, 0.01 * head, True, 1.0, 0.2)
        for kind in ("normal", "clean")
        for layer in range(1, 4)
        for head in range(1, 13)
    } | {(("T2", 5.0), "T2_shortcut_normal", ("rollout", "")): Reading(9, 0.2, True, 1.0, 0.2)}
    runs = {(f"a_very_long_name_$of$_method_number_{place}", 1): AttentionRun(readings) for place in range(3)}
    with drawing():
        assert cut_off(heads_of(runs)) == []
        assert cut_off(draw_attention_epochs(runs, card_of(runs))) == []
