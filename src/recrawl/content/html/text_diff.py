"""Find the lines in which the texts of two copies differ.

The texts are of strangers' making, and comparing them takes long if they are made for it; see
`recrawl.content.html.copy_text`.
"""

import difflib
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from recrawl.content.html.copy_text import CopySource, lines_of

#: Lines around a difference; lines that are compared word by word, at once, and how many words of
#: two lines; and how alike they must be.
CONTEXT, MAX_PAIRS, MAX_WORDS, ALIKE = 2, 20, 1_000, 0.5

#: Lines of a unified diff that name the two texts.
_NAMES = 2
#: A word or a mark with the space after it: space alone does not make lines alike.
_WORD = re.compile(r"\w+\s*|[^\w\s]\s*|\s+")


@dataclass(frozen=True)
class Line:
    """A line of a difference.

    Attributes:
        kind: ``same``, ``new``, ``old``, or ``skip`` where lines are left out.
        parts: The line in parts, and whether each is not in the line that it stands against.
    """

    kind: Literal["same", "new", "old", "skip"]
    parts: tuple[tuple[str, bool], ...]

    @property
    def text(self) -> str:
        """The whole line."""
        return "".join(text for text, _ in self.parts)


def unified_diff(before: CopySource, after: CopySource) -> list[str]:
    """Return the lines in which the texts of two copies differ, as a unified diff without names."""
    lines = difflib.unified_diff(lines_of(before), lines_of(after), lineterm="")
    return list(lines)[_NAMES:]


def marked_diff(
    before: CopySource, after: CopySource, max_lines: int, max_characters: int
) -> list[Line] | None:
    """Return the lines in which the texts of two copies differ, with the words that do.

    Args:
        before: The older copy.
        after: The newer copy.
        max_lines: The lines that a text may have.
        max_characters: The characters of a line that are compared.

    Returns:
        The lines; None if a text is too long.
    """
    texts = [[line[:max_characters] for line in lines_of(one)] for one in (before, after)]
    return None if max(map(len, texts)) > max_lines else diff_lines(*texts)


def diff_lines(before: Sequence[str], after: Sequence[str]) -> list[Line]:
    """Return the lines in which two texts differ, with some around them.

    >>> [(line.kind, line.text) for line in diff_lines(["a", "b"], ["a", "c"])]
    [('same', 'a'), ('old', 'b'), ('new', 'c')]
    """
    lines: list[Line] = []
    matcher = difflib.SequenceMatcher(None, before, after)
    for group in matcher.get_grouped_opcodes(CONTEXT):
        if lines:
            lines.append(Line("skip", (("…", False),)))
        for tag, start, end, new_start, new_end in group:
            if tag == "equal":
                lines += [Line("same", ((line, False),)) for line in before[start:end]]
            else:
                lines += _replaced(before[start:end], after[new_start:new_end])
    return lines


def _replaced(before: Sequence[str], after: Sequence[str]) -> list[Line]:
    """Return replaced lines and their replacements; if there are as many of each, compare words."""
    if len(before) == len(after) <= MAX_PAIRS:
        pairs = [_marked(old, new) for old, new in zip(before, after, strict=True)]
        return [*(Line("old", old) for old, _ in pairs), *(Line("new", new) for _, new in pairs)]
    olds = [Line("old", ((line, False),)) for line in before]
    return [*olds, *(Line("new", ((line, False),)) for line in after)]


def _marked(
    old: str, new: str
) -> tuple[tuple[tuple[str, bool], ...], tuple[tuple[str, bool], ...]]:
    """Return two lines in parts, with the words marked that only one of them has.

    >>> _marked("Price: 5 euros", "Price: 6 euros")[1]
    (('Price: ', False), ('6 ', True), ('euros', False))
    """
    words = [_WORD.findall(line) for line in (old, new)]
    matcher = difflib.SequenceMatcher(None, words[0], words[1], autojunk=False)
    is_long = len(words[0]) + len(words[1]) > MAX_WORDS
    if is_long or matcher.quick_ratio() < ALIKE or matcher.ratio() < ALIKE:
        return ((old, False),), ((new, False),)
    sides: tuple[list[tuple[str, bool]], list[tuple[str, bool]]] = [], []
    for tag, start, end, new_start, new_end in matcher.get_opcodes():
        for side, text in zip(
            sides, (words[0][start:end], words[1][new_start:new_end]), strict=True
        ):
            if text:
                side.append(("".join(text), tag != "equal"))
    return tuple(sides[0]), tuple(sides[1])
