"""What functions make of strings is remembered, within limits."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from recrawl.content.noise import masking, remembering
from recrawl.content.noise.masking import is_dated, is_incidental, masked
from recrawl.content.noise.remembering import Remembered


class Counting:
    """Returns a string in capitals, and counts how often it is asked."""

    def __init__(self) -> None:
        self.calls = 0

    def __call__(self, text: str) -> str:
        """Return a string in capitals."""
        self.calls += 1
        return text.upper()


def test_a_string_is_looked_at_once() -> None:
    function = Counting()
    remembered = Remembered(function)
    assert [remembered["soup"] for _ in range(3)] == ["SOUP"] * 3
    assert function.calls == 1


@pytest.mark.parametrize(("excess", "calls"), [(0, 1), (1, 2)])
def test_a_long_string_is_not_kept(
    monkeypatch: pytest.MonkeyPatch, excess: int, calls: int
) -> None:
    monkeypatch.setattr(remembering, "_MAX_LENGTH", 10)
    function = Counting()
    remembered = Remembered(function)
    text = "a" * (10 + excess)
    assert [remembered[text] for _ in range(2)] == ["A" * (10 + excess)] * 2
    assert function.calls == calls


@given(st.lists(st.text(max_size=12), max_size=60))
def test_no_more_letters_are_kept_than_allowed_and_answers_are_right(texts: list[str]) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(remembering, "_MAX_LETTERS", 60)
        patch.setattr(remembering, "_OVERHEAD", 2)
        remembered = Remembered(str.upper)
        for text in texts:
            assert remembered[text] == text.upper()
            assert sum(len(kept) + 2 for kept in remembered) <= 60


def test_pages_that_share_no_strings_do_not_fill_the_memory(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(remembering, "_MAX_LETTERS", 1_000)
    remembered = Remembered(str.upper)
    for number in range(100):
        assert remembered[f"{number}"] == f"{number}"
    assert 1 <= len(remembered) < 10


@pytest.mark.parametrize("line", ["3 MARCH 2026", "12 Views", "5 Août", "YESTERDAY at 5"])
def test_dates_and_counts_are_known_in_letters_of_any_size(line: str) -> None:
    for text in (line, line.lower(), line.upper(), line.title()):
        assert is_dated(text)
        assert is_incidental(text)


@given(st.text(max_size=300))
def test_what_is_remembered_is_what_is_found_out_anew(text: str) -> None:
    for _ in range(2):
        assert masked(text) == masking._mask(text)  # noqa: SLF001 - without memory
        anew = len(text) <= 200 and masking._changes_by_itself(text)  # noqa: SLF001
        assert is_incidental(text) is anew
