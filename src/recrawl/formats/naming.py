"""Match the columns of a table with ours, whatever they are called there."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from difflib import get_close_matches
from typing import TYPE_CHECKING, Protocol

from recrawl.errors import ArgumentError, InputError
from recrawl.units import quoted

if TYPE_CHECKING:
    from recrawl.formats.rows import Layout

#: Separators of words in names.
_SPELLING = str.maketrans("", "", " _-.")
#: How many columns a message lists.
MAX_LISTED = 12


@dataclass(frozen=True)
class Naming:
    """How columns are recognised.

    Attributes:
        columns: The table's names of columns, by our names, as specified by the user.
        ignore_unknown: Whether to skip unknown columns instead of rejecting them.
    """

    columns: Mapping[str, str] = field(default_factory=dict)
    ignore_unknown: bool = False


def parse_columns(text: str) -> dict[str, str]:
    """Parse a table's names of columns, by our names.

    >>> parse_columns("page=url,time=fetch_time")
    {'page': 'url', 'time': 'fetch_time'}
    """
    pairs = [part.partition("=") for part in text.split(",")]
    for name, sign, own in pairs:
        if not (name.strip() and sign and own.strip()):
            raise ArgumentError(
                f"columns: {quoted(text)} does not name columns; write page=url,time=fetch_time"
            )
    return {name.strip(): own.strip() for name, _, own in pairs}


class Named(Protocol):
    """A table that can report errors about its columns."""

    def error(self, problem: str, *, column: str | None = None) -> InputError:
        """Return an error that says what is wrong, and where."""
        ...


def choose_columns(
    source: Named,
    found: Sequence[str],
    layout: "Layout",
    naming: Naming,
    optional: Collection[str] = (),
) -> dict[str, str]:
    """Return the table's own names of the columns to read, by our names.

    A column is the one the user specified, else the one with our name, else the first with a name
    that other programs use. In a table of another program, further columns are skipped; in one with
    our names they are rejected, as they may be misspelt.

    Args:
        source: The table.
        found: Its columns.
        layout: Our columns.
        naming: The user's names of columns.
        optional: Columns that may be there without being read, such as those of folders.

    Raises:
        InputError: A column is missing, unknown or repeated.
    """
    known = tuple(name for name in layout.readers if not name.startswith("_"))
    _check_named(source, found, known, naming)
    chosen = dict[str, str]()
    for name in layout.readers:
        own = _own_name(name, found, layout, naming)
        if own is not None and own not in chosen.values():
            if found.count(own) > 1:
                raise source.error("the column appears more than once", column=own)
            chosen[name] = own
    unknown = [own for own in found if own not in chosen.values() and own not in optional]
    for group in layout.required:
        if not set(group) & set(chosen):
            say = f"; name it with --columns {group[0]}=NAME" if layout.aliases else ""
            if "_source" in found:
                say = "; extract the documents from Elasticsearch's response: jq -c ._source"
            raise source.error(_missing(group, found, unknown) + say)
    for name, better in layout.instead_of.items():
        if set(better) & set(chosen):
            chosen.pop(name, None)
    is_ours = not naming.columns and all(name == own for name, own in chosen.items())
    if unknown and is_ours and not naming.ignore_unknown:
        raise source.error(_unknown(unknown[0], known))
    return chosen


def _check_named(source: Named, found: Sequence[str], known: Sequence[str], naming: Naming) -> None:
    for name, own in naming.columns.items():
        if name not in known:
            raise ArgumentError(
                f"columns: there is no column '{name}'; {_listed(known, 'columns')}"
            )
        if own not in found:
            raise source.error(f"there is no column {quoted(own)}; {_listed(found, 'the columns')}")


def _own_name(name: str, found: Sequence[str], layout: "Layout", naming: Naming) -> str | None:
    if name in naming.columns:
        return naming.columns[name]
    if name in found:
        return name
    letters = {_letters(own): own for own in reversed(found)}
    # Other names are tried only in a table of another program; ours has a column "page".
    names = (name, *layout.aliases.get(name, ())) if layout.aliases else ()
    own = (letters.get(_letters(alias)) for alias in names if alias)
    return next((known for known in own if known is not None), None)


def _letters(name: str) -> str:
    """Return a name without the case and separators that programs write differently.

    >>> _letters("fetchTime") == _letters("Fetch time") == _letters("fetch_time")
    True
    """
    return name.lower().translate(_SPELLING)


def _listed(names: Sequence[str], what: str) -> str:
    shown = ", ".join(quoted(name) for name in names[:MAX_LISTED])
    more = f" and {len(names) - MAX_LISTED} more" if len(names) > MAX_LISTED else ""
    return f"{what} are {shown}{more}"


def _missing(group: Sequence[str], found: Sequence[str], unknown: Sequence[str]) -> str:
    wanted = " or ".join(f"'{name}'" for name in group)
    for name in unknown:
        if near := get_close_matches(name.lower(), group, n=1):
            return f"there is no column {wanted} (is {quoted(name)} a misspelt '{near[0]}'?)"
    return f"there is no column {wanted}; {_listed(found, 'the columns')}"


def _unknown(name: str, known: Sequence[str]) -> str:
    near = get_close_matches(name.lower(), known, n=1)
    hint = f" (did you mean '{near[0]}'?)" if near else ""
    return (
        f"the column {quoted(name)} is unknown{hint}; known columns are {', '.join(known)}, "
        "and --ignore-unknown skips all others"
    )
