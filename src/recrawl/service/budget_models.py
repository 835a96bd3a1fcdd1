"""What the API takes and returns about budgets and settings."""

from pydantic import BaseModel, Field

from recrawl.service.bodies import Body

MIN_BUDGET, MAX_BUDGET = 1e-3, 1e9


class PlanPoint(BaseModel):
    """What a budget leads to."""

    budget: float = Field(description="Requests per day.", examples=[2000.0])
    freshness: float = Field(
        description="The share of importance whose copies are current.", examples=[0.93]
    )


class PlanOut(BaseModel):
    """What other budgets would lead to, with visits at regular times."""

    now: PlanPoint = Field(description="With the present budget.")
    plan: list[PlanPoint]


class BudgetIn(Body):
    """A budget."""

    budget: float = Field(
        ge=MIN_BUDGET, le=MAX_BUDGET, allow_inf_nan=False, description="Requests per day."
    )


class BudgetOut(BaseModel):
    """A budget."""

    budget: float = Field(description="Requests per day.")


class SettingOut(BaseModel):
    """A setting."""

    name: str = Field(examples=["host_delay"])
    value: str | float | bool | list[str] | None = Field(examples=[1.0])
    kind: str
    meaning: str


class SettingsOut(BaseModel):
    """All settings."""

    settings: list[SettingOut]
