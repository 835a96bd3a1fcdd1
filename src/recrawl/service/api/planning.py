"""Budget and settings: what another budget would buy, and the current settings."""

from typing import Annotated, Any

from fastapi import APIRouter, Query

from recrawl.config.secrets import COMMANDS, Secret, without_arguments
from recrawl.config.settings import FIELDS
from recrawl.service.api.dependencies import TheService, needs
from recrawl.service.auth.tokens import Access
from recrawl.service.models.budget import (
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

#: The default budgets of a plan, as multiples of the current one.
MULTIPLES = (0.25, 0.5, 1.0, 2.0, 4.0)

Budget = Annotated[float, Query(ge=MIN_BUDGET, le=MAX_BUDGET, allow_inf_nan=False)]


@router.get("/plan", dependencies=[needs(Access.READ)])
async def plan_budget(
    service: TheService,
    budget: Annotated[
        list[Budget] | None,
        Query(
            max_length=50,
            description="Requests per day; by default, multiples of the current budget.",
            examples=[[1000, 2000]],
        ),
    ] = None,
) -> PlanOut:
    """Show how fresh the copies would be with other budgets, at the current estimates."""
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
    """Change the budget for as long as the process runs; the next start uses the settings."""
    await service.set_budget(budget.budget)
    return BudgetOut(budget=service.stats.budget)


@router.get("/settings", dependencies=[needs(Access.ADMIN)])
async def show_settings(service: TheService) -> SettingsOut:
    """Show the settings, with secrets masked."""
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
    """Return the value of a setting, without secrets."""
    if name in COMMANDS:
        return without_arguments(value)
    if value is None or isinstance(value, str | float | int):
        return value
    return str(value) if isinstance(value, Secret) else [str(one) for one in value]
