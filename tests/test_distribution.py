"""What is built for a package index, from the metadata to the files."""

import email
import os
import platform
import re
import subprocess
import sys
import tarfile
import tomllib
import zipfile
from email.message import Message
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[1]
LINK = re.compile(r"!?\[[^]]*\]\(([^)\s]+)\)")
FENCE = re.compile(r"^```.*?^```$", re.MULTILINE | re.DOTALL)


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("dist")
    command = [sys.executable, "-m", "hatchling", "build", "-d", str(folder)]
    # Without the hook that compiles the kernels: it takes minutes, and has a test of its own.
    env = os.environ | {"HATCH_BUILD_NO_HOOKS": "true"}
    done = subprocess.run(command, cwd=ROOT, env=env, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return folder


@pytest.fixture(scope="module")
def metadata(built: Path) -> Message:
    (wheel,) = built.glob("*.whl")
    with zipfile.ZipFile(wheel) as files:
        (name,) = (name for name in files.namelist() if name.endswith("/METADATA"))
        return email.message_from_bytes(files.read(name))


def test_the_description_has_no_relative_links_or_images(metadata: Message) -> None:
    text = str(metadata.get_payload(decode=True), "utf-8")  # type: ignore[arg-type]
    assert "## Crawl" in text
    prose = FENCE.sub("", text)
    relative = [target for target in LINK.findall(prose) if not target.startswith("https://")]
    assert relative == []
    assert not re.search(r"<img|<!--", prose)


def test_project_urls_are_absolute(metadata: Message) -> None:
    """There are none until there is a place to point to."""
    urls = [str(line).split(", ")[1] for line in metadata.get_all("Project-URL", [])]
    assert all(url.startswith("https://") for url in urls)


def test_the_source_distribution_has_all_that_is_tested(built: Path) -> None:
    (archive,) = built.glob("*.tar.gz")
    with tarfile.open(archive) as files:
        there = {name.partition("/")[2].partition("/")[0] for name in files.getnames()}
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["tool"]
    needed = {*settings["mypy"]["files"], *settings["pytest"]["ini_options"]["testpaths"]}
    needed |= {"Makefile", "requirements", "pyproject.toml", "CONTRIBUTING.md", "zensical.toml"}
    assert needed <= there


def test_the_wheel_has_every_file_of_the_package(built: Path) -> None:
    (wheel,) = built.glob("*.whl")
    with zipfile.ZipFile(wheel) as files:
        there = {name for name in files.namelist() if name.startswith("recrawl/")}
    source = ROOT / "src"
    files_of_package = {
        path.relative_to(source).as_posix()
        for path in source.rglob("*")
        if path.is_file() and "__pycache__" not in path.parts and path.suffix != ".so"
    }
    assert files_of_package == there


def test_a_wheel_contains_the_kernels_and_is_for_their_platform(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.syspath_prepend(str(ROOT))
    from tools import build_kernels, hatch_build

    library = ROOT / "src/recrawl/kernels/_native.abi3.so"
    monkeypatch.setattr(build_kernels, "build", lambda _levels: library)
    monkeypatch.setattr(hatch_build, "platform_tag", lambda _library: "some_platform")
    hook = hatch_build.KernelHook(str(ROOT), {}, None, None, str(tmp_path), "wheel")  # type: ignore[arg-type]
    editable: dict[str, Any] = {"artifacts": []}
    hook.initialize("editable", editable)
    assert editable == {"artifacts": []}
    wheel: dict[str, Any] = {"artifacts": []}
    hook.initialize("standard", wheel)
    assert wheel == {
        "artifacts": ["src/recrawl/kernels/_native.abi3.so"],
        "pure_python": False,
        "tag": "cp311-abi3-some_platform",
    }


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux has several C libraries")
def test_a_wheel_needs_the_newest_c_library_that_it_asks_for(tmp_path: Path) -> None:
    from tools.hatch_build import platform_tag

    library = tmp_path / "library.so"
    library.write_bytes(b"\0GLIBC_2.2.5\0GLIBC_2.29\0GLIBC_2.14\0")
    assert platform_tag(library) == f"manylinux_2_29_{platform.machine()}"
