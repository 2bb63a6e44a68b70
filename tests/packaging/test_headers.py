"""The public headers by themselves."""

from collections.abc import Callable
from pathlib import Path

import pytest

from support.unpacked import Unpacked, run

WARNINGS = ["-Wall", "-Wextra", "-Wpedantic", "-Wconversion", "-Wshadow", "-Werror", "-fsyntax-only"]


@pytest.mark.parametrize("name", ["g++", "clang++-14", "clang++-19"])
@pytest.mark.parametrize("standard", ["c++20", "c++2b"])
def test_headers_compile_as_cpp_without_a_warning(
        name: str, standard: str, compiler: Callable[[str], str], unpacked: Unpacked, tmp_path: Path) -> None:
    for header in ("engine.hpp", "sluice.h"):   # asio.hpp includes Boost: test_compiled_against.py
        # Not by -isystem: warnings in a system's headers are hidden.
        (tmp_path / "t.cpp").write_text(f"#include <sluice/{header}>\n")
        run([compiler(name), f"-std={standard}", *WARNINGS, f"-I{unpacked.usr}/include", "t.cpp"], tmp_path)


@pytest.mark.parametrize("name", ["gcc", "clang-14", "clang-19"])
@pytest.mark.parametrize("standard", ["c99", "c11", "c2x"])
def test_the_header_of_c_compiles_without_a_warning(
        name: str, standard: str, compiler: Callable[[str], str], unpacked: Unpacked, tmp_path: Path) -> None:
    (tmp_path / "t.c").write_text("#include <sluice/sluice.h>\n")
    run([compiler(name), f"-std={standard}", *WARNINGS, f"-I{unpacked.usr}/include", "t.c"], tmp_path)


def test_the_header_of_cpp_includes_nothing_but_the_standard_library(unpacked: Unpacked) -> None:
    lines = (unpacked.usr / "include/sluice/engine.hpp").read_text().splitlines()
    included = [line.split("<")[1].rstrip(">") for line in lines if line.startswith("#include")]
    assert included and all("/" not in name and "." not in name for name in included)
