"""The settings in effect, without secrets, and who may use the service."""

from collections.abc import Callable
from typing import Any

from fastapi import APIRouter, Request
from fastapi.responses import Response

from recrawl.config.kinds import DURATION, PROXY, RATE, SECONDS, SIZE, Kind
from recrawl.config.secrets import COMMANDS, without_arguments
from recrawl.config.settings import FIELDS, Settings
from recrawl.config.site_tables import shown_proxy
from recrawl.service.api.dependencies import TheService, needs
from recrawl.service.auth.tokens import Access
from recrawl.service.dashboard.html_route import HtmlRoute
from recrawl.service.dashboard.rendering import NONE, period, render, size
from recrawl.store.sqlite import SqliteStore
from recrawl.units import format_duration, write_rate

router = APIRouter(
    include_in_schema=False, route_class=HtmlRoute, dependencies=[needs(Access.ADMIN)]
)


@router.get("/settings", response_class=Response)
async def settings(request: Request, service: TheService) -> Response:
    """Show the settings."""
    tokens = await service.read(_tokens)
    return render(
        request,
        "settings.html",
        rows=[_row(service.settings, name) for name in FIELDS],
        tables=sorted(service.settings.sites.sections, key=lambda section: section.order),
        tokens=tokens,
    )


def _tokens(store: SqliteStore) -> list[tuple[str, str, int]]:
    return [(token.name, token.access, token.created_at) for token in store.service.tokens()]


def _row(settings: Settings, name: str) -> dict[str, Any]:
    described = FIELDS[name].metadata
    value = getattr(settings, name)
    return {
        "name": name,
        "value": shown(name, described["kind"], value),
        "is_default": value == FIELDS[name].default,
        "meaning": described["meaning"],
    }


def _lines(value: Any) -> str:  # noqa: ANN401 - whatever a setting has
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, tuple):
        return "\n".join(map(str, value))
    return f"{value:,}" if isinstance(value, int) else str(value)


#: How values are written, by their kind.
WRITTEN: dict[Kind, Callable[[Any], str]] = {
    PROXY: shown_proxy,
    RATE: lambda value: write_rate(value) if value else "no limit",
    SECONDS: period,
    DURATION: lambda value: format_duration(value) if value else "0",
    SIZE: size,
}


def shown(name: str, kind: Kind, value: Any) -> str:  # noqa: ANN401 - whatever a setting has
    """Return the value of a setting as people read it; secrets are masked.

    >>> shown("budget", RATE, 7200.0), shown("on_change", SIZE, "notify --key 1234")
    ('5/min', 'notify ••••')
    """
    if name in COMMANDS:
        return without_arguments(str(value)) or NONE
    return WRITTEN.get(kind, _lines)(value) or NONE
