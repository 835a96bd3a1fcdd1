"""Budget and settings: what another budget would buy, and what is set."""

from typing import Annotated, Any

from fastapi import APIRouter, Query

from recrawl.crawler.secrets import COMMANDS, Secret, without_arguments
from recrawl.crawler.settings import FIELDS
from recrawl.service.api.needs import TheService, needs
from recrawl.service.auth import Access
from recrawl.service.budget_models import (
    MAX_BUDGET,
    MIN_BUDGET,
    BudgetIn,
    BudgetOut,
    PlanOut,
    PlanPoint,
    SettingOut,
    SettingsOut,
)

router = APIRouter(tags=["budget and settings"])

#: The budgets of a plan by default, as multiples of the present one.
MULTIPLES = (0.25, 0.5, 1.0, 2.0, 4.0)

Budget = Annotated[float, Query(ge=MIN_BUDGET, le=MAX_BUDGET, allow_inf_nan=False)]


@router.get("/plan", dependencies=[needs(Access.READ)])
async def plan_budget(
    service: TheService,
    budget: Annotated[
        list[Budget] | None,
        Query(
            max_length=50,
            description="Requests per day; by default, multiples of the present budget.",
            examples=[[1000, 2000]],
        ),
    ] = None,
) -> PlanOut:
    """Show how fresh the copies would be with other budgets, by what is believed now."""
    now = service.stats.budget
    budgets = budget or [factor * now for factor in MULTIPLES]
    fresh = await service.plan([now, *budgets])
    points = [
        PlanPoint(budget=one, freshness=share)
        for one, share in zip(budgets, fresh[1:], strict=True)
    ]
    return PlanOut(now=PlanPoint(budget=now, freshness=fresh[0]), plan=points)


@router.put("/budget", dependencies=[needs(Access.ADMIN)])
async def change_budget(service: TheService, budget: BudgetIn) -> BudgetOut:
    """Change the budget until the process ends; the settings are what it begins with."""
    await service.set_budget(budget.budget)
    return BudgetOut(budget=service.stats.budget)


@router.get("/settings", dependencies=[needs(Access.ADMIN)])
async def show_settings(service: TheService) -> SettingsOut:
    """Show the settings; secrets are masked."""
    shown = [
        SettingOut(
            name=name,
            value=_shown(name, getattr(service.settings, name)),
            unit=described.metadata["kind"].unit,
            kind=described.metadata["kind"].name,
            meaning=described.metadata["meaning"],
        )
        for name, described in FIELDS.items()
    ]
    return SettingsOut(settings=shown)


def _shown(name: str, value: Any) -> str | float | bool | list[str] | None:  # noqa: ANN401
    """Return the value of a setting without what is secret in it."""
    if name in COMMANDS:
        return without_arguments(value)
    if value is None or isinstance(value, str | float | int):
        return value
    return str(value) if isinstance(value, Secret) else [str(one) for one in value]
