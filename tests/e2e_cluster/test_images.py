"""What the images hold: who they run as, what is not in them, and that their bill of materials is true."""

import base64
import json
import re
import stat
from collections.abc import Callable
from pathlib import Path

import pytest

from support.oci import ImageArchive

ROOT = Path(__file__).resolve().parents[2]
NAMES = ("sluice", "sluice-postgres", "sluice-redis")
SBOM = "/usr/share/sluice/sbom.spdx.json"

Image = Callable[[str], ImageArchive]

each_image = pytest.mark.parametrize("name", NAMES)


@each_image
def test_an_image_runs_as_nobody_in_particular(image: Image, name: str) -> None:
    assert image(name).config["User"] == "65532:65532"
    assert image(name).name == f"localhost/{name}:dev"


@each_image
def test_an_image_holds_no_tool_for_an_intruder(image: Image, name: str) -> None:
    programs = {Path(path).name for path, entry in image(name).entries.items() if entry.kind == "file" and entry.mode & 0o111}
    assert not programs & {"gcc", "cc", "clang", "clang-19", "ld", "as", "apt", "apt-get", "dpkg", "perl", "python3", "curl",
                           "bash"}


def test_the_programs_image_has_no_shell_and_nothing_to_run_but_the_programs(image: Image) -> None:
    sluice = image("sluice")
    runnable = {path for path, entry in sluice.entries.items() if entry.kind == "file" and path.startswith("/usr/bin/")}
    assert runnable == {"/usr/bin/sluice-agent", "/usr/bin/sluice-server", "/usr/bin/sluicectl"}
    assert not {"/bin/sh", "/usr/bin/sh", "/usr/bin/dash", "/usr/sbin"} & {
        path for path, entry in sluice.entries.items() if entry.kind != "folder"}


@each_image
def test_no_file_of_an_image_is_privileged_or_writable_by_others(image: Image, name: str) -> None:
    for path, entry in image(name).entries.items():
        if entry.kind == "file":
            assert not entry.mode & (stat.S_ISUID | stat.S_ISGID | stat.S_IWOTH), path
            assert entry.owner == 0, path


@each_image
def test_the_bill_of_materials_names_every_file_with_its_hash(image: Image, name: str) -> None:
    document = json.loads(image(name).text(SBOM))
    told = {file["fileName"].removeprefix("."): next(
        item["checksumValue"] for item in file["checksums"] if item["algorithm"] == "SHA256") for file in document["files"]}
    held = image(name).files()
    del held[SBOM]
    assert told == held


@each_image
def test_the_bill_of_materials_gives_each_file_one_owner_that_it_describes(image: Image, name: str) -> None:
    document = json.loads(image(name).text(SBOM))
    packages = {item["SPDXID"]: item for item in document["packages"]}
    owners: dict[str, list[str]] = {}
    for relation in document["relationships"]:
        if relation["relationshipType"] == "CONTAINS" and relation["relatedSpdxElement"].startswith("SPDXRef-File-"):
            owners.setdefault(relation["relatedSpdxElement"], []).append(relation["spdxElementId"])
    assert set(owners) == {file["SPDXID"] for file in document["files"]}
    assert all(len(found) == 1 and found[0] in packages for found in owners.values())
    libc = packages["SPDXRef-Package-libc6"]
    assert re.match(r"2\.36-", libc["versionInfo"])
    assert libc["externalRefs"][0]["referenceLocator"].startswith("pkg:deb/debian/libc6@2.36-")


def test_the_bill_of_materials_names_our_version_and_what_was_compiled_in(image: Image) -> None:
    version = re.search(r"^project\(sluice VERSION (\S+)", (ROOT / "CMakeLists.txt").read_text(), re.MULTILINE)
    document = json.loads(image("sluice").text(SBOM))
    assert version and document["name"] == f"sluice-{version.group(1)}"
    linked = {item["relatedSpdxElement"] for item in document["relationships"] if item["relationshipType"] == "STATIC_LINK"}
    assert {"SPDXRef-Package-libboost1.81-dev", "SPDXRef-Package-rapidjson-dev"} <= linked


def test_the_bill_of_materials_names_the_packages_of_npm_that_the_console_embeds(image: Image) -> None:
    document = json.loads(image("sluice").text(SBOM))
    own = next(item["relatedSpdxElement"] for item in document["relationships"]
               if item["spdxElementId"] == "SPDXRef-Image" and item["relatedSpdxElement"].endswith("-own"))
    contained = {item["relatedSpdxElement"] for item in document["relationships"]
                 if item["spdxElementId"] == own and item["relationshipType"] == "CONTAINS"}
    embedded = {item["name"]: item for item in document["packages"] if item["SPDXID"] in contained}
    lock = json.loads((ROOT / "server/console/package-lock.json").read_text())["packages"]
    asked_for = json.loads((ROOT / "server/console/package.json").read_text())["dependencies"]
    assert set(asked_for) <= set(embedded)
    for name, package in embedded.items():
        pinned = lock[f"node_modules/{name}"]
        assert not pinned.get("dev"), f"{name} only builds the console"
        assert (package["versionInfo"], package["licenseDeclared"]) == (pinned["version"], pinned["license"])
        assert package["externalRefs"][0]["referenceLocator"] == f"pkg:npm/{name.replace('@', '%40')}@{pinned['version']}"
        digest = base64.b64decode(pinned["integrity"].removeprefix("sha512-")).hex()
        assert package["checksums"] == [{"algorithm": "SHA512", "checksumValue": digest}]


@each_image
def test_an_image_carries_the_licences_of_what_it_holds(image: Image, name: str) -> None:
    document = json.loads(image(name).text(SBOM))
    contained = {relation["relatedSpdxElement"] for relation in document["relationships"]
                 if relation["spdxElementId"] == "SPDXRef-Image"}
    debian = [item["name"] for item in document["packages"] if item["SPDXID"] in contained and item["SPDXID"].startswith("SPDXRef-Package-") and "externalRefs" in item]
    assert debian
    for package in debian:
        assert f"/usr/share/doc/{package}/copyright" in image(name).files()


@each_image
def test_the_document_beside_the_archive_is_the_one_inside(image: Image, image_file: Callable[[str], Path], name: str) -> None:
    assert image_file(name).with_suffix(".spdx.json").read_text() == image(name).text(SBOM)
