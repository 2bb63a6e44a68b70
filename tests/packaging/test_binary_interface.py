"""What the libraries show and need."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

from support.unpacked import ROOT, Unpacked, packages, run

LISTED = set(re.findall(r"^    (\w+);$", (ROOT / "libsluice/packaging/libsluice.map").read_text(), re.MULTILINE))


def defined(lines: str) -> set[str]:
    return {line.split()[-1] for line in lines.splitlines() if len(line.split()) == 3}


def test_the_shared_library_exports_the_listed_names_and_no_others(unpacked: Unpacked, tmp_path: Path) -> None:
    names = defined(run(["nm", "-D", "--defined-only", str(unpacked.libraries / "libsluice.so.0")], tmp_path))
    assert len(LISTED) > 50
    assert names == {f"{name}@@SLUICE_0" for name in LISTED} 


def test_the_static_library_shows_the_same_names(unpacked: Unpacked, tmp_path: Path) -> None:
    """So a program may have another Boost, or ours with other settings."""
    assert defined(run(["nm", "-g", "--defined-only", str(unpacked.libraries / "libsluice.a")], tmp_path)) == LISTED


def test_every_function_that_the_header_of_c_declares_is_exported(unpacked: Unpacked) -> None:
    header = re.sub(r"/\*.*?\*/", "", (unpacked.usr / "include/sluice/sluice.h").read_text(), flags=re.DOTALL)
    declared = set(re.findall(r"\b(sluice_\w+)\((?!\*)[^;{]*\);", header))
    assert declared == {name for name in LISTED if name.startswith("sluice_")}


def test_the_static_library_holds_machine_code(unpacked: Unpacked, tmp_path: Path) -> None:
    """No objects of link-time optimization, which a compiler of another version cannot read."""
    run(["ar", "x", str(unpacked.libraries / "libsluice.a")], tmp_path)
    objects = list(tmp_path.iterdir())
    assert [file.name for file in objects] == ["libsluice.o"]
    assert objects[0].read_bytes()[:4] == b"\x7fELF"


def test_only_libraries_of_debian_are_linked(unpacked: Unpacked, tmp_path: Path) -> None:
    dynamic = run(["readelf", "-d", str(unpacked.libraries / "libsluice.so.0")], tmp_path)
    needed = re.findall(r"NEEDED.*\[(.+)\]", dynamic)
    assert needed and "RUNPATH" not in dynamic and "RPATH" not in dynamic
    for name in needed:
        run(["dpkg-query", "-S", f"*/{name}"], tmp_path)


def test_the_packages_depend_on_what_they_need() -> None:
    def field(package: str, name: str) -> str:
        return run(["dpkg-deb", "-f", str(packages()[package]), name], ROOT).strip()

    version = field("libsluice0", "Version")
    needs = {need.split()[0] for need in field("libsluice0", "Depends").split(", ")}
    assert {"libc6", "libstdc++6", "libssl3"} <= needs
    assert field("libsluice-dev", "Depends") == f"libsluice0 (= {version})"
    assert "libssl-dev" in field("libsluice-dev", "Recommends")
    for package in packages():
        assert field(package, "Description").count("\n") >= 2


def test_the_binary_interface_is_that_of_the_last_release() -> None:
    run([str(ROOT / "scripts/abi"), "--no-build"], ROOT)


def outcome(old: str, new: str, folder: Path) -> tuple[int, str]:
    """What scripts/abi says of a header in which `old` became `new`."""
    header = (ROOT / "libsluice/include/sluice/sluice.h").read_text()
    assert old in header
    for name, text in (("base", header), ("changed", header.replace(old, new))):
        (folder / name / "sluice").mkdir(parents=True)
        (folder / name / "sluice/sluice.h").write_text(text)
        # One function is enough to bring all types of the header.
        (folder / name / "check.c").write_text(
            "#include <sluice/sluice.h>\nint32_t sluice_check(sluice_engine* engine, const sluice_request* request, "
            "sluice_decision* decision) { (void)engine; (void)request; return decision->code; }\n")
        run(["clang-19", "-g", "-shared", "-fPIC", "-I.", "check.c", "-o", "library.so"], folder / name)
        run(["abidw", "--out-file", "library.abi", "library.so"], folder / name)
    done = subprocess.run([sys.executable, str(ROOT / "scripts/abi_compare.py"), "base/library.abi", "changed/library.abi",
                           str(ROOT / "libsluice/abi/allowed.suppr")], cwd=folder, capture_output=True, text=True, check=False)
    return done.returncode, done.stdout + done.stderr


def test_a_member_at_the_end_of_a_struct_that_tells_its_size_is_allowed(tmp_path: Path) -> None:
    code, text = outcome("  sluice_text headers; ", "  sluice_text headers; int64_t more; ", tmp_path)
    assert code == 0, text


@pytest.mark.parametrize("old, new", [
    ("  int64_t limit;", "  int64_t more;\n  int64_t limit;"),           # a member in the middle
    ("  int64_t remaining;", "  double remaining;"),                    # of another type
    ("  int64_t remaining;", "  int64_t rest;"),                        # renamed
    ("  const char* data; /*", "  size_t first; const char* data; /*"),  # in a struct within
])
def test_another_change_of_a_struct_is_refused(old: str, new: str, tmp_path: Path) -> None:
    code, text = outcome(old, new, tmp_path)
    assert code == 1 and "add members at the end only" in text, text
