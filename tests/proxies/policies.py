"""The policies of docs/proxies/README.md, in a file that changes while the agent runs."""

import os
from pathlib import Path

import yaml

from proxies.page import files_of
from support.bundle import MintedKey


class Policies:
    """The bundle of the page, with the test's key."""

    def __init__(self, path: Path, key: MintedKey) -> None:
        self.path = path
        self.document = yaml.safe_load(files_of("README")["policies.yaml"])
        assert [entry["id"] for entry in self.document["keys"]] == ["proxy"], "the page shows one key"
        self.key_entry = self.document["keys"][0]
        self.key_entry.update(id=key.id, key_hash=key.hash)
        self.write()

    @property
    def limit(self) -> int:
        """How many requests one client may send at once."""
        return int(self.document["plans"][0]["limits"][0]["capacity"])

    def set_limit(self, capacity: int) -> None:
        """Another number, in force as soon as the agent has seen it."""
        self.document["plans"][0]["limits"][0]["capacity"] = capacity
        self.write()

    def write(self) -> None:
        """Replaces the file."""
        new = self.path.with_suffix(".new")
        new.write_text(yaml.safe_dump(self.document))
        os.rename(new, self.path)
