"""What an OCI archive of scripts/image holds: its configuration, and the tree its layers make."""

import hashlib
import io
import json
import tarfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Optional


@dataclass(frozen=True)
class Entry:
    """A file of the tree. `sha256` is "" for what is no regular file."""

    kind: str       # "file", "link", "folder"
    mode: int
    owner: int
    sha256: str


class ImageArchive:
    """Read whole, once."""

    def __init__(self, path: Path) -> None:
        with tarfile.open(path) as archive:
            blobs = {member.name: archive.extractfile(member) for member in archive.getmembers() if member.isfile()}
            contents = {name: stream.read() for name, stream in blobs.items() if stream}
        index = json.loads(contents["index.json"])
        manifest = self._json(contents, index["manifests"][0]["digest"])
        image = self._json(contents, manifest["config"]["digest"])
        self.name: str = index["manifests"][0]["annotations"]["org.opencontainers.image.ref.name"]
        self.config: dict[str, Any] = image["config"]
        self.entries: dict[str, Entry] = {}
        self._texts: dict[str, bytes] = {}
        for layer in manifest["layers"]:
            self._apply(self._blob(contents, layer["digest"]))

    @staticmethod
    def _blob(contents: dict[str, bytes], digest: str) -> bytes:
        return contents["blobs/" + digest.replace(":", "/")]

    def _json(self, contents: dict[str, bytes], digest: str) -> Any:
        return json.loads(self._blob(contents, digest))

    def _apply(self, layer: bytes) -> None:
        with tarfile.open(fileobj=io.BytesIO(layer)) as archive:
            for member in archive:
                path = "/" + member.name.removeprefix("./").strip("/")
                content: Optional[bytes] = None
                if member.isreg() or member.islnk():
                    stream = archive.extractfile(member)
                    content = stream.read() if stream else b""
                kind = "file" if content is not None else "folder" if member.isdir() else "link"
                self.entries[path] = Entry(kind, member.mode, member.uid,
                                           hashlib.sha256(content).hexdigest() if content is not None else "")
                if content is not None and len(content) < 10_000_000:
                    self._texts[path] = content

    def text(self, path: str) -> str:
        """A file's."""
        return self._texts[path].decode()

    def files(self) -> dict[str, str]:
        """Path and hash of every regular file."""
        return {path: entry.sha256 for path, entry in self.entries.items() if entry.kind == "file"}
