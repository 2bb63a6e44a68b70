"""docs/guide/sdks.md: its blocks run as they are shown, against an agent, and what its tables name exists."""

import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest

from sdk.node import node
from sdk.sdks import FOLDER, ROOT, SDKS, Sdk
from support.agent import Agent
from support.bundle import Bundle, MintedKey, token_bucket
from support.markdown import Page
from testbed.toolchain import find_go

GUIDE = Page(ROOT / "docs/guide/sdks.md")


@dataclass(frozen=True)
class Three:
    """The three lines of one language: the SDK they need, and the commands that run a file of them."""

    language: str
    sdk: str
    file: str
    before: str
    after: str
    commands: tuple[tuple[str, ...], ...]
    env: tuple[tuple[str, str], ...] = ()


GO_BEFORE = 'package main\nimport (\n\t"context"\n\t"fmt"\n\t"sluice.dev/go"\n)\nfunc main() {\n\tctx := context.Background()\n'
CSHARP_BEFORE = ("using System; using System.Threading.Tasks; using Sluice;\n"
                 "class Three { static void Main() { Run().Wait(); } static async Task Run() {\n")   # mono knows no asynchronous Main
LANGUAGES = (
    Three("python", "python", "three.py", "", "", ((sys.executable, "three.py"),), (("PYTHONPATH", str(FOLDER / "python/src")),)),
    Three("js", "typescript", "three.mjs", "", "", ((node(), "three.mjs"),)),
    Three("go", "go", "main.go", GO_BEFORE, "if err != nil { panic(err) }\n}\n", (("GO", "run", "."),), (("GOWORK", "off"), ("GOFLAGS", "-mod=mod"))),
    Three("java", "java", "Three.java", "import dev.sluice.client.*;\nclass Three { public static void main(String[] arguments) {\n", "} }\n",
          (("java", "-cp", str(FOLDER / "java/client/target/classes"), "Three.java"),)),
    Three("csharp", "dotnet", "Three.cs", CSHARP_BEFORE, "} }\n",
          (("mcs", "-langversion:latest", f"-r:{FOLDER / 'dotnet/build/conformance.exe'}", "Three.cs"), ("mono", "Three.exe"))),
)


def prepare(three: Three, folder: Path) -> None:
    """Puts the SDK where the language looks for it."""
    if three.language == "js":
        (folder / "node_modules/@sluice").mkdir(parents=True)
        (folder / "node_modules/@sluice/client").symlink_to(FOLDER / "typescript")
    if three.language == "go":
        (folder / "go.mod").write_text(f"module three\ngo 1.23\nrequire sluice.dev/go v0.1.0\nreplace sluice.dev/go => {FOLDER / 'go'}\n")
    if three.language == "csharp":
        shutil.copy(FOLDER / "dotnet/build/conformance.exe", folder)


@pytest.mark.timeout(300)
def test_the_three_lines_of_a_language_ask_an_agent(sdk: Sdk, make_agent: Callable[..., Agent], key: MintedKey, tmp_path: Path) -> None:
    found = [one for one in LANGUAGES if one.sdk == sdk.name]
    if not found:
        pytest.skip("its lines are those of another adapter's language")
    three = found[0]
    bundle = Bundle().key(key).plan("one", token_bucket(1, "1/1h")).policy("orders", {"resource": "GET:/orders"}, "one")
    agent = make_agent(bundle, "memory").start()
    lines = GUIDE.blocks(three.language)[0].text
    assert len(lines.splitlines()) == 3, lines
    prepare(three, tmp_path)
    (tmp_path / three.file).write_text(three.before + lines + three.after)
    env = {**os.environ, **dict(three.env), "SLUICE_URL": f"http://127.0.0.1:{agent.port}", "SLUICE_API_KEY": key.text, "SLUICE_TIMEOUT": "10s",
           "SLUICE_ON_ERROR": "raise"}
    for expected in ("true", "false"):   # the limit is one
        for command in three.commands:
            words = (find_go(FOLDER / "go/go.mod"), *command[1:]) if command[0] == "GO" else command
            done = subprocess.run(words, cwd=tmp_path, env=env, capture_output=True, text=True, timeout=120, check=False)
            assert done.returncode == 0, done.stdout + done.stderr
        assert done.stdout.strip().lower() == expected


def test_the_double_works_as_it_is_shown() -> None:
    block = GUIDE.blocks("python")[1].text
    subprocess.run([sys.executable, "-c", block], env={**os.environ, "PYTHONPATH": str(FOLDER / "python/src")}, check=True, timeout=60)


def test_what_the_tables_name_is_there() -> None:
    names = re.findall(r"^\| .*$", GUIDE.text, re.M)
    text = "\n".join(names)
    python = set(re.findall(r"`(sluice\.[a-z]+)`", text))
    assert {name.removeprefix("sluice.") for name in python} == {
        path.stem for path in (FOLDER / "python/src/sluice").glob("*.py") if not path.name.startswith("_")}
    exports = json.loads((FOLDER / "typescript/package.json").read_text())["exports"]
    assert {f"./{name}" for name in re.findall(r"`@sluice/client/(\w+)`", text)} == set(exports) - {".", "./package.json"}
    go = set(re.findall(r"`sluice\.dev/go/(\w+)`", text))
    assert go == {path.parent.name for path in (FOLDER / "go").glob("*/*.go")} - {"conformance", "web"}
    java = set(re.findall(r"`sluice-([\w-]+)`", text))
    assert java == {path.parent.name for path in (FOLDER / "java").glob("*/pom.xml")} - {"client", "conformance", "example", "test-support"}
    variables = set(re.findall(r"^\| `(SLUICE_\w+)`", text, re.M))
    assert variables == set(re.findall(r"\| `(SLUICE_\w+)` \|", (FOLDER / "CONTRACT.md").read_text()))
    assert {one.sdk for one in LANGUAGES} <= {sdk.name for sdk in SDKS}
