"""What README.md promises: its examples run as they are pasted, its flags are the program's."""

import json
import re
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from support.agent import Agent
from support.bundle import MintedKey
from support.process import free_port
from support.redis_server import RedisServer

ROOT = Path(__file__).resolve().parents[2]
README = (ROOT / "README.md").read_text()
EXAMPLES = [block for block in re.findall(r"^```sh\n(.*?)^```", README, re.M | re.S)
            if re.search("curl|printf", block)]
# What each example must print, in the order of the file.
PRINTED = [r"^HTTP/1\.1 200 OK\r$",
           r"^(200 ){10}(200 )?429 ",   # a token comes back each second: where curl is slow, one more passes
           r'"now_us": \d{16}', r'^\{"released":true\}$', r'"pointer": "/checks/2/cost"', r"^OK$",
           r'^\{"status":"ready","degraded":\[\]\}$', r'^\{"allowed":true,',
           r"^8171$", r'"outcome": "decides"']


@pytest.fixture
def clone(program: Path, tmp_path: Path, key: MintedKey, make_redis: Callable[..., RedisServer]) -> Path:
    """A folder as it is after scripts/up, with an agent of our own behind .run/env."""
    (tmp_path / ".run").mkdir()
    (tmp_path / "build/release/bin").mkdir(parents=True)
    (tmp_path / "build/release/bin/sluice-agent").symlink_to(program.resolve())
    document = json.loads((ROOT / "examples/demo.json").read_text())
    document["keys"] = [{"tenant_id": "demo", "id": key.id, "name": "test", "key_hash": key.hash}]
    bundle = tmp_path / ".run/bundle.json"
    bundle.write_text(json.dumps(document))
    agent = Agent(program, tmp_path / "agent", bundle, make_redis().counters, ["--redis-deadline", "2s"]).start()
    agent.wait_for_redis(key.text, "pro")
    (tmp_path / ".run/env").write_text(f"AGENT=http://127.0.0.1:{agent.port}\nAGENT_ADMIN=http://127.0.0.1:{agent.admin_port}\n"
                                       f"KEY={key.text}\n")
    yield tmp_path
    agent.close()


def test_every_example_runs_as_it_is_pasted(clone: Path) -> None:
    assert len(EXAMPLES) == len(PRINTED)
    for example, printed in zip(EXAMPLES, PRINTED):
        pasted = example.replace("8188", str(free_port())).replace("9188", str(free_port()))
        done = subprocess.run(["bash", "-euo", "pipefail", "-c", pasted], cwd=clone, capture_output=True, timeout=60, check=False)
        said = done.stdout.decode()
        assert done.returncode == 0, (example, said, done.stderr)
        assert re.search(printed, said, re.M), (example, said)


def test_the_flags_are_those_of_help_with_their_defaults(program: Path) -> None:
    told = subprocess.run([program, "--help"], capture_output=True, text=True, check=True).stdout
    rows = re.findall(r"^\| `(--[a-z-]+)[^|`]*(?:\\\|[^|`]*)*` \| (.*?) \|", README, re.M)
    assert len(rows) >= 13
    for flag, default in rows:
        found = re.search(rf"^  {flag} .*?\[(?:default: (.*?), )?env: (\w+)\]", told, re.M | re.S)
        assert found, f"{flag} is not in --help"
        assert found[2] == "SLUICE_AGENT_" + flag[2:].replace("-", "_").upper()
        expected = {"none": None, "off": "false"}.get(default, default.strip("`"))
        assert found[1] == expected, f"{flag}: README says {default}, --help {found[1]}"


def test_the_policies_it_shows_are_accepted(program: Path, tmp_path: Path) -> None:
    shown = re.findall(r"^```json\n(.*?)^```", README, re.M | re.S) + re.findall(r"^`(\{\"endpoint\".*\})`", README, re.M)
    assert len(shown) == 2
    bundle = tmp_path / "bundle.json"
    bundle.write_text(json.dumps({
        "format": "sluice/v1", "organizations": [{"id": "acme", "name": "Acme"}],
        "tenants": [{"id": "shop", "organization_id": "acme"}],
        "plans": [{"tenant_id": "shop", "id": "pro", "rate": "10/minute"}],
        "policies": [json.loads(policy) for policy in shown]}))
    done = subprocess.run([program, "--policies", bundle, "--check-config"], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
