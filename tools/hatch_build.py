"""Put compiled kernels into the wheel: hatchling calls this when it builds one."""

import platform
import re
import sys
import sysconfig
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

#: The oldest Python whose stable interface the extension module needs.
PYTHON = "cp311-abi3"
GLIBC = re.compile(rb"GLIBC_2\.(\d+)")


class KernelHook(BuildHookInterface[Any]):
    """Compiles the kernels for every processor, and names the wheel after the platform."""

    PLUGIN_NAME = "custom"

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Compile; for an editable installation ``make`` does it, and shows how far it is."""
        if version == "editable":
            return
        sys.path[:0] = [self.root, str(Path(self.root, "src"))]
        from tools.build_kernels import all_levels, build

        library = build(all_levels())
        build_data["artifacts"].append(str(library.relative_to(self.root)))
        build_data["pure_python"] = False
        build_data["tag"] = f"{PYTHON}-{platform_tag(library)}"


def platform_tag(library: Path) -> str:
    """Return the platform on which a library can be loaded.

    On Linux every system whose C library is not older than the newest version that the library
    asks for; it needs no other library.
    """
    versions = [int(version) for version in GLIBC.findall(library.read_bytes())]
    if sys.platform == "linux" and versions:
        return f"manylinux_2_{max(versions)}_{platform.machine()}"
    return re.sub(r"\W", "_", sysconfig.get_platform())
