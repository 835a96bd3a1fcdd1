"""Secrets in settings: passwords, tokens and proxies, which are never printed or logged."""

import os
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import final

from recrawl.errors import SettingsError

#: What is shown in place of a secret.
MASK = "••••"
#: Where a secret may come from, so that the settings file can be shared.
FROM_ENVIRONMENT, FROM_FILE = "env:", "file:"
MAX_BYTES = 65_536
#: Settings that are commands.
COMMANDS = ("on_change",)

_CREDENTIALS = re.compile(r"(?<=//)[^/?#]*@")


@final
@dataclass(frozen=True)
class Secret:
    """A secret as typed: itself, or ``env:NAME`` or ``file:PATH``, which holds it.

    Attributes:
        typed: What was typed.
        folder: What a path is relative to.

    >>> Secret("user:word"), str(Secret("env:PASSWORD"))
    (Secret(••••), 'env:PASSWORD')
    """

    typed: str = field(repr=False)
    folder: str = field(default="", repr=False, compare=False)

    def __repr__(self) -> str:
        return f"Secret({self})"

    def __str__(self) -> str:
        return self.typed if self.is_elsewhere else MASK

    @property
    def is_elsewhere(self) -> bool:
        """Whether only the name of an environment variable or of a file was typed."""
        return self.typed.startswith((FROM_ENVIRONMENT, FROM_FILE))

    def reveal(self, source: str, environ: Mapping[str, str] | None = None) -> str:
        """Return the secret itself.

        Args:
            source: The setting, for error messages.
            environ: The environment; by default, the process's own.

        Raises:
            SettingsError: The variable is not set, or the file cannot be read.
        """
        if self.typed.startswith(FROM_ENVIRONMENT):
            name = self.typed.removeprefix(FROM_ENVIRONMENT)
            found = (os.environ if environ is None else environ).get(name)
            if not found:
                raise SettingsError(f"{source}: the environment variable {name} is not set")
            return found
        if self.typed.startswith(FROM_FILE):
            return self._from_file(source)
        return self.typed

    def _from_file(self, source: str) -> str:
        path = Path(self.folder, self.typed.removeprefix(FROM_FILE)).expanduser()
        try:
            with path.open(encoding="utf-8") as file:
                text = file.read(MAX_BYTES).strip()
        except OSError as error:
            raise SettingsError(f"{source}: {path}: {error.strerror}") from None
        except UnicodeDecodeError:
            raise SettingsError(f"{source}: {path}: this is not text in UTF-8") from None
        if not text:
            raise SettingsError(f"{source}: {path}: the file is empty")
        return text


def without_credentials(url: str) -> str:
    """Return a proxy's URL for display, with user and password masked.

    >>> without_credentials("http://user:word@proxy.example:3128")
    'http://••••@proxy.example:3128'
    """
    return _CREDENTIALS.sub(f"{MASK}@", url) if "//" in url or "@" not in url else MASK


def without_arguments(command: str) -> str:
    """Return a command for display, without its arguments, which may contain a secret.

    >>> without_arguments("notify --key 1234")
    'notify ••••'
    """
    program, *arguments = command.split(maxsplit=1) or [""]
    return f"{program} {MASK}" if arguments else program
