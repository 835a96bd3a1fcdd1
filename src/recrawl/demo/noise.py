"""What some pages show anew at every fetch: a clock, a token, a timing, an advert."""

import hashlib
from datetime import UTC, datetime

from recrawl.demo.sites import Noise
from recrawl.demo.words import ADVERTS


def noise(kind: Noise, fetch: int, now: float) -> bytes:
    """Write a noise, other than at the fetch before.

    Args:
        kind: Which.
        fetch: How often the page was fetched before.
        now: Unix seconds.

    >>> noise(Noise.TIMING, 0, 0.0), noise(Noise.TIMING, 1, 0.0)
    (b'<p>Generated in 1.2 ms</p>', b'<p>Generated in 4.9 ms</p>')
    """
    match kind:
        case Noise.CLOCK:
            clock = datetime.fromtimestamp(now, UTC).isoformat(" ", "milliseconds")[:-6]
            text = f'<p class="clock">Served at {clock}</p>'
        case Noise.TIMING:
            text = f"<p>Generated in {(12 + 37 * fetch % 83) / 10} ms</p>"
        case Noise.ADVERT:
            said, path = ADVERTS[fetch % len(ADVERTS)]
            text = f'<div class="advert"><a href="{path}">{said}</a></div>'
        case Noise.TOKEN:
            token = hashlib.blake2b(f"{fetch} {now}".encode(), digest_size=16).hexdigest()
            text = (
                f'<form action="/subscribe" method="post">'
                f'<input type="hidden" name="csrf" value="{token}">'
                f'<button>Subscribe</button></form> <a href="/account?session={token}">Sign in</a>'
            )
    return text.encode()
