"""The budget: what it is spent on, and what another one would buy."""

from dataclasses import dataclass
from http import HTTPStatus
from typing import Annotated, Any

import numpy as np
from fastapi import APIRouter, Form, Query, Request
from fastapi.responses import RedirectResponse, Response

from recrawl.errors import ArgumentError
from recrawl.service.api.dependencies import TheService, needs
from recrawl.service.auth.tokens import Access
from recrawl.service.dashboard.charts import marks
from recrawl.service.dashboard.forms import OwnForm
from recrawl.service.dashboard.html_route import HtmlRoute
from recrawl.service.dashboard.overview import shares
from recrawl.service.dashboard.rendering import render
from recrawl.service.models.budget import MAX_BUDGET, MIN_BUDGET
from recrawl.service.service import Service
from recrawl.units import parse_rate

router = APIRouter(
    include_in_schema=False, route_class=HtmlRoute, dependencies=[needs(Access.READ)]
)

MAX_TEXT = 40
#: Multiples of the budget that are always shown.
MULTIPLES = ((0.5, "Half the budget"), (2.0, "Twice the budget"), (10.0, "Ten times the budget"))
QUESTION = "Your question"
#: The curve spans a hundredth to thirty times the budget.
BELOW, ABOVE, PER_DECADE = -2.0, 1.5, 4
DONE = "The budget is changed for as long as the process runs; the settings stay the same."


@dataclass(frozen=True)
class Curve:
    """The best freshness for each budget, in the long run, at the estimated change rates.

    Attributes:
        budgets: Requests per day, ascending.
        freshness: The best freshness for each.
        present: The best freshness with the current budget.
        answers: Name, requests per day and best freshness of the budgets in question.
    """

    budgets: list[float]
    freshness: list[float]
    present: float
    answers: list[tuple[str, float, float]]


@router.get("/budget", response_class=Response)
async def budget(
    request: Request,
    service: TheService,
    wanted: Annotated[str, Query(max_length=MAX_TEXT, alias="budget")] = "",
    done: Annotated[str, Query(max_length=MAX_TEXT)] = "",
) -> Response:
    """Show what the budget achieves, and what others would."""
    status = await service.status()
    asked = parse_budget(wanted) if wanted.strip() else None
    curve = await _curve(service, status.budget, asked) if status.pages else None
    return render(
        request,
        "budget.html",
        status=status,
        curve=curve,
        drawn=None if curve is None else _drawn(curve, status.budget, asked),
        question=QUESTION,
        wanted=wanted,
        outcomes=shares(status.last_day.outcomes),
        done=DONE if done else "",
    )


@router.post("/budget", dependencies=[needs(Access.ADMIN), OwnForm], response_class=Response)
async def set_budget(
    service: TheService, wanted: Annotated[str, Form(max_length=MAX_TEXT, alias="budget")]
) -> Response:
    """Change the budget for as long as the process runs."""
    await service.set_budget(parse_budget(wanted))
    return RedirectResponse("/budget?done=budget", HTTPStatus.SEE_OTHER)


def parse_budget(text: str) -> float:
    """Parse text into requests per day.

    Raises:
        ArgumentError: It is not a rate, or not one that a crawl can have.

    >>> parse_budget("2/s")
    172800.0
    """
    budget = parse_rate(text)
    if not MIN_BUDGET <= budget <= MAX_BUDGET:
        raise ArgumentError(f"budget: {text} is not between {MIN_BUDGET:g} and {MAX_BUDGET:g}/day")
    return budget


async def _curve(service: Service, present: float, asked: float | None) -> Curve:
    steps = range(round(BELOW * PER_DECADE), round(ABOVE * PER_DECADE) + 1)
    budgets = [present * 10.0 ** (step / PER_DECADE) for step in steps]
    rows = [(name, present * factor) for factor, name in MULTIPLES]
    if asked is not None:
        rows.insert(0, (QUESTION, asked))
    others = [visits for _, visits in rows]
    best, *fresh = await service.plan([present, *others, *budgets])
    answers = [(name, at, share) for (name, at), share in zip(rows, fresh, strict=False)]
    return Curve(budgets, fresh[len(rows) :], best, answers)


def _drawn(curve: Curve, present: float, asked: float | None) -> dict[str, Any]:
    """Return the curve for drawing: requests per day and percent."""
    points = [["now", present, round(100 * curve.present, 3)]]
    if asked is not None:
        points.append(["asked", asked, round(100 * curve.answers[0][2], 3)])
    return {
        "x": [float(f"{one:.6g}") for one in curve.budgets],
        "freshness": [round(100 * one, 3) for one in curve.freshness],
        "points": points,
        "marks": marks(np.array(curve.budgets)),
    }
