"""Messages to webhooks: their contents, their signatures, and the backoff after a failure.

Signatures are those of Standard Webhooks (https://www.standardwebhooks.com/).
"""

import base64
import binascii
import hashlib
import hmac
import json
import secrets
from collections.abc import Mapping
from typing import Any, NamedTuple

from recrawl.errors import ArgumentError
from recrawl.store.changes import Cursor, PageChange, change_object
from recrawl.store.webhooks import Message, Webhook
from recrawl.units import format_time

#: The prefix of a secret, and how many random bytes follow.
PREFIX, SECRET_BYTES = "whsec_", 32


class Backoff(NamedTuple):
    """Exponential backoff.

    Attributes:
        first: Seconds after the first failure.
        factor: How many times as long after each further one.
        maximum: The maximum seconds.
    """

    first: float
    factor: float
    maximum: float

    def seconds(self, failures: int, jitter: float) -> float:
        """Return how long to wait after a number of failures.

        Args:
            failures: Failures in a row.
            jitter: From 0 to 1, at random, so that messages that failed together are not tried
                together: the wait is between half of the usual one and all of it.

        >>> Backoff(1.0, 2.0, 300.0).seconds(3, jitter=1.0)
        4.0
        """
        # A power of this size is above any maximum, and still finite.
        waited = self.first * self.factor ** min(max(failures - 1, 0), 64)
        return min(waited, self.maximum) * (0.5 + jitter / 2)


def new_secret() -> str:
    """Return a new secret."""
    return PREFIX + base64.b64encode(secrets.token_bytes(SECRET_BYTES)).decode()


def signed(secret: str, message: str, at: int, body: bytes) -> Mapping[str, str]:
    """Return the headers of a message.

    Args:
        secret: The webhook's secret.
        message: The id of the message.
        at: When it is sent, in seconds since 1970.
        body: What is sent.

    Raises:
        ArgumentError: The secret is malformed.

    >>> secret = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"
    >>> signed(secret, "msg_1", 1614265330, b"{}")["webhook-signature"]
    'v1,ZztYR0IIDCBCUcYzh8ZE+qsQWpIgtHU7R1hpe8htaD4='
    """
    try:
        key = base64.b64decode(secret.removeprefix(PREFIX), validate=True)
    except binascii.Error:
        raise ArgumentError("the secret of a webhook is damaged") from None
    content = b"%s.%d.%s" % (message.encode(), at, body)
    digest = hmac.new(key, content, hashlib.sha256).digest()
    return {
        "Content-Type": "application/json",
        "webhook-id": message,
        "webhook-timestamp": str(at),
        "webhook-signature": f"v1,{base64.b64encode(digest).decode()}",
    }


def change_message(hook: Webhook, change: PageChange) -> Message:
    """Return the message about a change."""
    kind = f"page.{change.kind.name.lower()}"
    # With its time, as a store restored from a backup assigns the same serials again.
    name = f"msg_{hook.key}_{str(change.cursor).replace('.', '_')}_{change.at}"
    body = _body(kind, change.at, change_object(change))
    return Message(change.cursor, change.page, change.url, name, body)


def missed_message(hook: Webhook, at: int) -> Message:
    """Return the message saying that changes were dropped before they could be sent."""
    data = {"missed": hook.missed, "cursor": str(hook.cursor)}
    name = f"msg_{hook.key}_{hook.cursor.serial}_missed_{hook.missed}"
    return Message(hook.cursor, -1, "", name, _body("changes.missed", at, data))


def trial_message(hook: Webhook, at: int) -> Message:
    """Return a test message."""
    name = f"msg_{hook.key}_test_{at}"
    return Message(Cursor(0), -1, "", name, _body("webhook.test", at, {"webhook": hook.number}))


def _body(kind: str, at: int, data: Mapping[str, Any]) -> bytes:
    return json.dumps({"type": kind, "timestamp": format_time(at), "data": data}).encode()
