"""What every script of scripts/ owes who only asks what it does, and what scripts/up says at its start."""

import os
import shutil
import socket
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from support.installed import IMAGES

ROOT = Path(__file__).resolve().parents[2]
SCRIPTS = sorted(path for path in (ROOT / "scripts").iterdir()
                 if path.is_file() and path.suffix in ("", ".py") and path.name != "lib.sh")
# Words before the flag: who wonders about a command asks there.
BEFORE = {"postgres": [["start"], ["url"], ["init"], ["forget"]], "setup": [["test"]], "down": [["now"]], "bench": [["overload"]],
          "kube-cluster": [["build"], ["start"], ["exec"], ["load"], ["stop"], ["check"], ["render"]], "test": [["--quick"]],
          "fuzz": [["yaml"]], "image": [["sluice"]], "up": [["--no-demo"]], "coverage": [["--no-build"]], "format-check": [["--fix"]]}


def run(script: Path, folder: Path, *arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
    """Runs it from another folder, as somebody without built programs and without our variables."""
    ours = {name: value for name, value in os.environ.items() if not name.startswith("SLUICE_")}
    command = [str(script)] if script.stat().st_mode & stat.S_IXUSR else [sys.executable, str(script)]
    return subprocess.run([*command, *arguments], cwd=folder, capture_output=True, text=True, timeout=60, check=False,
                          stdin=subprocess.DEVNULL, env={**ours, "PYTHONDONTWRITEBYTECODE": "1", **environment})


def test_there_are_scripts() -> None:
    assert {"up", "down", "demo", "test", "docs", "mutate"} <= {script.name for script in SCRIPTS}


@pytest.mark.parametrize("flag", ["--help", "-h"])
@pytest.mark.parametrize("script", SCRIPTS, ids=lambda script: script.name)
def test_help_explains_a_script_and_never_traces_back(script: Path, flag: str, tmp_path: Path) -> None:
    for words in [[], *BEFORE.get(script.name, [])]:
        for environment in ({}, {"PYTHONIOENCODING": "ascii"}, {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}):
            done = run(script, tmp_path, *words, flag, **environment)
            assert done.returncode == 0, (words, environment, done)
            assert "Traceback" not in done.stdout + done.stderr, (words, environment, done)
            if script.name != "functions.py":   # a module that others import, and no command
                assert len(done.stdout.splitlines()) >= 3, (words, done)
    assert list(tmp_path.iterdir()) == [], "it leaves nothing behind"


@pytest.mark.parametrize("script, typed, meant", [
    ("up", "--prot", "--port"), ("up", "--no-dmo", "--no-demo"), ("down", "--hlep", "--help"), ("test", "--quik", "--quick"),
    ("coverage", "--mim=3", "--min"), ("demo", "--bust", "--burst"), ("docs", "--chekc", "--check"), ("mutate", "--olny", "--only")])
def test_an_unknown_option_of_a_script_is_answered_with_the_nearest_one(script: str, typed: str, meant: str, tmp_path: Path) -> None:
    done = run(ROOT / "scripts" / script, tmp_path, typed)
    assert done.returncode != 0 and f"unknown option '{typed}': did you mean {meant}?" in done.stderr, done
    unlike = run(ROOT / "scripts" / script, tmp_path, "--xyzzy")
    assert unlike.returncode != 0 and "did you mean" not in unlike.stderr and "--help" in unlike.stderr, unlike


def test_the_start_and_the_stop_say_what_is_stopped() -> None:
    places = {"README.md": ("`scripts/down` stops", "\n\n"), "scripts/down": ("# Stops", "\n\n"), "scripts/up": ("stop all of it:", "\nTEXT")}
    for page, (begin, end) in places.items():
        said = (ROOT / page).read_text().split(begin, 1)[1].split(end, 1)[0]
        assert all(name in said for name in ("agents", "server", "Redis", "PostgreSQL", "scripts/down")) or page == "README.md", page
        assert "Redis" in said and "stay for the next" in said, page


def how_long(*programs: Path) -> str:
    """What a start that needs these programs says."""
    done = subprocess.run(["bash", "-c", '. "$0"; how_long "$@"', str(ROOT / "scripts/lib.sh"), *map(str, programs)], capture_output=True,
                          text=True, timeout=60, check=True)
    return done.stdout


def test_a_start_says_how_long_it_takes_bare_and_built(tmp_path: Path) -> None:
    built = tmp_path / "program"
    built.write_text("#!/bin/sh\n")
    built.chmod(0o755)
    assert "less than a minute" in how_long(built)
    bare = how_long(built, tmp_path / "none")
    assert "minutes" in bare and "compiles" in bare and f"{len(os.sched_getaffinity(0))} cores" in bare


def test_up_says_so_before_it_does_anything(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:   # it ends at the ports, before it builds
        port = taken.getsockname()[1]
        done = run(ROOT / "scripts/up", tmp_path, "--port", str(port), SLUICE_RUN_DIR=str(tmp_path / "run"))
    assert done.returncode == 1 and f"port {port} is in use" in done.stderr, done
    assert done.stdout.lstrip().startswith("This takes"), done.stdout


def test_the_suite_for_clusters_builds_every_image_that_its_pods_run(tmp_path: Path) -> None:
    scripts, called = tmp_path / "scripts", tmp_path / "called"
    scripts.mkdir()
    for name in ("test", "lib.sh", "test_sum.py"):
        shutil.copy(ROOT / "scripts" / name, scripts)
    for name in ("setup", "image", "kube-cluster", "cmake"):
        (scripts / name).write_text(f'#!/bin/sh\necho "$(basename "$0") $*" >>{called}\n')
        (scripts / name).chmod(0o755)
    run(scripts / "test", tmp_path, "--k8s", PATH=f"{scripts}:{os.environ['PATH']}")   # ends at the tests, which are not there
    built = next(line.split()[1:] for line in called.read_text().splitlines() if line.startswith("image"))
    assert {f"sluice-{name}".replace("sluice-sluice", "sluice") for name in built} == set(IMAGES)
