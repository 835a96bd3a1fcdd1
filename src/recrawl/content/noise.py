"""What differs between two contents fetched in a row, and is to be ignored from then on."""

from collections import Counter, defaultdict
from collections.abc import Iterable

from recrawl.content.blocks import Block, Place, kept

#: Of the blocks in an element, the share that may be the same where all of it is noise.
_MAX_SAME = 1 / 3
_SEVERAL = 2


def noise(one: list[Block], other: list[Block]) -> frozenset[bytes]:
    """Give keys of blocks that say something else although both were fetched in a row.

    The lesson is as narrow as it can be and still hold next time:

    - a text that is the same but for numbers, dates and tokens: such a text at such a place;
    - else, whatever is said in that very place, such as the third item of the second list;
    - else, where an element's parts come and go, or all of them are others, all that is in the
      element. It is never the page, its main part or an article.

    Where all texts are the same and only their order is not, the places that they stand in.
    """
    new, old = _missing(one, other), _missing(other, one)
    shared = {block.text_key for block in new} & {block.text_key for block in old}
    differing = [block for block in (*new, *old) if block.text_key not in shared]
    elements = _elements(differing, _tally(new), _tally(old), _tally(one), _tally(other))
    keys = frozenset(
        {place.key for place in elements}
        | shared
        | {block.address for block in differing if not _is_in(block, elements)}
    )
    if kept(one, keys) == kept(other, keys):
        return keys
    return keys | _moved(one, other)


def _missing(blocks: list[Block], others: list[Block]) -> list[Block]:
    """Give the blocks that the others have no equal of, one for one."""
    left = Counter((block.place.loose, block.text) for block in others)
    missing = []
    for block in blocks:
        what = (block.place.loose, block.text)
        if left[what]:
            left[what] -= 1
        else:
            missing.append(block)
    return missing


def _moved(one: list[Block], other: list[Block]) -> frozenset[bytes]:
    """Give the places where something else stands."""
    here, there = ({block.address: block.text for block in blocks} for blocks in (one, other))
    return frozenset(
        address for address in here.keys() | there.keys() if here.get(address) != there.get(address)
    )


def _tally(blocks: Iterable[Block]) -> dict[bytes, set[bytes]]:
    """Give the addresses of the blocks inside each element, itself included."""
    inside = defaultdict[bytes, set[bytes]](set)
    for block in blocks:
        address = block.address
        for place in _way_up(block.place):
            inside[place.exact].add(address)
    return inside


def _elements(
    differing: list[Block],
    new: dict[bytes, set[bytes]],
    old: dict[bytes, set[bytes]],
    one: dict[bytes, set[bytes]],
    other: dict[bytes, set[bytes]],
) -> list[Place]:
    """Give the smallest elements with several parts that come and go, or are all others."""
    found = list[Place]()
    nothing = set[bytes]()
    for block in differing:
        for place in _way_up(block.place):
            here, there = new.get(place.exact, nothing), old.get(place.exact, nothing)
            if len(here | there) < _SEVERAL:
                continue
            everything = len(one.get(place.exact, nothing)) + len(other.get(place.exact, nothing))
            same = everything - len(here) - len(there)
            comes_and_goes = here != there and same <= _MAX_SAME * everything
            if place.is_part and (comes_and_goes or same == 0):
                found.append(place)
            break
    return found


def _is_in(block: Block, elements: list[Place]) -> bool:
    keys = {place.exact for place in elements}
    return any(place.exact in keys for place in _way_up(block.place))


def _way_up(place: Place | None) -> Iterable[Place]:
    while place is not None:
        yield place
        place = place.parent
