"""Web servers in front of a service, with the configurations in `deploy/`."""

import shutil
import ssl
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.client import HTTPSConnection
from pathlib import Path

import pytest
from ports import free_port

ROOT = Path(__file__).parents[1]
DEPLOY = ROOT / "deploy"


def tool(name: str) -> str:
    """Return a program, or skip the test."""
    found = shutil.which(name, path="/usr/sbin:/usr/bin:/usr/local/bin:/sbin:/bin")
    if found is None:
        pytest.skip(f"there is no {name}")
    return found


def _certificate(folder: Path) -> tuple[Path, Path]:
    """Make a certificate; return it and its key."""
    certificate, key = folder / "cert.pem", folder / "cert.key"
    command = [tool("openssl"), "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "1"]
    command += ["-subj", "/CN=localhost", "-keyout", str(key), "-out", str(certificate)]
    subprocess.run(command, capture_output=True, check=True)
    return certificate, key


def _replaced(name: str, *pairs: tuple[str, str]) -> str:
    """Return a configuration with other words in the place of some, which are in it once."""
    text = (DEPLOY / name).read_text(encoding="utf-8")
    for old, new in pairs:
        assert text.count(old) == 1, old
        text = text.replace(old, new)
    return text


def nginx_configuration(folder: Path, listens: int, upstream: int) -> Path:
    """Write nginx's configuration with ports and a certificate of a test."""
    certificate, key = _certificate(folder)
    server = _replaced(
        "nginx.conf",
        ("listen 443 ssl", f"listen 127.0.0.1:{listens} ssl"),
        ("/etc/ssl/recrawl.example.org.pem", str(certificate)),
        ("/etc/ssl/recrawl.example.org.key", str(key)),
        ("127.0.0.1:8321", f"127.0.0.1:{upstream}"),
    )
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


def caddy_configuration(folder: Path, listens: int, upstream: int) -> Path:
    """Write Caddy's configuration with ports and a certificate of a test."""
    certificate, key = _certificate(folder)
    server = _replaced(
        "Caddyfile",
        ("recrawl.example.org {", f"https://localhost:{listens} {{\n\ttls {certificate} {key}"),
        ("127.0.0.1:8321", f"127.0.0.1:{upstream}"),
    )
    written = folder / "Caddyfile"
    written.write_text(f"{{\n\tadmin off\n\tauto_https off\n}}\n{server}")
    return written


def _nginx(folder: Path, port: int, upstream: int) -> list[str]:
    nginx = tool("nginx")
    return [nginx, "-p", str(folder), "-c", str(nginx_configuration(folder, port, upstream))]


def _caddy(folder: Path, port: int, upstream: int) -> list[str]:
    caddy = tool("caddy")
    written = caddy_configuration(folder, port, upstream)
    return [caddy, "run", "--config", str(written), "--adapter", "caddyfile"]


#: What starts each of them.
PROXIES = {"nginx": _nginx, "caddy": _caddy}


@contextmanager
def running(proxy: str, folder: Path, upstream: int) -> Iterator[Callable[[], HTTPSConnection]]:
    """Run a web server in front of a port; yield what connects to it."""
    port = free_port()
    command = PROXIES[proxy](folder, port, upstream)
    home = {"HOME": str(folder), "XDG_DATA_HOME": str(folder), "XDG_CONFIG_HOME": str(folder)}
    with subprocess.Popen(
        command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, env=home
    ) as process:
        try:
            yield lambda: _connected(port, process)
        finally:
            process.terminate()


def _connected(port: int, process: "subprocess.Popen[bytes]") -> HTTPSConnection:
    trusting = ssl.create_default_context()
    trusting.check_hostname, trusting.verify_mode = False, ssl.CERT_NONE
    while process.poll() is None:
        connection = HTTPSConnection("localhost", port, context=trusting, timeout=600)
        try:
            connection.connect()
        except ConnectionRefusedError:
            # It is still starting.
            time.sleep(0.02)
        else:
            return connection
    pytest.fail("the web server ended")
