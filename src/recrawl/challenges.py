"""Recognise bot challenges and block pages, which stand in for a page, whatever their status.

Only marks that vendors put into nothing else count: not a widget, a cookie or a script that pages
they let through have too, such as Turnstile's.
"""

import re
from collections.abc import Iterable

#: The beginning of the error of a visit that got a challenge; who sent it follows.
CHALLENGED = "a challenge instead of the page"
#: Bytes of a body that are searched; challenges are short, and their scripts come first.
SCANNED = 65_536

#: Headers of challenges, with their values.
_HEADERS = {
    "cf-mitigated": ({"challenge"}, "Cloudflare"),
    "x-amzn-waf-action": ({"challenge", "captcha"}, "AWS WAF"),
    "x-vercel-mitigated": ({"challenge", "deny"}, "Vercel"),
    # Whether a request was blocked; others carry x-datadome alone.
    "x-dd-b": ({"1", "2"}, "DataDome"),
}
#: Names in the scripts of challenges.
_SCRIPTS = (
    (b"_cf_chl_opt", "Cloudflare"),
    (b"sucuri_cloudproxy_js", "Sucuri"),
    (b"/_sec/verify?provider=interstitial", "Akamai"),
)
#: Texts of which a challenge has all, the rarest first.
_TEXTS = (
    ((b'<script id="anubis_challenge"',), "Anubis"),
    ((b'id="px-captcha"', b"_pxAppId"), "HUMAN"),
    ((b".captcha-delivery.com/", b"var dd="), "DataDome"),
)
#: A frame with the reason, or a script with two keys; the script of other pages has one.
_INCAPSULA = re.compile(
    rb'<(?:iframe|script)\b[^<>]{0,300}\bsrc="/_Incapsula_Resource\?'
    rb"(?:CWUDNSAI=|SWJIYLWA=[0-9a-f]{1,64},[0-9a-f])"
)


def challenge_in_headers(headers: Iterable[tuple[str, str]]) -> str | None:
    """Return the error of a response whose headers say that it is a challenge; None for others.

    >>> challenge_in_headers([("CF-Mitigated", "challenge")])
    'a challenge instead of the page: Cloudflare'
    >>> challenge_in_headers([("server", "cloudflare"), ("cf-ray", "8c1")])
    """
    for name, value in headers:
        known = _HEADERS.get(name.lower())
        if known is not None and value.strip().lower() in known[0]:
            return f"{CHALLENGED}: {known[1]}"
    return None


def challenge_in_body(body: bytes) -> str | None:
    """Return the error of a response whose body, in HTML, is a challenge; None for others.

    A text about challenges is none: their names count only in a script, or as markup.

    >>> challenge_in_body(b"<title>Just a moment...</title><script>window._cf_chl_opt={}</script>")
    'a challenge instead of the page: Cloudflare'
    >>> challenge_in_body(b"<script>x()</script><p>It sets <code>_cf_chl_opt</code>.")
    """
    start = body[:SCANNED]
    for name, vendor in _SCRIPTS:
        at = start.find(name)
        if at >= 0 and start.rfind(b"<script", 0, at) > start.rfind(b"</script", 0, at):
            return f"{CHALLENGED}: {vendor}"
    for texts, vendor in _TEXTS:
        if all(text in start for text in texts):
            return f"{CHALLENGED}: {vendor}"
    if b"/_Incapsula_Resource?" in start and _INCAPSULA.search(start):
        return f"{CHALLENGED}: Imperva"
    return None


def is_challenge(error: str | None) -> bool:
    """Whether the error of a visit is that of a challenge."""
    return error is not None and error.startswith(CHALLENGED)
