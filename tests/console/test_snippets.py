"""What the playground offers to copy does the same check, whatever is in the subject."""

import http.server
import json
import os
import subprocess
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[2]
CONSOLE = ROOT / "server/console"
KEY = "slk_key_0000000000000000000000000000000000000000000000000"
HOSTILE = ["it's", "a\"b", "back\\slash", "$(touch pwned)`touch pwned`${HOME}", "%s %n {0} {x}", "two\nlines\ttab", "`${1+1}`",
           "</script><script>", "ünïcödé 名前 😀", "\u202eright to left", "'; touch pwned; '", "!history", "\\u0041", "a" * 256]


class Agent(http.server.ThreadingHTTPServer):
    """Takes checks and keeps what came."""

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.taken: list[tuple[str, dict[str, str], Any]] = []


class Handler(http.server.BaseHTTPRequestHandler):
    """Denies, as that is the harder answer for a program."""

    def do_POST(self) -> None:  # noqa: N802  # pylint: disable=invalid-name
        """One check."""
        assert isinstance(self.server, Agent)
        body = json.loads(self.rfile.read(int(self.headers["content-length"])))
        self.server.taken.append((self.path, {name.lower(): value for name, value in self.headers.items()}, body))
        answer = b'{"allowed":false}'
        self.send_response(429)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(answer)))
        self.end_headers()
        self.wfile.write(answer)

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002  # pylint: disable=redefined-builtin
        """Says nothing."""


@pytest.fixture(scope="module")
def node() -> Path:
    """The Node that scripts/setup build installs, with the console's packages."""
    found = ROOT / ".run/node/bin/node"
    assert found.exists() and (CONSOLE / "node_modules/esbuild").is_dir(), "scripts/setup build installs Node and the console's packages"
    return found


@pytest.fixture(scope="module")
def snippets(node: Path, module_folder: Path) -> list[dict[str, str]]:
    """By hostile subject: the text of each language."""
    bundle, checks = module_folder / "snippets.mjs", [check_of(each) for each in HOSTILE]
    program = f"""import {{ build }} from "esbuild";
        await build({{ entryPoints: ["src/playground/snippets.ts"], bundle: true, format: "esm", outfile: {json.dumps(str(bundle))} }});
        const {{ kLanguages, snippet }} = await import({json.dumps(str(bundle))});
        const texts = (check) => Object.fromEntries(kLanguages.map((each) => [each, snippet(each, check)]));
        console.log(JSON.stringify({json.dumps(checks)}.map(texts)));"""
    printed = subprocess.run([node, "--input-type=module", "--eval", program], cwd=CONSOLE, check=True, capture_output=True,
                             text=True, timeout=60)
    made: list[dict[str, str]] = json.loads(printed.stdout)
    return made


@pytest.fixture
def agent() -> Iterator[Agent]:
    """One for a test."""
    server = Agent()
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    yield server
    server.shutdown()
    thread.join()
    server.server_close()


def check_of(subject: str) -> dict[str, Any]:
    """A check with everything that the playground sends."""
    return {"resource": f"GET:/{subject}", "subject": subject, "cost": 3}


@pytest.mark.parametrize("language", ["curl", "Python", "TypeScript"])
def test_a_copied_program_makes_the_same_check_whatever_is_in_it(language: str, node: Path, snippets: list[dict[str, str]],
                                                                 agent: Agent, tmp_path: Path) -> None:
    env = {**os.environ, "AGENT": f"http://127.0.0.1:{agent.server_address[1]}", "KEY": KEY}
    for number, (subject, texts) in enumerate(zip(HOSTILE, snippets, strict=True)):
        file = tmp_path / f"{number}.{'mjs' if language == 'TypeScript' else 'txt'}"
        file.write_text(texts[language])
        command = {"curl": ["bash", str(file)], "Python": ["python3", str(file)], "TypeScript": [str(node), str(file)]}[language]
        done = subprocess.run(command, env=env, cwd=tmp_path, capture_output=True, text=True, timeout=60, check=False)
        assert done.returncode == 0 and "429" in done.stdout, (subject, done.stderr)
        path, headers, body = agent.taken[-1]
        assert len(agent.taken) == number + 1 and (path, body) == ("/v1/check", check_of(subject)), subject
        assert headers["x-api-key"] == KEY and headers["content-type"] == "application/json"
    assert not (tmp_path / "pwned").exists()
