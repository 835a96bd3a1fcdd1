"""Notifications from sites about their pages, and their receivers."""

from dataclasses import dataclass, field
from typing import final

from recrawl.service.auth.rate_limits import Bodies
from recrawl.service.push.indexnow import IndexNow
from recrawl.service.push.pushes import Pushes
from recrawl.service.push.websub import WebSub


@final
@dataclass(frozen=True)
class Incoming:
    """The receivers of notifications from sites.

    Attributes:
        pushes: Where it all goes.
        indexnow: Takes what sites submit; None if that is off.
        websub: Takes what hubs say of feeds; None if that is off.
        bodies: Reads what strangers send.
    """

    pushes: Pushes
    indexnow: IndexNow | None = None
    websub: WebSub | None = None
    bodies: Bodies = field(default_factory=Bodies)
