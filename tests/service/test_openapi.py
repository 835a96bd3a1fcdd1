"""The API does what its description says, whatever it is sent: schemathesis asks a server."""

import re
import subprocess
import sys
from pathlib import Path

import pytest
from acceptance import program

pytest.importorskip("fastapi", reason="the service needs recrawl[serve]")
pytest.importorskip("schemathesis", reason="schemathesis is not installed")

SETTINGS = {"budget": "1000/s", "host_delay": "0s", "listen": "127.0.0.1:0"}
URLS = [f"https://h{host}.example/{page}" for host in range(3) for page in range(5)]
#: Nobody waits for changes that do not come; and what is too large is refused as well.
CONFIG = """
[parameters]
"query.wait" = 0
[checks.negative_data_rejection]
expected-statuses = [400, 401, 403, 404, 406, 413, 422]
"""
#: A stream does not end; tests of their own read it.
STREAM = "/api/v1/changes/stream"
#: What these answer is for others to say; tests of their own follow the protocols.
PROTOCOLS = "^/(indexnow|websub/)"


def test_the_api_is_as_described(tmp_path: Path) -> None:
    store, config = tmp_path / "recrawl.db", tmp_path / "schemathesis.toml"
    program.add(store, [*URLS, "https://example.org/news"])
    config.write_text(CONFIG, encoding="utf-8")
    with program.start("serve", "--store", str(store), settings=SETTINGS) as process:
        try:
            assert process.stdout is not None
            lines = "".join(process.stdout.readline() for _ in range(2))
            url, token = re.search(r"http://\S+", lines), re.search(r"rcrl_\S+", lines)
            assert url is not None, lines
            assert token is not None, lines
            asked = subprocess.run(
                [
                    sys.executable,
                    "-c",
                    "from schemathesis.cli import schemathesis; schemathesis()",
                    f"--config-file={config}",
                    "run",
                    f"{url[0]}/api/v1/openapi.json",
                    f"--header=Authorization: Bearer {token[0]}",
                    f"--exclude-path={STREAM}",
                    f"--exclude-path-regex={PROTOCOLS}",
                    "--max-examples=10",
                    "--seed=1",
                    "--generation-database=none",
                    "--request-timeout=300",
                    "--no-color",
                ],
                cwd=tmp_path,
                capture_output=True,
                text=True,
                check=False,
            )
        finally:
            process.terminate()
            process.communicate(timeout=program.HANGS)
    assert asked.returncode == 0, asked.stdout[-9_000:]
    assert "Tested: 20" in asked.stdout, asked.stdout[-2_000:]
    program.check(store)
