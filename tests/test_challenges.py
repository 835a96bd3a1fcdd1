"""Challenges and block pages are told from pages, and from pages about them."""

import pytest

from recrawl.challenges import challenge_in_body, challenge_in_headers

HASH = "5074a744e2e3d891814e9a2dace20bd4"

CHALLENGES = {
    "Cloudflare": """<!DOCTYPE html><html lang="en-US"><head><title>Just a moment...</title>
        <meta name="robots" content="noindex,nofollow"></head><body><noscript>Enable JavaScript and
        cookies to continue</noscript><script>(function(){window._cf_chl_opt = {cvId: '3', cType:
        'managed'};var a = document.createElement('script');}());</script></body></html>""",
    "Anubis": """<!doctype html><title>Making sure you&#39;re not a bot!</title>
        <script id="anubis_version" type="application/json">"v1.19"</script>
        <script id="anubis_challenge" type="application/json">{"challenge":"ab"}</script>""",
    "HUMAN": """<title>Access to this page has been denied.</title><script>
        window._pxAppId = 'PXabc';</script><div id="px-captcha"></div>""",
    "DataDome": """<title>shop.example</title><p id="cmsg">Please enable JS and disable any ad
        blocker</p><script>var dd={'rt':'c','host':'geo.captcha-delivery.com'}</script>
        <script src="https://ct.captcha-delivery.com/c.js"></script>""",
    "Imperva": """<iframe id="main-iframe" src="/_Incapsula_Resource?CWUDNSAI=9&incident_id=1"
        frameborder=0>Request unsuccessful. Incapsula incident ID: 1</iframe>""",
    "Akamai": """<meta http-equiv="refresh" content="5; URL='/?bm-verify=AAQ'"/><script>var x = new
        XMLHttpRequest(); x.open("POST", "/_sec/verify?provider=interstitial", false);</script>""",
    "Sucuri": """<title>You are being redirected...</title><script>var s={},u,c,U,r,i,l=0,a,e=eval,
        w=String.fromCharCode,sucuri_cloudproxy_js='';</script>""",
}


@pytest.mark.parametrize("vendor", CHALLENGES)
def test_challenges_are_recognised_by_their_markup(vendor: str) -> None:
    found = challenge_in_body(CHALLENGES[vendor].encode())
    assert found == f"a challenge instead of the page: {vendor}"


def test_imperva_has_two_kinds() -> None:
    script = f'<script src="/_Incapsula_Resource?SWJIYLWA={HASH},{HASH}"></script>'
    assert challenge_in_body(script.encode()) == "a challenge instead of the page: Imperva"


@pytest.mark.parametrize(
    "page",
    [
        # A widget in a form.
        '<script src="https://challenges.cloudflare.com/turnstile/v0/api.js"></script>',
        '<form><div class="cf-turnstile"></div></form>',
        # What Cloudflare, Imperva, HUMAN and DataDome add to pages that they let through.
        '<script src="/cdn-cgi/challenge-platform/scripts/jsd/main.js"></script>',
        f'<script src="/_Incapsula_Resource?SWJIYLWA={HASH}&ns=2&cb=1"></script>',
        "<script>window._pxAppId = 'PXabc';</script>",
        '<script src="https://js.datadome.co/tags.js"></script>',
        # Pages about challenges.
        "<script>track()</script><p>The page sets <code>window._cf_chl_opt = {}</code>.",
        '<pre>&lt;script id="anubis_challenge" type="application/json"&gt;</pre>',
        '<pre>&lt;iframe src="/_Incapsula_Resource?CWUDNSAI=9"&gt;</pre>',
        "<title>Just a moment...</title><p>Verify you are human: a history of the captcha.",
    ],
)
def test_pages_are_no_challenges(page: str) -> None:
    assert challenge_in_body(page.encode()) is None


@pytest.mark.parametrize(
    ("name", "value", "vendor"),
    [
        ("cf-mitigated", "challenge", "Cloudflare"),
        ("X-AMZN-WAF-Action", "challenge", "AWS WAF"),
        ("x-amzn-waf-action", "captcha", "AWS WAF"),
        ("x-vercel-mitigated", "challenge", "Vercel"),
        ("x-dd-b", "1", "DataDome"),
        ("cf-cache-status", "challenge", None),
        ("x-datadome", "protected", None),
        ("x-iinfo", "21-1-2 NNYN", None),
        ("server", "cloudflare", None),
    ],
)
def test_headers_say_what_is_a_challenge(name: str, value: str, vendor: str | None) -> None:
    found = challenge_in_headers([("Date", "today"), (name, value)])
    assert found == (vendor and f"a challenge instead of the page: {vendor}")
