"""The page about months of crawling tells the story that the benchmark plays."""

import re
import tomllib
from pathlib import Path

import pytest

from benchmarks.story import OF_ITS_OWN, PAGE, SETTINGS, SHOWN, STEPS, Step

TEXT = (Path(__file__).parents[1] / "docs" / PAGE).read_text(encoding="utf-8")
SECTION = re.compile(r"<!-- bench:([a-z-]+) -->\n(.*?)<!-- /bench -->", re.DOTALL)
SECTIONS = dict(SECTION.findall(TEXT))


def test_the_page_has_the_chapters_of_the_story_in_order() -> None:
    assert list(SECTIONS) == [step.name for step in STEPS]


@pytest.mark.parametrize("step", STEPS, ids=lambda step: step.name)
def test_a_chapter_shows_what_is_typed(step: Step) -> None:
    typed = [line for line in SECTIONS[step.name].splitlines() if line.startswith("$ ")]
    assert typed == step.typed(), "`python -m benchmarks story` writes the screens"


def test_the_settings_on_the_page_are_those_of_the_story() -> None:
    shown = [tomllib.loads(block) for block in re.findall(r"```toml\n(.*?)```", TEXT, re.DOTALL)]
    own = OF_ITS_OWN.replace("HOST", SHOWN.partition("//")[2])
    assert shown == [tomllib.loads(SETTINGS), tomllib.loads(own)]
