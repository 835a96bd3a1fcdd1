"""Reload the settings while a crawl runs."""

import logging
from collections.abc import Callable
from typing import final

from recrawl.config.access import site_access
from recrawl.config.readers import site_readers
from recrawl.config.settings import Settings
from recrawl.errors import SettingsError

LOGGER = logging.getLogger("recrawl.crawler")


@final
class Reload:
    """Reads the settings again on request, and keeps them until the crawl has stopped.

    All settings take effect, because the crawl restarts with them in the same process: it stops as
    cleanly as at the end, and nothing is lost. Invalid settings change nothing.

    Args:
        read: Reads the settings.
        store: The store, which cannot be changed by reloading.

    Attributes:
        settings: What to continue with once the crawl has stopped; None if it should end.
    """

    def __init__(self, read: Callable[[], Settings], store: str) -> None:
        self._read = read
        self._store = store
        self.settings: Settings | None = None

    def __call__(self) -> bool:
        """Read the settings; return whether the crawl should restart with them."""
        try:
            self.settings = self._checked(self._read())
        except SettingsError as error:
            LOGGER.warning("the settings stay as they are: %s", error)
            return False
        return True

    def _checked(self, settings: Settings) -> Settings:
        # Some errors in the settings of sites show only when they are used.
        site_access(settings)
        site_readers(settings)
        if settings.store != self._store:
            raise SettingsError("store: it cannot be changed while a run uses it")
        return settings

    def take(self) -> Settings | None:
        """Return the settings to continue with, and forget them."""
        settings, self.settings = self.settings, None
        return settings
