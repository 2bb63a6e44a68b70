"""The wheel: what is in it, its types, and the quick start of its README, pasted into an empty folder."""

import os
import re
import subprocess
import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest

from sdk.python.web import PYTHON, environment
from sdk.sdks import FOLDER
from support.agent import Agent
from support.bundle import MintedKey
from support.markdown import Page
from support.standard import standard_bundle

SDK = FOLDER / "python"


def run(*words: object, cwd: Path, env: "dict[str, str] | None" = None) -> str:
    """What a program prints; it must end with 0."""
    done = subprocess.run([str(word) for word in words], cwd=cwd, capture_output=True, text=True, timeout=300, check=False,
                          env={**os.environ, **(env or {})})
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-3000:]
    return done.stdout


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The wheel, built from a source distribution, as a release is."""
    folder = tmp_path_factory.mktemp("wheel")
    environment()
    run(PYTHON, "-m", "build", "--no-isolation", "--outdir", folder, SDK, cwd=folder)
    (found,) = folder.glob("*.whl")
    return found


def test_the_wheel_has_the_package_with_its_types_and_needs_nothing(wheel: Path) -> None:
    with zipfile.ZipFile(wheel) as archive:
        names = archive.namelist()
        (metadata,) = (name for name in names if name.endswith(".dist-info/METADATA"))
        text = archive.read(metadata).decode()
    expected = {f"sluice/{path.relative_to(SDK / 'src/sluice')}" for path in (SDK / "src/sluice").iterdir() if path.is_file()}
    assert {name for name in names if ".dist-info/" not in name} == expected
    assert "sluice/py.typed" in names
    required = re.findall(r"^Requires-Dist: (.*)$", text, re.M)
    assert required and all("extra ==" in one for one in required)


def test_the_quick_start_works_as_it_is_pasted(wheel: Path, make_agent: Callable[..., Agent], key: MintedKey, other_key: MintedKey,
                                               tmp_path: Path) -> None:
    agent = make_agent(standard_bundle(key, other_key), "memory").start()
    block = Page(SDK / "README.md").blocks("sh")[0]
    empty = tmp_path / "empty"
    empty.mkdir()
    # pip finds the wheel where a registry would be.
    printed = run("bash", "-ec", block.text, cwd=empty, env={
        "PIP_NO_INDEX": "1", "PIP_FIND_LINKS": str(wheel.parent), "PIP_DISABLE_PIP_VERSION_CHECK": "1", "PYTHONPATH": "",
        "SLUICE_URL": f"http://127.0.0.1:{agent.port}", "SLUICE_API_KEY": key.text, "SLUICE_TIMEOUT": "10s"})
    lines = [line for line in printed.splitlines() if re.match(r"\d ", line)]
    assert [line.split()[1] for line in lines] == ["True"] * 5 + ["False"] * 2
    assert lines[-1].split()[2] == "0" and float(lines[-1].split()[3]) > 3000


def test_the_core_runs_without_any_other_package(wheel: Path, tmp_path: Path) -> None:
    run("/usr/bin/python3", "-m", "venv", tmp_path / "venv", cwd=tmp_path)
    python = tmp_path / "venv/bin/python"
    run(python, "-m", "pip", "install", "--quiet", "--no-index", wheel, cwd=tmp_path)
    printed = run(python, "-c", "import sluice, sluice.testing, sluice.logging, sluice.kafka, sys\n"
                  "print(sluice.testing.always_allow().check('a', 'b').allowed, sluice.__version__)", cwd=tmp_path)
    assert printed.startswith("True 0.")


def test_the_blocks_of_the_readme_in_python_compile_and_the_doubles_work(tmp_path: Path) -> None:
    blocks = [block.text for block in Page(SDK / "README.md").blocks("python")]
    for text in blocks:
        compile("def block():\n" + "".join(f"    {line}\n" for line in text.splitlines()), "README.md", "exec")
    (doubles,) = (text for text in blocks if "sluice.testing" in text)
    run(PYTHON, "-c", doubles, cwd=tmp_path, env=environment())


def test_the_types_are_strict(tmp_path: Path) -> None:
    run(PYTHON, "-m", "mypy", "--cache-dir", tmp_path / "mypy", cwd=SDK, env=environment())
    (tmp_path / "user.py").write_text("import sluice\nclient = sluice.Client()\nreveal_type(client.check('a', 'b').retry_after)\n"
                                      "with client.lease('a') as lease:\n    reveal_type(lease.lost)\nclient.check(5)\n")
    done = subprocess.run([str(PYTHON), "-m", "mypy", "--strict", "--cache-dir", str(tmp_path / "mypy"), str(tmp_path / "user.py")],
                          capture_output=True, text=True, cwd=tmp_path, env={**os.environ, "MYPYPATH": str(SDK / "src")}, check=False)
    assert "float | None" in done.stdout and 'Revealed type is "bool"' in done.stdout.replace("builtins.", ""), done.stdout
    assert 'incompatible type "int"' in done.stdout and "Found 1 error" in done.stdout, done.stdout


def test_the_example_serves(tmp_path: Path) -> None:
    code = "import example; print(sorted(route.path for route in example.app.routes if 'orders' in route.path))"
    assert "/orders/{number}" in run(PYTHON, "-c", code, cwd=SDK, env=environment())
