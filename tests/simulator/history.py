"""What really happened: every revision, its chain, and what each scope held at it, computed here from the rows that
PostgreSQL has, apart from the code under test (documented in common/sync/object.hpp and checksum.hpp)."""

import bisect
import hashlib
import json
import struct
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, Optional

from support.postgres import Database

# Kinds of objects that agents are told of, as the store and as the wire call them.
WIRE = {"setting": "settings", "organization": "organization", "tenant": "tenant", "plan": "plan", "policy": "policy",
        "key": "key"}
LISTS = {"organizations": "organization", "tenants": "tenant", "plans": "plan", "policies": "policy", "keys": "key"}
BESIDE = 96   # bytes of an object on the wire, beside its document
LANES = struct.Struct("<4Q")
Name = tuple[str, str, str]   # kind, tenant, id, as on the wire


def object_hash(name: Name, document: str) -> bytes:
    """SHA-256 of kind, tenant, id and document, each behind its length (8 bytes, big-endian)."""
    hashed = hashlib.sha256()
    for part in (*name, document):
        text = part.encode()
        hashed.update(len(text).to_bytes(8, "big"))
        hashed.update(text)
    return hashed.digest()


@dataclass
class Sum:
    """The order-free sum of hashes: four little-endian lanes of 64 bits."""

    lanes: list[int] = field(default_factory=lambda: [0, 0, 0, 0])

    def add(self, digest: bytes, sign: int = 1) -> None:
        """Adds a hash, or with -1 takes it away."""
        for lane, value in enumerate(LANES.unpack(digest)):
            self.lanes[lane] = (self.lanes[lane] + sign * value) % 2 ** 64

    def hex(self) -> str:
        """As it is written."""
        return LANES.pack(*self.lanes).hex()


def checksum(objects: Iterable[tuple[Name, str]]) -> str:
    """Of whole contents."""
    total = Sum()
    for name, document in objects:
        total.add(object_hash(name, document))
    return total.hex()


@dataclass(frozen=True)
class Scope:
    """How far a token reaches: the platform, an organization, or some tenants of one."""

    organization: str = ""
    tenants: tuple[str, ...] = ()

    def reaches(self, organization: str, tenant: str) -> bool:
        """Whether what stands at a place is within it. The settings, at ("", ""), are within each."""
        if not self.organization or not organization:
            return True
        return organization == self.organization and (not tenant or not self.tenants or tenant in self.tenants)

    def __str__(self) -> str:
        return "platform" if not self.organization else "/".join((self.organization, "+".join(self.tenants) or "*"))


@dataclass(frozen=True)
class Change:
    """One object that a revision wrote or removed, as the store has it."""

    revision: int
    kind: str
    organization: str
    tenant: str
    id: str
    version: int
    document: Optional[str]   # None: removed

    @property
    def name(self) -> Name:
        """As on the wire; only of kinds that agents are told of."""
        if self.kind == "setting":
            return ("settings", "", "")
        return (WIRE[self.kind], self.tenant if self.kind in ("plan", "policy", "key") else "", self.id)

    @property
    def place(self) -> tuple[str, str]:
        """Whose it is."""
        return (self.organization, self.id if self.kind == "tenant" else self.tenant)

    @property
    def sent(self) -> Optional[str]:
        """The document as agents get it: policies with their version, which decides between equal ones."""
        if self.document is None or self.kind != "policy" or self.version == 1:
            return self.document
        return f'{self.document[:-1]},"version":{self.version}}}'


class History:
    """All revisions from `base` on, whose chain is known. Scopes' sums are made when they are first asked for."""

    def __init__(self, base: int, base_chain: str, settings: str, changes: Sequence[Change]) -> None:
        self.base = base
        self._settings = settings   # at the very beginning, which no change tells of
        self._changes = sorted(changes, key=lambda change: change.revision)   # stable: in a revision, as they were made
        self.by_revision: dict[int, list[Change]] = defaultdict(list)
        for change in self._changes:
            self.by_revision[change.revision].append(change)
        self.head = max(self.by_revision, default=base)
        self.chains = {base: base_chain}
        for revision in range(base + 1, self.head + 1):
            digest = bytes.fromhex(self.chains[revision - 1]) + self._digest(self.by_revision.get(revision, []))
            self.chains[revision] = hashlib.sha256(digest).hexdigest()
        self._sums: dict[Scope, tuple[list[int], list[str]]] = {}

    @staticmethod
    def _digest(changes: list[Change]) -> bytes:
        """Of what the chain covers (server/store/change_log.cpp)."""
        hashed = hashlib.sha256()
        for change in changes:
            for text in (change.kind, change.organization, change.tenant, change.id, str(change.version),
                         "removed" if change.document is None else "written", change.document or ""):
                part = text.encode()
                hashed.update(f"{len(part)}:".encode() + part)
        return hashed.digest()

    def _within(self, scope: Scope) -> Iterator[Change]:
        return (change for change in self._changes if change.kind in WIRE and scope.reaches(*change.place))

    def _timeline(self, scope: Scope) -> tuple[list[int], list[str]]:
        if scope not in self._sums:
            total, hashes = Sum(), {("settings", "", ""): object_hash(("settings", "", ""), self._settings)}
            total.add(hashes[("settings", "", "")])
            revisions, sums = [0], [total.hex()]
            for change in self._within(scope):
                if change.name in hashes:
                    total.add(hashes.pop(change.name), -1)
                if change.sent is not None:
                    hashes[change.name] = object_hash(change.name, change.sent)
                    total.add(hashes[change.name])
                if revisions[-1] == change.revision:
                    sums[-1] = total.hex()
                else:
                    revisions.append(change.revision)
                    sums.append(total.hex())
            self._sums[scope] = (revisions, sums)
        return self._sums[scope]

    def checksum(self, scope: Scope, revision: int) -> str:
        """What a scope's objects add up to at a revision."""
        revisions, sums = self._timeline(scope)
        return sums[bisect.bisect_right(revisions, revision) - 1]

    def last_change(self, scope: Scope) -> int:
        """The revision that changed a scope last."""
        return self._timeline(scope)[0][-1]

    def delta_is_large(self, scope: Scope, since: int, revision: int) -> bool:
        """Whether what changed between two revisions is about as much as all there is: then a server may send that."""
        content = self.content(scope, revision)
        touched = {change.name for change in self._within(scope) if since < change.revision <= revision}
        changed = sum(BESIDE + len(content.get(name, "")) for name in touched)
        return 1.2 * changed >= sum(BESIDE + len(document) for document in content.values())

    def content(self, scope: Scope, revision: "int | None" = None) -> dict[Name, str]:
        """A scope's objects, at the end or at a revision."""
        found = {("settings", "", ""): self._settings}
        for change in self._within(scope):
            if revision is not None and change.revision > revision:
                break
            found.pop(change.name, None)
            if change.sent is not None:
                found[change.name] = change.sent
        return found


def read_position(database: Database) -> tuple[int, str]:
    """The head, from the database."""
    rows = database.execute("SELECT revision, encode(chain, 'hex') FROM revision")
    return (rows[0][0], rows[0][1])


def read_history(database: Database, base: tuple[int, str]) -> History:
    """All of it, from the database. `base`: a position that was read before."""
    rows = database.execute(
        "SELECT c.revision, c.kind, c.organization_id, c.tenant_id, c.id, c.version, v.document::text FROM changes c"
        " LEFT JOIN versions v USING (kind, organization_id, tenant_id, id, version) ORDER BY c.revision, c.ordinal")
    return History(*base, '{"mode":"enforce"}', [Change(*row) for row in rows])


def exported_objects(text: str) -> Iterator[tuple[Name, str, dict[str, Any]]]:
    """Of an export: each object, its document byte for byte, and the same read. Without the settings."""
    decoder = json.JSONDecoder()
    for list_name, kind in LISTS.items():
        begin = text.index(f'\n"{list_name}":[') + len(list_name) + 5
        while True:
            while text[begin] in ",\n":
                begin += 1
            if text[begin] == "]":
                break
            document, end = decoder.raw_decode(text, begin)
            tenant = document["tenant_id"] if kind in ("plan", "policy", "key") else ""
            yield (kind, tenant, document["id"]), text[begin:end], document
            begin = end
