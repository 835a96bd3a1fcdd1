"""Detect slow noise from the history of a page's differences.

A second fetch seconds later cannot detect a date that changes every day. Three patterns show in the
differences that visits found: the only difference is a date, a time or a count, again and again;
the page alternates between earlier versions; or, on a page alone on its host, nothing differs but
what is marked as a banner or a menu. The blocks concerned become suspects, and are ignored when
that has happened often enough. Prose is a suspect only if a page alternates between versions that
differ little, such as with and without a dialog.
"""

import struct
from collections.abc import Collection, Sequence
from dataclasses import dataclass

from recrawl.content.boilerplate.boilerplate import is_prose
from recrawl.content.html.outline import Block, Element
from recrawl.content.noise.masking import is_dated
from recrawl.content.noise.noise import exact_key, lines_key, may_be_passing, text_key

#: How often a difference of dates or counts must be the only one, or one in elements marked as
#: furniture; and how often a page must return to an earlier version.
DATED, MARKED, TO_AND_FRO = 2, 2, 4
#: The largest share of the text in which versions with different prose may alternate.
_LITTLE = 0.05
_MAX_SUSPECTS, _DIGESTS, _DIGEST_BYTES = 18, 4, 4
_SUSPECT = struct.Struct("<8sB")


@dataclass(frozen=True, slots=True)
class History:
    """The recent differences of a page.

    Attributes:
        digests: Of its latest versions, the newest last.
        suspects: How often each key was the only difference.
    """

    digests: tuple[bytes, ...] = ()
    suspects: tuple[tuple[bytes, int], ...] = ()

    @classmethod
    def from_bytes(cls, packed: bytes) -> "History":
        """Return what `to_bytes` packed."""
        if not packed:
            return cls()
        end = 1 + packed[0] * _DIGEST_BYTES
        digests = tuple(packed[at : at + _DIGEST_BYTES] for at in range(1, end, _DIGEST_BYTES))
        rest = packed[end:]
        return cls(digests, tuple(_SUSPECT.iter_unpack(rest[: len(rest) // 9 * 9])))

    def to_bytes(self) -> bytes:
        """Pack it into at most 200 bytes."""
        digests = self.digests[-_DIGESTS:]
        suspects = self.suspects[-_MAX_SUSPECTS:]
        return (
            bytes([len(digests)])
            + b"".join(digests)
            + b"".join(_SUSPECT.pack(key, min(count, 255)) for key, count in suspects)
        )

    def after(
        self,
        digest: bytes,
        new: Sequence[Block],
        old: Sequence[Block],
        marked: Collection[Element] = (),
        share: float = 1.0,
    ) -> "tuple[History, frozenset[bytes]]":
        """Return the history after a change, and the keys of blocks to ignore from now on.

        Args:
            digest: The digest of the present version.
            new: The blocks that are new.
            old: The blocks that are gone.
            marked: The elements with marks of furniture that all of them are in, if they are.
            share: The share of the page's text that they are.
        """
        short = digest[:_DIGEST_BYTES]
        digests = (*self.digests, short)[-_DIGESTS:]
        keys, needed = frozenset[bytes](), 0
        has_prose = any(map(is_prose, (*new, *old)))
        if not has_prose and _is_dated(new, old):
            keys, needed = frozenset(map(text_key, new)), DATED
        elif short in self.digests[:-1]:
            if not has_prose or share <= _LITTLE:
                # Exactly these texts: any other text there is a change.
                keys, needed = frozenset(map(exact_key, (*new, *old))), TO_AND_FRO
        elif marked and all(map(may_be_passing, (*new, *old))):
            keys, needed = frozenset(map(lines_key, marked)), MARKED
        counts = dict(self.suspects)
        for key in keys:
            counts[key] = counts.get(key, 0) + 1
        learned = frozenset(key for key in keys if counts[key] >= needed)
        left = tuple((key, count) for key, count in counts.items() if key not in learned)
        return History(digests, left), learned


def _is_dated(new: Sequence[Block], old: Sequence[Block]) -> bool:
    """Whether blocks differ only in dates, times and counts, or numbers in links."""
    if not new or not all(block.is_link or is_dated(block.text) for block in (*new, *old)):
        return False
    return sorted(map(text_key, new)) == sorted(map(text_key, old))
