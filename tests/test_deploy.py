"""What is in `deploy/`, as far as it can be tried without a server of one's own."""

import re
import shutil
import socket
import ssl
import subprocess
import threading
import time
import tomllib
from collections.abc import Iterator
from contextlib import closing, contextmanager
from http.client import HTTPSConnection
from pathlib import Path

import pytest
import typer

from recrawl.cli.app import app

ROOT = Path(__file__).parents[1]
DEPLOY = ROOT / "deploy"


def tool(name: str) -> str:
    """Return a program, or skip the test."""
    found = shutil.which(name, path="/usr/sbin:/usr/bin:/usr/local/bin:/sbin:/bin")
    if found is None:
        pytest.skip(f"there is no {name}")
    return found


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


def free_port() -> int:
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        port: int = found.getsockname()[1]
        return port


@contextmanager
def streaming() -> Iterator[tuple[int, threading.Event]]:
    """Serve one stream of two events, the second of which waits to be allowed."""
    allowed = threading.Event()
    listener = socket.create_server(("127.0.0.1", 0))

    def serve() -> None:
        connection, _ = listener.accept()
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
        listener.close()


def nginx_configuration(folder: Path, listens: int, upstream: int) -> Path:
    """Write the configuration with ports and a certificate of a test."""
    certificate, key = folder / "cert.pem", folder / "cert.key"
    command = [tool("openssl"), "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "1"]
    command += ["-subj", "/CN=localhost", "-keyout", str(key), "-out", str(certificate)]
    subprocess.run(command, capture_output=True, check=True)
    server = (DEPLOY / "nginx.conf").read_text(encoding="utf-8")
    for old, new in (
        ("listen 443 ssl", f"listen 127.0.0.1:{listens} ssl"),
        ("/etc/ssl/recrawl.example.org.pem", str(certificate)),
        ("/etc/ssl/recrawl.example.org.key", str(key)),
        ("127.0.0.1:8321", f"127.0.0.1:{upstream}"),
    ):
        assert server.count(old) == 1
        server = server.replace(old, new)
    paths = " ".join(
        f"{name}_temp_path {folder / name};"
        for name in ("client_body", "proxy", "fastcgi", "uwsgi", "scgi")
    )
    written = folder / "nginx.conf"
    written.write_text(
        f"pid {folder / 'pid'}; error_log {folder / 'error.log'}; daemon off; "
        f"master_process off; events {{}} http {{ access_log off; {paths}\n{server} }}"
    )
    return written


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


def test_nginx_passes_events_on_as_they_happen(tmp_path: Path) -> None:
    nginx = tool("nginx")
    port = free_port()
    with streaming() as (upstream, allowed):
        configuration = nginx_configuration(tmp_path, port, upstream)
        with subprocess.Popen(
            [nginx, "-p", str(tmp_path), "-c", str(configuration)],
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        ) as process:
            try:
                with closing(_connected(port, process)) as connection:
                    connection.request("GET", "/events")
                    response = connection.getresponse()
                    # Nothing more is sent before this has arrived.
                    assert response.readline() == b"data: first\n"
                    allowed.set()
                    assert response.read() == b"\ndata: second\n\n"
                    response.close()
            finally:
                process.terminate()


def _connected(port: int, process: "subprocess.Popen[bytes]") -> HTTPSConnection:
    trusting = ssl.create_default_context()
    trusting.check_hostname, trusting.verify_mode = False, ssl.CERT_NONE
    while process.poll() is None:
        connection = HTTPSConnection("127.0.0.1", port, context=trusting, timeout=600)
        try:
            connection.connect()
        except ConnectionRefusedError:
            # It is still starting.
            time.sleep(0.02)
        else:
            return connection
    pytest.fail("nginx ended")


def test_caddy_takes_the_configuration() -> None:
    caddy = tool("caddy")
    command = [caddy, "validate", "--config", str(DEPLOY / "Caddyfile"), "--adapter", "caddyfile"]
    checked = subprocess.run(command, capture_output=True, text=True, check=False)
    assert checked.returncode == 0, checked.stderr
