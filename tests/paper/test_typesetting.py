"""What the report prints, and where labels stand."""

from dataclasses import replace

import numpy as np
import pytest
from paper.made_up import ORIGIN, made_up_section

from recrawl.paper.drawing import LABEL_GAP, LOWEST_LABEL, _spread
from recrawl.paper.report import report_html
from recrawl.paper.typesetting import html, picture, plain


@pytest.mark.parametrize(
    ("written", "printed"),
    [
        ("8.8% beside 95 %", "8.8 % beside 95 %"),
        ("a slope of -0.5, between -1 and 2", "a slope of −0.5, between −1 and 2"),
        ("MM 4.17e+03 µs", "MM 4,170 µs"),
        ("1e-05", "1·10^−5"),
        ("one-bit, 2020-01-31 and k-1", "one-bit, 2020-01-31 and k-1"),
    ],
)
def test_numbers_are_printed_as_in_books(written: str, printed: str) -> None:
    assert plain(written) == printed


def test_exponents_are_raised_in_the_report_and_in_pictures() -> None:
    assert html("as k^0.75, (k+1)^−γ and e^(−Δτ) < 1") == (
        "as k<sup>0.75</sup>, (k+1)<sup>−γ</sup> and e<sup>−Δτ</sup> &lt; 1"
    )
    assert "^" not in picture("α = k^0.75").replace("$^{", "")


def test_a_report_has_no_raw_exponents_and_percents() -> None:
    section = replace(made_up_section(), text=("As k^0.75: -3.5, 8.8% and 4.17e+03 µs.",))
    text = report_html({"one": section}, ORIGIN).partition("<main>")[2]
    assert "<p>As k<sup>0.75</sup>: −3.5, 8.8 % and 4,170 µs.</p>" in text


def test_labels_keep_off_the_ticks_below_and_the_title_above() -> None:
    for positions in ([0.0] * 6, [1.0] * 6, [0.0, 0.0, 0.5, 1.0]):
        spread = _spread(np.array(positions))
        assert spread.min() >= LOWEST_LABEL
        assert spread.max() <= 1.0 + 1e-9
        assert np.diff(spread).min() >= LABEL_GAP - 1e-9
