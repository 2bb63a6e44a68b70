"""What the testbed says where it cannot run: before anything is started, all at once, with what to do."""

import fcntl
import os
import subprocess
from pathlib import Path

import pytest

from testbed import binary, requirements, toolchain
from testbed.failure import Failure
from testbed.layout import Layout


def test_without_cgroup_v1_a_node_is_refused_and_v1_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "cgroup.controllers").write_text("cpu memory\n")
    monkeypatch.setattr(requirements, "CGROUPS", tmp_path)
    assert any("cgroup v1" in fault for fault in requirements.missing(node=True))
    assert not any("cgroup" in fault for fault in requirements.missing(node=False))


def test_a_controller_that_is_not_mounted_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("cpu", "cpuset", "pids"):
        (tmp_path / name).mkdir()
    monkeypatch.setattr(requirements, "CGROUPS", tmp_path)
    assert any(fault.endswith(": memory") for fault in requirements.missing(node=True))


def test_another_user_than_root_is_told_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    assert any("needs root" in fault for fault in requirements.missing(node=True))
    assert not any("root" in fault for fault in requirements.missing(node=False))


def test_missing_programs_are_named_by_their_packages(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(requirements.shutil, "which", lambda *_, **__: None)
    faults = requirements.missing(node=True)
    assert "containerd" in faults[0] and "containernetworking-plugins" in faults[0] and "scripts/setup kube" in faults[0]


def test_a_folder_too_deep_for_a_socket_is_refused() -> None:
    with pytest.raises(Failure, match="too deep"):
        Layout(Path("/tmp", "x" * 100)).check()


def test_sources_decide_which_binary_is_meant(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for source in binary.TESTBED.sources():
        (tmp_path / source.name).write_bytes(source.read_bytes())
    before = binary.binary_path()
    monkeypatch.setattr(binary, "SOURCE", tmp_path)
    assert binary.binary_path() == before
    (tmp_path / "main.go").write_text("package main\n")
    assert binary.binary_path() != before


def test_a_second_builder_waits_and_takes_what_the_first_made(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    path = binary.binary_path()
    path.parent.mkdir(parents=True)
    with open(path.parent.parent / "lock", "w", encoding="utf-8") as first:
        fcntl.flock(first, fcntl.LOCK_EX)
        second = subprocess.Popen(["/usr/bin/python3", "-m", "testbed", "build"], stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                  text=True, cwd=Path(__file__).resolve().parents[1])
        assert second.stderr is not None and "waiting for it" in second.stderr.readline()
        path.touch()
    assert second.communicate(timeout=30)[0].strip() == str(path)
    assert second.returncode == 0


def test_an_old_go_and_none_are_told_apart(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    old, new = tmp_path / "old", tmp_path / "new"
    for place, version in ((old, "go1.19.8"), (new, "go1.21.0")):
        place.write_text(f"#!/bin/sh\necho {version}\n")
        place.chmod(0o755)
    module = binary.SOURCE / "go.mod"
    fetched: list[str] = []
    monkeypatch.setattr(toolchain, "_fetch", lambda go: fetched.append(go) or Path("/fetched/go"))
    monkeypatch.setenv("PATH", "")
    monkeypatch.setattr(toolchain, "PLACES", ())
    with pytest.raises(Failure, match="scripts/setup kube"):
        toolchain.find_go(module)
    monkeypatch.setattr(toolchain, "PLACES", (str(old),))
    assert toolchain.find_go(module) == "/fetched/go" and fetched == [str(old)]
    monkeypatch.setattr(toolchain, "PLACES", (str(old), str(new)))
    assert toolchain.find_go(module) == str(new)
