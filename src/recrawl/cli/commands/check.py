"""``recrawl check``: whether settings and store are sound."""

from typing import TYPE_CHECKING, Annotated

import typer

from recrawl.cli.crawl_options import SettingsFile, StoreFile, settings_of
from recrawl.cli.output import complain, say

if TYPE_CHECKING:
    from recrawl.config.settings import Settings
    from recrawl.store.sqlite import SqliteStore

#: The exit status if something is wrong with the store, or a host does not respond.
PROBLEMS = 1
#: Maximum number of hosts to ask.
MAX_HOSTS = 100


def check(
    *,
    network: Annotated[
        bool,
        typer.Option(
            "--network",
            help="Also request the robots.txt of the hosts of pages you added, at most "
            f"{MAX_HOSTS} hosts.",
        ),
    ] = False,
    store: StoreFile = None,
    settings: SettingsFile = None,
) -> None:
    """Check the settings and the complete store; works during a run, too.

    Every copy is read and compared with its digest, so a large store takes a while. If anything is
    wrong, each problem is reported in a line on standard error, and the exit status is 1.

    Examples:
        recrawl check
        recrawl check --network
    """
    known = settings_of(store, settings)
    import asyncio

    from recrawl.cli.render.numbers import count
    from recrawl.cli.render.progress import progress_bar
    from recrawl.cli.render.units import size
    from recrawl.config.access import site_access
    from recrawl.config.readers import site_readers
    from recrawl.escaping import printable
    from recrawl.fetching.reachability import reach
    from recrawl.store.database import is_private
    from recrawl.store.locking import runner_of
    from recrawl.store.sqlite import SqliteStore

    # Otherwise, selectors, logins and proxies of sites are checked only when they are used.
    access = site_access(known)
    site_readers(known)
    path = known.store
    with SqliteStore.open(path) as opened, progress_bar("Checking"):
        problems = opened.check()
        totals, unused = opened.totals(), opened.unused()
        asked = opened.seed_pages(MAX_HOSTS) if network else []
        notes = [*_variable_notes(), *_webhook_notes(opened)]
    if not is_private(path):
        notes.append(
            f"Other users of this machine can read {printable(path)}, with all copies and secrets; "
            f"`chmod 600` changes that."
        )
    problems = [*_setting_problems(known), *(f"{path}: {problem}" for problem in problems)]
    for problem in problems:
        complain(problem)
    answers = asyncio.run(reach(asked, known, access)) if asked else {}
    silent = {host: problem for host, problem in answers.items() if problem is not None}
    for host, problem in silent.items():
        complain(f"{host}: {problem}")
    if problems or silent:
        raise typer.Exit(PROBLEMS)
    runner = runner_of(path)
    held = [
        count(totals.pages, "page"),
        count(totals.visits, "visit"),
        f"{totals.bodies:,} {'body' if totals.bodies == 1 else 'bodies'}",
    ]
    say(f"{printable(path)}: no problems in the settings and the store: {', '.join(held)}.")
    if answers:
        say(f"{count(len(answers), 'host')} asked; all of them responded.")
    for note in notes:
        say(note)
    say("A run is using it." if runner is not None else "No run is using it.")
    if unused > 0:
        say(f"{size(unused)} are unused; `recrawl compact` frees them.")


def _setting_problems(settings: "Settings") -> list[str]:
    """Return a sentence for each setting that could be right on another machine, but not here."""
    from recrawl.notify.command import missing_program

    program = missing_program(settings.on_change)
    return [] if program is None else [f"on_change: there is no program {program}"]


def _variable_notes() -> list[str]:
    """Return a sentence for each environment variable that looks like a setting, and is none."""
    import os

    from recrawl.config.settings import FIELDS
    from recrawl.config.sources import variable

    known, prefix = set(map(variable, FIELDS)), variable("")
    unknown = sorted(name for name in os.environ if name.startswith(prefix) and name not in known)
    return [f"The environment variable {name} is no setting, and is not used." for name in unknown]


def _webhook_notes(store: "SqliteStore") -> list[str]:
    """Return a sentence for each webhook with a problem."""
    return [
        f"Webhook {hook.number} "
        + (
            f"is disabled: {hook.disabled}."
            if hook.disabled is not None
            else f"is failing: {hook.error}."
        )
        for hook in store.webhooks.all()
        if hook.disabled is not None or hook.error is not None
    ]
