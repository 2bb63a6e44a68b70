"""What an image holds, as an SPDX 2.3 document: packages with their versions, and every file with its hash."""

import hashlib
import os
import re
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Optional

from packages import NpmPackage, Package

DOCUMENT = "SPDXRef-DOCUMENT"
IMAGE = "SPDXRef-Image"
UNKNOWN = "NOASSERTION"
Json = dict[str, Any]


def _id(kind: str, name: str) -> str:
    return f"SPDXRef-{kind}-" + re.sub(r"[^A-Za-z0-9.-]", "-", name)


def _package(identifier: str, name: str, version: str, licence: str = UNKNOWN, **more: Any) -> Json:
    return {"SPDXID": identifier, "name": name, "versionInfo": version, "downloadLocation": UNKNOWN, "filesAnalyzed": False,
            "licenseConcluded": UNKNOWN, "licenseDeclared": licence, "copyrightText": UNKNOWN, **more}


def _debian(package: Package) -> Json:
    locator = f"pkg:deb/debian/{package.name}@{package.version}?arch={package.architecture}&distro=debian-12"
    return _package(_id("Package", package.name), package.name, package.version, supplier="Organization: Debian",
                    sourceInfo=f"built from Debian's source package {package.source} {package.source_version}; "
                               f"licences: /usr/share/doc/{package.name}/copyright",
                    externalRefs=[{"referenceCategory": "PACKAGE-MANAGER", "referenceType": "purl",
                                   "referenceLocator": locator.replace("+", "%2B")}])


def _npm(package: NpmPackage) -> Json:
    locator = f"pkg:npm/{package.name.replace('@', '%40')}@{package.version}"
    return _package(_id("Npm", package.name), package.name, package.version, package.licence,
                    checksums=[{"algorithm": "SHA512", "checksumValue": package.sha512}],
                    externalRefs=[{"referenceCategory": "PACKAGE-MANAGER", "referenceType": "purl", "referenceLocator": locator}])


def _file(number: int, path: str, content: bytes) -> Json:
    return {"SPDXID": f"SPDXRef-File-{number}", "fileName": "." + path, "licenseConcluded": UNKNOWN, "copyrightText": UNKNOWN,
            "checksums": [{"algorithm": "SHA1", "checksumValue": hashlib.sha1(content).hexdigest()},
                          {"algorithm": "SHA256", "checksumValue": hashlib.sha256(content).hexdigest()}]}


def _relation(one: str, kind: str, other: str) -> Json:
    return {"spdxElementId": one, "relationshipType": kind, "relatedSpdxElement": other}


def document(name: str, version: str, root: Path, files: Mapping[str, Optional[Package]],
             compiled_in: Sequence[Package], embedded: Sequence[NpmPackage] = ()) -> Json:
    """Of the tree at `root`: `files` says for each path in it the package it comes from, None for our own.
    `compiled_in`: packages of which parts are in our programs. `embedded`: those of which parts are in the console, which is in the
    server's program."""
    own = _package(_id("Package", f"{name}-own"), name, version, "Apache-2.0",
                   supplier="Organization: Sluice", primaryPackagePurpose="APPLICATION")
    held = {package.name: package for package in files.values() if package}
    packages = [_package(IMAGE, f"{name}-image", version, primaryPackagePurpose="CONTAINER"), own]
    packages += [_debian(package) for _, package in sorted((held | {item.name: item for item in compiled_in}).items())]
    packages += [_npm(package) for package in embedded]
    relations = [_relation(DOCUMENT, "DESCRIBES", IMAGE), _relation(IMAGE, "CONTAINS", own["SPDXID"])]
    relations += [_relation(IMAGE, "CONTAINS", _id("Package", item)) for item in sorted(held)]
    relations += [_relation(own["SPDXID"], "STATIC_LINK", _id("Package", item.name)) for item in compiled_in]
    relations += [_relation(own["SPDXID"], "CONTAINS", _id("Npm", item.name)) for item in embedded]
    records = []
    total = hashlib.sha256()
    for number, path in enumerate(sorted(files), 1):
        content = (root / path.lstrip("/")).read_bytes()
        records.append(_file(number, path, content))
        total.update(f"{path} {hashlib.sha256(content).hexdigest()}\n".encode())
        package = files[path]
        relations.append(_relation(_id("Package", package.name) if package else own["SPDXID"], "CONTAINS",
                                   records[-1]["SPDXID"]))
    created = time.gmtime(int(os.environ.get("SOURCE_DATE_EPOCH") or time.time()))
    return {"spdxVersion": "SPDX-2.3", "dataLicense": "CC0-1.0", "SPDXID": DOCUMENT, "name": f"{name}-{version}",
            "documentNamespace": f"https://sluice.dev/spdx/{name}-{version}-{total.hexdigest()}",
            "creationInfo": {"created": time.strftime("%Y-%m-%dT%H:%M:%SZ", created), "creators": ["Tool: sluice-images"]},
            "packages": packages, "files": records, "relationships": relations}
