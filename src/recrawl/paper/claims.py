"""The claims of all parts together: in the paper's order, and counted by verdict."""

from collections.abc import Iterable, Mapping

from recrawl.paper.section import Claim, Section, Verdict

#: How a number of claims is said, by their verdict: of one, and of several.
COUNTED: Mapping[Verdict, tuple[str, str]] = {
    "holds": ("holds", "hold"),
    "holds with a remark": ("holds with a remark", "hold with a remark"),
    "does not hold": ("does not hold", "do not hold"),
}


def claims_of(sections: Iterable[Section]) -> list[Claim]:
    """Give the claims of all parts in the order of the places they have in the paper."""
    claims = [claim for section in sections for claim in section.claims]
    return sorted(claims, key=lambda claim: claim.place)


def counted(claims: Iterable[Claim]) -> str:
    """Say how many claims there are, and how they turned out.

    >>> ones = [Claim("3.1", "", "", "holds"), Claim("3.2", "", "", "does not hold")]
    >>> counted([*ones, Claim("5", "", "", "holds")])
    '3 claims: 2 hold, 1 does not hold'
    >>> counted([])
    'no claims'
    """
    verdicts = [claim.verdict for claim in claims]
    if not verdicts:
        return "no claims"
    told = [
        f"{verdicts.count(verdict)} {one if verdicts.count(verdict) == 1 else several}"
        for verdict, (one, several) in COUNTED.items()
        if verdict in verdicts
    ]
    return f"{len(verdicts)} claim{'s' * (len(verdicts) > 1)}: {', '.join(told)}"
