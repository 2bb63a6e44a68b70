"""The bill of materials of an image names what is compiled in: Debian's packages, and npm's of the console.

`e2e_cluster/test_images.py` looks at the documents of whole images.
"""

import base64
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parents[2]
sys.path.append(str(ROOT / "images"))

from packages import npm_package, recorded  # noqa: E402
from sbom import document  # noqa: E402

CONSOLE = ROOT / "server/console"


@pytest.fixture
def compiled_in(server_program: Path, tmp_path: Path) -> Path:
    """What compiled_in.sh says of the build under test."""
    build = server_program.parents[1]
    done = subprocess.run([ROOT / "images/compiled_in.sh", build], capture_output=True, text=True, check=True)
    file = tmp_path / "compiled-in"
    file.write_text(done.stdout)
    return file


def test_it_names_each_package_of_npm_that_the_console_embeds_as_the_lock_file_pins_it(compiled_in: Path, tmp_path: Path) -> None:
    debian, embedded = recorded(compiled_in)
    made = document("sluice", "1.2.3", tmp_path, {}, debian, embedded)
    packages: dict[str, Any] = {each["SPDXID"]: each for each in made["packages"]}
    own = next(each for each in packages if each.endswith("-own"))
    held = [packages[each["relatedSpdxElement"]] for each in made["relationships"]
            if each["spdxElementId"] == own and each["relationshipType"] == "CONTAINS"]
    lock = json.loads((CONSOLE / "package-lock.json").read_text())["packages"]
    asked_for = json.loads((CONSOLE / "package.json").read_text())["dependencies"]
    assert set(asked_for) <= {each["name"] for each in held}
    for each in held:
        pinned = lock[f"node_modules/{each['name']}"]
        assert not pinned.get("dev"), f"{each['name']} only builds the console"
        assert (each["versionInfo"], each["licenseDeclared"]) == (pinned["version"], pinned["license"])
        digest = base64.b64decode(pinned["integrity"].removeprefix("sha512-")).hex()
        assert each["checksums"] == [{"algorithm": "SHA512", "checksumValue": digest}]
    locators = {each["externalRefs"][0]["referenceLocator"] for each in held}
    assert f"pkg:npm/%40preact/signals@{lock['node_modules/@preact/signals']['version']}" in locators


def test_it_names_debians_packages_that_are_compiled_in(compiled_in: Path) -> None:
    debian, _ = recorded(compiled_in)
    assert {"libboost1.81-dev", "rapidjson-dev", "clang-19", "libssl-dev", "libc6-dev"} <= {each.name for each in debian}


def test_an_integrity_that_is_no_sha512_is_refused() -> None:
    with pytest.raises(ValueError, match="the package left has an integrity that is not a sha512"):
        npm_package("left 1.0.0 sha1-2jmj7l5rSw0yVb/vlWAYkK/YBwk= MIT")
