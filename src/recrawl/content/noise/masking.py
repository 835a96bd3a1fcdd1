"""Mask the parts of texts and links that change although nobody edited them.

`steady_text` and `steady_link` are applied to every page, so they remove only what is never
content: changes in what they hide can never be detected. `masked` is applied only to blocks that
differed between two fetches in a row, so it can remove much more.
"""

import re
from urllib.parse import quote, unquote

from recrawl.content.noise.remembering import Remembered

# All begin with a digit, which makes the search fast. In this order:
# - ids and timestamps of twelve or more digits;
# - times with seconds, with or without a date before them: only machines write those;
# - build numbers that begin with a year, such as 2026.7.13.44191: the site was deployed again;
# - how long ago something was.
# Ids in hexadecimal, 32 digits or a UUID, may begin with a letter: they are searched separately.
_AFTER_DIGIT = (
    r"[0-9]{11,}"
    r"|[0-9]{3}-[0-9]{2}-[0-9]{2}[T ,]{1,2}[0-9]{2}:[0-9]{2}:[0-9]{2}(?:[.,][0-9]+)?"
    r"|[0-9]?:[0-9]{2}:[0-9]{2}(?:[.,][0-9]+)?(?![:0-9])"
    r"|[0-9]{3}(?:\.[0-9]{1,6}){3,}"
    r"|[0-9]{0,2}\s(?:sec(?:ond)?|min(?:ute)?|h(?:ou)?r|day|week|month|year)s?\sago\b"
)
_UNSTEADY = re.compile(f"[0-9](?:{_AFTER_DIGIT})")

# Starts with a digit too, which is fast: nearly all ids have one in their first half.
_AFTER_DIGIT_OF_ID = "[0-9a-fA-F-]{15}"
_MAY_BE_ID = re.compile(f"[0-9]{_AFTER_DIGIT_OF_ID}")
_MAY_BE_UNSTEADY = re.compile(f"[0-9](?:{_AFTER_DIGIT}|{_AFTER_DIGIT_OF_ID})")
_HEX_ID = re.compile(
    r"\b[0-9a-fA-F]{8}(?:[0-9a-fA-F]{24}|(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12})\b"
)

#: An address with nothing to remove, unless Cloudflare has encoded it.
_PLAIN = re.compile(r"(?:https?:)?/[a-zA-Z/._-]*+")
#: What may be encoded in an address although it need not be, or the other way round (RFC 3986).
_ENCODED = re.compile(r"%[0-9A-Fa-f]{2}|[^A-Za-z0-9._~!#$%&'()*+,/:;=?@-]")
_NEVER_ENCODED = re.compile(r"[A-Za-z0-9._~-]")
_SESSION_IN_PATH = re.compile(r";(?:jsessionid|sid|phpsessid)=[^?#;/]*", re.IGNORECASE)
#: Parameters for tracking, sessions, forgery tokens and cache busting.
_TRACKING = re.compile(
    r"(?:utm_\w+|gclid|fbclid|msclkid|dclid|mc_[ce]id|_ga|_gl|_hs(?:enc|mi)|igshid"
    r"|phpsessid|jsessionid|sid|s?_?session_?(?:id)?|(?=[a-z_]*?csrf)[a-z_]*+|[a-z_]*+(?<=nonce)"
    r"|(?:authenticity|request|access|auth|security|form)?_?token|cb|rnd|rand|random|cachebuster"
    r"|nocache|_|_?ts|timestamp)",
    re.IGNORECASE,
)
#: Seconds or milliseconds since 1970, in this half of the century.
_UNIX_TIME = re.compile(r"(?:1[4-9]|2[0-9])[0-9]{8}(?:[0-9]{3})?")
#: A value that is an address, and how deep addresses may be nested.
_NESTED = re.compile(r"(?:https?(?::|%3A)|/|%2F)", re.IGNORECASE)
_MAX_NESTED = 3
_MIN_RANDOM = 16
_TOKEN = re.compile(rf"[A-Za-z0-9_.~+/=%-]{{{_MIN_RANDOM},}}")
_RUN = re.compile(r"[A-Za-z0-9]{12,}")
_NUMBER = re.compile(r"[0-9]+")
_UUID = re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}", re.IGNORECASE)

_MONTHS = "jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec"
#: Months in other languages that do not start like the English ones.
_OTHER_MONTHS = (
    "février|avril|mai|juin|juillet|août|décembre|märz|oktober|dezember|enero|abril|agosto|diciembre|gennaio"
    "|maggio|giugno|luglio|settembre|ottobre|dicembre|fevereiro|março|maio|setembro|outubro|mei"
)
# Matches from the start of a word only, so that a long word is scanned once.
_WORD_WITH_DIGIT = r"(?<![\w+/=-])[\w+/=-]*?[0-9][\w+/=-]*+"
_WITHOUT_DIGIT = (
    r"\b[0-9a-fA-F]{8,}\b"
    rf"|\b(?:(?:{_MONTHS})[a-z]*|{_OTHER_MONTHS})\b|\b(?:mon|tues?|wed(?:nes)?|thu(?:rs)?|fri|sat(?:ur)?|sun)(?:day)?\b"
    r"|\b[ap]\.?m\b"
)
_VARYING = re.compile(
    rf"{_WORD_WITH_DIGIT}(?:[.,:]{_WORD_WITH_DIGIT})*|{_WITHOUT_DIGIT}", re.IGNORECASE
)
#: What varies in a text without digits, for which the search takes half the time.
_VARYING_NAME = re.compile(_WITHOUT_DIGIT, re.IGNORECASE)

# A short line with one of these, and a number, is about dates or numbers of views. In lower case,
# for which the search takes a third of the time.
_DATED = re.compile(
    rf"\b(?:(?:{_MONTHS})[a-z]*|{_OTHER_MONTHS}|(?:mon|tues?|wed(?:nes)?"
    r"|thu(?:rs)?|fri|sat(?:ur)?|sun)(?:day)?|\d{4}[-/.]\d{1,2}[-/.]\d{1,2}"
    r"|\d{1,2}[-/.]\d{1,2}[-/.]\d{2,4}|\d{1,2}:\d{2}|ago|today|yesterday"
    r"|views?|viewed|visits?|visitors?|reads?|likes?|shares?|comments?|replies|followers?"
    r"|subscribers?|members?|online|downloads?|votes?|points?)\b"
)

# Outside the text of a page, so is a line with the year of a copyright, a build number such as
# 1.259.0.329, or a number of thousands that is not a price: numbers of offers, reviews or people.
_COUNTED = re.compile(
    r"©|\(c\)|\bcopyright\b|\b\d+(?:\.\d+){3,}\b|\b\d{1,3}(?:[.,\s'’]\d{3})+\b(?![.,]\d)",
    re.IGNORECASE,
)
_PRICED = re.compile(r"[$€£¥₹%]|\b(?:eur|usd|gbp|chf|sek|nok|dkk|pln|kr|zł)\b", re.IGNORECASE)
#: Such a line is at most this long.
_SHORT = 200


def steady_text(text: str) -> str:
    """Mask what is never content.

    >>> steady_text("Seen 3 minutes ago, at 12:34:56; rev 2026.7.13.44191")
    'Seen #, at #; rev #'
    >>> steady_text("Version 2.3.1 of 13 July 2026, 10:30, costs 1,299.00; call 0123 456789")
    'Version 2.3.1 of 13 July 2026, 10:30, costs 1,299.00; call 0123 456789'
    >>> steady_text("This is the Trace Id: 3b2c4ce62b636a1ef9f648cc07468687")
    'This is the Trace Id: #'
    """
    if not _MAY_BE_UNSTEADY.search(text):
        return text
    text = _UNSTEADY.sub("#", text)
    return _HEX_ID.sub("#", text) if _MAY_BE_ID.search(text) else text


def steady_link(href: str, depth: int = 0) -> str:
    """Remove the parts of an address that do not determine where it leads.

    Args:
        href: The address.
        depth: How many addresses it is nested in.

    >>> steady_link("/a?utm_source=x&page=2&s=Zx81kQ02mmP19sKd77aQ")
    '/a?page=2'
    >>> steady_link("/a;jsessionid=8F2A?next=https://example.org/b")
    '/a?next=https://example.org/b'
    >>> steady_link("/cdn-cgi/l/email-protection#1f7e")
    'mailto:'
    >>> steady_link("/files/7c9e6679-7425-40de-944b-e07fc1f90ae7/a.pdf?b=1&a=2#4f8Kd02mmP19sKd7")
    '/files/#/a.pdf?a=2&b=1'
    >>> steady_link("/%7euser/[x]?q=a%2fb"), steady_link("/~user/%5Bx%5d?q=a%2Fb")
    ('/~user/%5Bx%5D?q=a%2Fb', '/~user/%5Bx%5D?q=a%2Fb')
    >>> steady_link("/login?at=1770208491&to=https%3A%2F%2Fe.org%2F%3Fy%3D2%26utm_id%3D7%26x%3D1")
    '/login?to=https://e.org/?x=1&y=2'
    """
    if _PLAIN.fullmatch(href) and "cdn-cgi" not in href:
        return href
    href = "".join(href.split())
    if "cdn-cgi/l/email-protection" in href:
        # Cloudflare encodes an e-mail address differently at every request.
        return "mailto:"
    if href[:11].lower() == "javascript:":
        return "javascript:"
    href = _ENCODED.sub(_encoded, href)
    if ";" in href:
        href = _SESSION_IN_PATH.sub("", href)
    rest, hash_mark, fragment = href.partition("#")
    address, mark, query = rest.partition("?")
    if len(address) >= _MIN_RANDOM and _NUMBER.search(address):
        address = "/".join("#" if is_random(part) else part for part in address.split("/"))
    if mark:
        # In any order: some servers shuffle them.
        pairs = sorted(filter(None, (_steady_pair(pair, depth) for pair in query.split("&"))))
        mark, query = (mark, "&".join(pairs)) if pairs else ("", "")
    if is_random(fragment):
        hash_mark = fragment = ""
    return address + mark + query + hash_mark + fragment


def _encoded(character: re.Match[str]) -> str:
    """Return a character of an address, encoded only if it has to be."""
    written = character[0]
    if written[0] != "%":
        return quote(written, errors="replace")
    meant = unquote(written)
    # Anything else means something else if it is not encoded, such as "/" and "&".
    return meant if _NEVER_ENCODED.fullmatch(meant) else written.upper()


def _steady_pair(pair: str, depth: int) -> str:
    """Return a parameter of a query; an empty string if it does not determine where it leads."""
    name, mark, value = pair.partition("=")
    if _TRACKING.fullmatch(name) or _UNIX_TIME.fullmatch(value) or is_random(value):
        return ""
    if depth < _MAX_NESTED and _NESTED.match(value):
        return f"{name}{mark}{steady_link(unquote(value), depth + 1)}"
    return pair


def is_random(value: str) -> bool:
    """Whether a value looks random: long, with alternating letters and digits, or only digits.

    >>> is_random("AUAvAsObZ45W4CUo8OFfcu0AkTq"), is_random("1772800284821358")
    (True, True)
    >>> is_random("my-summer-of-2026-in-words"), is_random("internationalisation2")
    (False, False)
    """
    if len(value) < _MIN_RANDOM or not _TOKEN.fullmatch(value):
        return False
    if _UUID.search(value):
        return True
    return any(run.isdigit() or len(_NUMBER.findall(run)) > 1 for run in _RUN.findall(value))


def masked(text: str) -> str:
    """Mask anything that may vary: numbers, words with digits, months and days of the week.

    >>> masked("Generated Mon, 16 Nov 2026 02:57 in 3.2 ms for a81f-22c")
    'Generated #, # # # # in # ms for #'
    """
    return _MASKED[text]


def _mask(text: str) -> str:
    return (_VARYING if _NUMBER.search(text) else _VARYING_NAME).sub("#", text)


def is_dated(text: str) -> bool:
    """Whether a line is about dates, or about numbers of views.

    >>> is_dated("Last updated: 2 June"), is_dated("11,493 subscribers"), is_dated("Price: 12")
    (True, True, False)
    """
    return _DATED.search(text.lower()) is not None


def is_incidental(text: str) -> bool:
    """Whether a line outside the text of a page may change by itself, except for its words.

    >>> is_incidental("© 2026 Example"), is_incidental("4,5 of 5 in 40.615 reviews")
    (True, True)
    >>> is_incidental("Only 1,299 €"), is_incidental("Room 12")
    (False, False)
    """
    return len(text) <= _SHORT and _INCIDENTAL[text]


def _changes_by_itself(line: str) -> bool:
    if not _NUMBER.search(line):
        return False
    return is_dated(line) or (_COUNTED.search(line) is not None and _PRICED.search(line) is None)


_MASKED, _INCIDENTAL = Remembered(_mask), Remembered(_changes_by_itself)
