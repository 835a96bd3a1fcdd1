"""What the API takes and returns about budgets and settings."""

from pydantic import BaseModel, Field

from recrawl.service.models.bodies import Body

MIN_BUDGET, MAX_BUDGET = 1e-3, 1e9


class PlanPoint(BaseModel):
    """What a budget achieves."""

    budget: float = Field(description="Requests per day.")
    freshness: float = Field(description="The share of importance whose copies are fresh.")


class PlanOut(BaseModel):
    """What other budgets would achieve, with visits at regular times."""

    now: PlanPoint = Field(description="With the current budget.")
    plan: list[PlanPoint] = Field(description="With each of the others.")


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

    name: str = Field(description="Its name.")
    value: str | float | bool | list[str] | None = Field(
        description="Its value; secrets are masked."
    )
    unit: str | None = Field(description="days, seconds, per day or bytes; null if it has none.")
    kind: str = Field(description="What is typed in the settings file.")
    meaning: str = Field(description="What it is for.")


class SettingsOut(BaseModel):
    """All settings."""

    settings: list[SettingOut] = Field(description="The settings.")
