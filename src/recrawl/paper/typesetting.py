"""Typeset numbers and powers, in plain text, in HTML and in pictures."""

import re
from html import escape

MINUS = "−"
#: Larger powers of ten stay powers.
MAX_DIGITS = 7

_POWER_OF_TEN = re.compile(r"\b(\d(?:\.\d+)?)e([+-]\d+)\b")
_HYPHEN = re.compile(r"(?<![\w.)\]])-(?=[\d.∞])")
_PERCENT = re.compile(r"(?<=\d) ?%")
_RAISED = re.compile(rf"\^(?:\(([^()]*)\)|({MINUS}?(?:\d+(?:\.\d+)?|½|\w)))")


def plain(text: str) -> str:
    """Return text with minus signs, spaces before percent signs, and numbers in digits.

    >>> plain("-0.25, 8.8% and 4.17e+03 µs; 2e-09")
    '−0.25, 8.8 % and 4,170 µs; 2·10^−9'
    """
    written = _POWER_OF_TEN.sub(_in_digits, text)
    return _PERCENT.sub(" %", _HYPHEN.sub(MINUS, written))


def html(text: str) -> str:
    """Return text as HTML, with exponents raised.

    >>> html("α = k^0.75 < e^(-2)")
    'α = k<sup>0.75</sup> &lt; e<sup>−2</sup>'
    """
    return _RAISED.sub(lambda found: f"<sup>{_exponent(found)}</sup>", escape(plain(text)))


def picture(text: str) -> str:
    r"""Return text for Matplotlib, with exponents raised.

    >>> print(picture("α = k^0.75"))
    α = k$^{\mathregular{0.75}}$
    """
    return _RAISED.sub(lambda found: f"$^{{\\mathregular{{{_exponent(found)}}}}}$", plain(text))


def _exponent(found: re.Match[str]) -> str:
    return found[2] if found[1] is None else found[1]


def _in_digits(found: re.Match[str]) -> str:
    number, power = float(found[0]), int(found[2])
    if 0 <= power < MAX_DIGITS:
        return f"{number:,.0f}"
    return f"{found[1]}·10^{MINUS if power < 0 else ''}{abs(power)}"
