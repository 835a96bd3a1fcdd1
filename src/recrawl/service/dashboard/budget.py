"""The budget: what it is spent on, and what another one would buy."""

import asyncio
from http import HTTPStatus
from typing import Annotated, Any

from fastapi import APIRouter, Form, Query, Request
from fastapi.responses import RedirectResponse, Response

from recrawl.records import SECONDS_A_DAY
from recrawl.service.api.needs import TheService, needs
from recrawl.service.auth import Access
from recrawl.service.dashboard.forms import OwnForm
from recrawl.service.dashboard.html_route import HtmlRoute
from recrawl.service.dashboard.overview import shares
from recrawl.service.dashboard.rendering import render
from recrawl.service.dashboard.what_if import WhatIf, what_if
from recrawl.units import format_rate, parse_rate

router = APIRouter(
    include_in_schema=False, route_class=HtmlRoute, dependencies=[needs(Access.READ)]
)

MAX_TEXT = 40
#: What is answered by itself: these multiples of the budget.
MULTIPLES = ((0.5, "Half the budget"), (2.0, "Twice the budget"), (10.0, "Ten times the budget"))
DONE = "The budget is changed, until the process ends; the settings are as they were."


@router.get("/budget", response_class=Response)
async def budget(
    request: Request,
    service: TheService,
    wanted: Annotated[str, Query(max_length=MAX_TEXT, alias="budget")] = "",
    done: Annotated[str, Query(max_length=MAX_TEXT)] = "",
) -> Response:
    """Show what the budget brings, and what others would."""
    status = await service.status()
    present = status.budget
    asked = parse_rate(wanted) if wanted.strip() else None
    budgets = [present, *(present * factor for factor, _ in MULTIPLES)]
    columns = await service.read(service.index.columns)
    found = await asyncio.to_thread(
        what_if, columns, present, *budgets, *([] if asked is None else [asked])
    )
    return render(
        request,
        "budget.html",
        status=status,
        present=format_rate(present),
        allowed=present / SECONDS_A_DAY,
        found=found,
        curve=None if found is None else _curve(found, present, asked),
        answers=[] if found is None else _answers(found, present, asked),
        wanted=wanted,
        outcomes=shares(status.last_day.outcomes),
        done=DONE if done else "",
    )


@router.post("/budget", dependencies=[needs(Access.ADMIN), OwnForm], response_class=Response)
async def set_budget(
    service: TheService, wanted: Annotated[str, Form(max_length=MAX_TEXT, alias="budget")]
) -> Response:
    """Change the budget until the process ends."""
    await service.set_budget(parse_rate(wanted))
    return RedirectResponse("/budget?done=budget", HTTPStatus.SEE_OTHER)


def _curve(found: WhatIf, present: float, asked: float | None) -> dict[str, Any]:
    """Return the curve as it is drawn: visits per day and percent."""
    points = [("present", present)] if asked is None else [("present", present), ("asked", asked)]
    return {
        "x": [float(f"{one:.6g}") for one in found.budgets.tolist()],
        "freshness": [round(100 * one, 3) for one in found.freshness.tolist()],
        "points": [[name, at, round(100 * found.asked[at], 3)] for name, at in points],
        "marks": [[at, format_rate(at)] for at in found.budgets.tolist()[::8]],
    }


def _answers(found: WhatIf, present: float, asked: float | None) -> list[dict[str, Any]]:
    """Return what other budgets would bring, compared with the present one."""
    now = found.asked[present]
    rows = [(name, present * factor) for factor, name in MULTIPLES]
    if asked is not None:
        rows.insert(0, ("Your question", asked))
    return [
        {
            "name": name,
            "budget": format_rate(visits),
            "freshness": found.asked[visits],
            "points": 100 * (found.asked[visits] - now),
            "is_asked": name == "Your question",
        }
        for name, visits in rows
        if visits in found.asked
    ]
