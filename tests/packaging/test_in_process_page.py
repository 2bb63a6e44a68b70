"""What docs/guide/in-process.md shows works as it is pasted."""

import os
import sys
from collections.abc import Callable
from pathlib import Path

from support.markdown import ROOT, Page
from support.unpacked import EXAMPLES, Unpacked, run
from testbed.toolchain import find_go

PAGE = Page(ROOT / "docs/guide/in-process.md")


def programs(language: str, begin: str) -> list[str]:
    return [block.text for block in PAGE.blocks(language) if block.text.startswith(begin)]


def with_policies(folder: Path) -> Path:
    (shown,) = PAGE.blocks("yaml")
    (folder / "policies.yaml").write_text(shown.text)
    return folder


def test_the_policies_and_the_ten_lines_are_those_of_the_examples() -> None:
    assert [block.text for block in PAGE.blocks("yaml")] == [(EXAMPLES / "policies.yaml").read_text()]
    (ten_lines,) = programs("cpp", "#include")
    assert ten_lines == (EXAMPLES / "cpp/check.cpp").read_text()
    assert len([line for line in ten_lines.splitlines() if line]) == 10


def test_the_ten_lines_print_what_the_page_shows(compiler: Callable[[str], str], unpacked: Unpacked, tmp_path: Path) -> None:
    (ten_lines,) = programs("cpp", "#include")
    (with_policies(tmp_path) / "check.cpp").write_text(ten_lines)
    compiler("g++")
    (shown,) = [block.text for block in PAGE.blocks("text") if block.text.startswith("$ g++")]
    first, second, *printed = shown.splitlines()
    run(["bash", "-c", first.removeprefix("$ ")], tmp_path, unpacked.env)
    assert run([second.removeprefix("$ ")], tmp_path, unpacked.env).splitlines() == printed


def test_each_fragment_of_cpp_compiles(compiler: Callable[[str], str], unpacked: Unpacked, tmp_path: Path) -> None:
    fragments = [block.text for block in PAGE.blocks("cpp") if not block.text.startswith("#include")]
    assert len(fragments) >= 4
    functions = "".join(f"void f{number}([[maybe_unused]] sluice::v1::Engine& engine) {{\n{text}}}\n" for number, text in enumerate(fragments))
    (tmp_path / "all.cpp").write_text("#include <sluice/engine.hpp>\n#include <iostream>\n#include <utility>\n" + functions)
    run([compiler("g++"), "-std=c++20", "-Wall", "-Wextra", "-fsyntax-only", *unpacked.pkg_config("--cflags", "sluice"), "all.cpp"], tmp_path)


def test_the_program_in_c_runs(compiler: Callable[[str], str], unpacked: Unpacked, tmp_path: Path) -> None:
    (text,) = programs("c", "#include")
    (with_policies(tmp_path) / "check.c").write_text(text)
    run([compiler("gcc"), "-std=c99", "-Wall", "-Werror", "check.c", "-o", "check", *unpacked.pkg_config("--cflags", "--libs", "sluice")], tmp_path)
    assert run(["./check"], tmp_path, unpacked.env) == "allowed\n"


def test_the_program_in_python_runs(unpacked: Unpacked, tmp_path: Path) -> None:
    (text,) = programs("python", "from")
    (with_policies(tmp_path) / "check.py").write_text(text)
    env = {**unpacked.env, "PYTHONPATH": str(EXAMPLES / "python")}
    assert run([sys.executable, "check.py"], tmp_path, env) == "True 2\n"


def test_the_program_in_go_runs(unpacked: Unpacked, tmp_path: Path) -> None:
    (text,) = programs("go", "package main")
    module = tmp_path / "module"
    (module / "sluice").mkdir(parents=True)
    (module / "main.go").write_text(text)
    for name in ("go.mod", "sluice/sluice.go"):
        (module / name).write_text((EXAMPLES / "go" / name).read_text())
    env = {**unpacked.env, "GOWORK": "off", "GOTOOLCHAIN": "auto", "GOFLAGS": "", "CGO_ENABLED": "1", "HOME": os.environ.get("HOME", str(tmp_path))}
    run([find_go(module / "go.mod"), "build", "-o", str(tmp_path / "check"), "."], module, env)
    assert run(["./check"], with_policies(tmp_path), unpacked.env) == "true 2\n"
