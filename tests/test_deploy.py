"""What is in `deploy/`, as far as it can be tried without a server of one's own."""

import re
import socket
import subprocess
import threading
import tomllib
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager, suppress
from http.client import HTTPResponse, HTTPSConnection
from pathlib import Path

import pytest
import typer
from acceptance import program
from ports import free_port
from proxies import DEPLOY, PROXIES, ROOT, nginx_configuration, running, tool

from recrawl.cli.app import app


def options_of(command: str) -> set[str]:
    """Return the options of a command of ours."""
    program = typer.main.get_command(app)
    found = program.commands[command]  # type: ignore[attr-defined]
    return {name for option in found.params for name in option.opts}


def instructions() -> list[tuple[str, str]]:
    """Return the instructions of the Containerfile with their arguments."""
    text = (DEPLOY / "Containerfile").read_text(encoding="utf-8")
    lines = re.sub(r"\\\n\s*", "", re.sub(r"^#.*\n", "", text, flags=re.MULTILINE)).splitlines()
    return [(line.partition(" ")[0], line.partition(" ")[2]) for line in lines if line]


def test_the_unit_is_valid_and_confined(tmp_path: Path) -> None:
    analyze = tool("systemd-analyze")
    unit = tmp_path / "recrawl.service"
    text = (DEPLOY / "recrawl.service").read_text(encoding="utf-8")
    # The program itself need not be installed for this.
    unit.write_text(re.sub(r"^ExecStart=\S+", "ExecStart=/bin/true", text, flags=re.MULTILINE))
    checked = subprocess.run(
        [analyze, "verify", "--man=no", str(unit)], capture_output=True, text=True, check=False
    )
    assert (checked.returncode, checked.stderr) == (0, "")
    # Tenths of a level: 2.0 is what systemd calls OK; without confinement it is 9.6.
    rated = subprocess.run(
        [analyze, "security", "--offline=true", "--threshold=20", str(unit)],
        capture_output=True,
        text=True,
        check=False,
    )
    assert rated.returncode == 0, rated.stdout[-300:]


def test_the_unit_runs_the_program_with_options_that_it_has() -> None:
    text = (DEPLOY / "recrawl.service").read_text(encoding="utf-8")
    (command,) = re.findall(r"^ExecStart=(.*)$", text, re.MULTILINE)
    _, name, *arguments = command.split()
    assert {one for one in arguments if one.startswith("--")} <= options_of(name)


def test_the_image_is_built_from_files_that_are_there_and_is_not_run_by_root() -> None:
    steps = instructions()
    assert [name for name, _ in steps].count("FROM") == 2
    for name, arguments in steps:
        if name == "COPY" and not arguments.startswith("--from"):
            *sources, _ = arguments.split()
            assert all((ROOT / source).exists() for source in sources)
    last = [arguments for name, arguments in steps if name == "USER"][-1]
    assert last.isdigit()
    assert int(last) > 0
    # Compilers stay in the first stage.
    second = steps[[name for name, _ in steps].index("FROM", 2) :]
    assert not any("gcc" in arguments for _, arguments in second)
    (usual,) = [arguments for name, arguments in second if name == "CMD"]
    command, *options = re.findall(r'"([^"]+)"', usual)
    assert {one for one in options if one.startswith("--")} <= options_of(command)


def test_the_image_has_all_that_the_package_is_built_from() -> None:
    copied = {
        source
        for name, arguments in instructions()
        if name == "COPY" and not arguments.startswith("--from")
        for source in arguments.split()[:-1]
    }
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    fragments = settings["tool"]["hatch"]["metadata"]["hooks"]["fancy-pypi-readme"]["fragments"]
    wheel = settings["tool"]["hatch"]["build"]["targets"]["wheel"]
    needed = {
        "pyproject.toml",
        *settings["project"]["license-files"],
        *(fragment["path"] for fragment in fragments),
        *(package.partition("/")[0] for package in wheel["packages"]),
        wheel["hooks"]["custom"]["path"].partition("/")[0],
    }
    assert needed == copied


def test_distributions_have_it_all() -> None:
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    assert "/deploy" in settings["tool"]["hatch"]["build"]["targets"]["sdist"]["include"]


@contextmanager
def streaming() -> Iterator[tuple[int, threading.Event]]:
    """Serve one stream of two events, the second of which waits to be allowed."""
    allowed = threading.Event()
    listener = socket.create_server(("127.0.0.1", 0))

    def serve() -> None:
        try:
            connection, _ = listener.accept()
        except OSError:
            return  # Nobody came before the listener was closed.
        with connection:
            connection.recv(65_536)
            connection.sendall(
                b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nConnection: close\r\n\r\n"
                b"data: first\n\n"
            )
            allowed.wait(600.0)
            connection.sendall(b"data: second\n\n")

    thread = threading.Thread(target=serve, daemon=True)
    thread.start()
    try:
        yield listener.getsockname()[1], allowed
    finally:
        allowed.set()
        with suppress(OSError):
            listener.shutdown(socket.SHUT_RDWR)  # Without it, a thread goes on waiting.
        listener.close()
        thread.join()


def test_nginx_takes_the_configuration(tmp_path: Path) -> None:
    nginx = tool("nginx")
    configuration = nginx_configuration(tmp_path, free_port(), free_port())
    checked = subprocess.run(
        [nginx, "-t", "-p", str(tmp_path), "-c", str(configuration)],
        capture_output=True,
        text=True,
        check=False,
    )
    assert checked.returncode == 0, checked.stderr


@pytest.mark.parametrize("proxy", PROXIES)
def test_a_proxy_passes_events_on_as_they_happen(tmp_path: Path, proxy: str) -> None:
    with (
        streaming() as (upstream, allowed),
        running(proxy, tmp_path, upstream) as connect,
        closing(connect()) as connection,
    ):
        connection.request("GET", "/events")
        response = connection.getresponse()
        # Nothing more is sent before this has arrived.
        assert response.readline() == b"data: first\n"
        allowed.set()
        assert response.read() == b"\ndata: second\n\n"
        response.close()


@pytest.mark.parametrize("proxy", PROXIES)
def test_the_service_works_behind_a_proxy(tmp_path: Path, proxy: str) -> None:
    """A browser logs in over TLS, looks, and hears what is new; another name is refused."""
    store = tmp_path / "recrawl.db"
    program.add(store, ["https://example.org/"])
    command = ("serve", "--store", str(store), "--listen", "127.0.0.1:0")
    with program.start(*command) as process:
        try:
            assert process.stdout is not None
            shown = "".join(process.stdout.readline() for _ in range(2))
            port, token = re.search(r"http://[^:]+:(\d+)", shown), re.search(r"rcrl_\S+", shown)
            assert port is not None
            assert token is not None
            with running(proxy, tmp_path, int(port[1])) as connect:
                _look_as_a_browser(connect, token[0])
        finally:
            process.terminate()
            process.communicate(timeout=program.HANGS)


def _look_as_a_browser(connect: Callable[[], HTTPSConnection], token: str) -> None:
    with closing(connect()) as connection:

        def ask(method: str, path: str, body: str = "", **headers: str) -> HTTPResponse:
            kind = {"Content-Type": "application/x-www-form-urlencoded"} if body else {}
            named = {name.replace("_", "-"): value for name, value in headers.items()}
            connection.request(method, path, body, kind | named)
            return connection.getresponse()

        own = f"https://localhost:{connection.port}"
        foreign = ask("POST", "/login", f"token={token}", Origin="https://evil.example")
        assert (foreign.status, foreign.read()[:1]) == (403, b"{")
        answer = ask("POST", "/login", f"token={token}", Origin=own)
        assert (answer.status, answer.read()) == (303, b"")
        cookie = answer.headers["Set-Cookie"]
        assert "; Secure" in cookie
        session = {"Cookie": cookie.partition(";")[0]}
        page = ask("GET", "/", **session)
        assert b"Expected freshness" in page.read()
        assert page.status == 200
        unknown = ask("GET", "/health", Host="evil.example")
        # A proxy may know better than to pass it on.
        assert unknown.status in {200, 421}
        assert b'"ok"' not in unknown.read()
        live = ask("GET", "/live", **session)
        assert live.headers["Content-Type"].startswith("text/event-stream")
        heard = b""
        while b"event: sample" not in heard:
            heard += live.readline()
        live.close()


def test_caddy_takes_the_configuration() -> None:
    caddy = tool("caddy")
    command = [caddy, "validate", "--config", str(DEPLOY / "Caddyfile"), "--adapter", "caddyfile"]
    checked = subprocess.run(command, capture_output=True, text=True, check=False)
    assert checked.returncode == 0, checked.stderr
