"""Builds bundles (`sluice/v1`) and mints the keys in them."""

import json
import subprocess
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

@dataclass(frozen=True)
class MintedKey:
    """An API key as a caller has it, and what a bundle stores of it."""

    text: str
    id: str
    hash: str


def mint_key(program: Path) -> MintedKey:
    """Asks `sluice-agent mint-key` for a key."""
    printed = subprocess.run([str(program), "mint-key"], capture_output=True, text=True, check=True, timeout=60).stdout
    minted = json.loads(printed)
    return MintedKey(minted["key"], minted["id"], minted["key_hash"])


@dataclass
class Bundle:
    """A bundle in the making. Objects belong to `tenant` unless they name another one."""

    tenant: str = "acme"
    document: dict[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.document = {"format": "sluice/v1", "mode": "enforce", "organizations": [{"id": "org", "name": "Org"}],
                         "tenants": [], "plans": [], "policies": [], "keys": [], "overrides": []}
        self.add_tenant(self.tenant)

    def add_tenant(self, name: str, **fields: Any) -> "Bundle":
        """One more tenant."""
        self.document["tenants"].append({"id": name, "organization_id": "org", **fields})
        return self

    def plan(self, name: str, *limits: dict[str, Any], tenant: str = "", **fields: Any) -> "Bundle":
        """A plan counted per subject unless `key_by` says otherwise."""
        self.document["plans"].append({"tenant_id": tenant or self.tenant, "id": name, "key_by": ["subject"],
                                       "limits": list(limits), **fields})
        return self

    def policy(self, name: str, scope: dict[str, Any], plan: str, tenant: str = "", **fields: Any) -> "Bundle":
        """A policy that gives a plan to what its scope matches."""
        self.document["policies"].append({"tenant_id": tenant or self.tenant, "id": name, "scope": scope,
                                          "plan_id": plan, "key_by": ["subject"], **fields})
        return self

    def key(self, key: MintedKey, tenant: str = "", **fields: Any) -> "Bundle":
        """A key of a tenant."""
        self.document["keys"].append({"tenant_id": tenant or self.tenant, "id": key.id, "name": "test",
                                      "key_hash": key.hash, **fields})
        return self

    def override(self, name: str, **fields: Any) -> "Bundle":
        """An exception for one identity."""
        self.document["overrides"].append({"tenant_id": self.tenant, "id": name, **fields})
        return self

    def write(self, path: Path) -> Path:
        """Writes it as JSON."""
        path.write_text(json.dumps(self.document, indent=1))
        return path


def token_bucket(capacity: int, refill: str, name: str = "burst", **more: Any) -> dict[str, Any]:
    """A token bucket; `refill` as "7/3s"."""
    return {"name": name, "algorithm": "token_bucket", "capacity": capacity, "refill": refill, **more}


def leaky_bucket(capacity: int, leak: str, name: str = "smooth", **more: Any) -> dict[str, Any]:
    """A leaky bucket; `leak` as "7/3s"."""
    return {"name": name, "algorithm": "leaky_bucket", "capacity": capacity, "leak": leak, **more}


def window(algorithm: str, limit: int, length: str, name: str = "window", **more: Any) -> dict[str, Any]:
    """A fixed_window, sliding_window or sliding_window_log."""
    return {"name": name, "algorithm": algorithm, "limit": limit, "window": length, **more}


def concurrency(limit: int, lease_ttl: str, name: str = "at_once", **more: Any) -> dict[str, Any]:
    """A limit of what runs at the same time."""
    return {"name": name, "algorithm": "concurrency", "limit": limit, "lease_ttl": lease_ttl, **more}


def quota(limit: int, period: str, name: str = "quota", **more: Any) -> dict[str, Any]:
    """A budget for a calendar period."""
    return {"name": name, "algorithm": "quota", "limit": limit, "period": period, **more}


def many_policies(tenant: str, organization: str, policies: int) -> dict[str, Any]:
    """A valid bundle of so many policies, each of about 150 bytes."""
    limits = [{"name": "l", "algorithm": "fixed_window", "limit": 9, "window": "1m"}]
    document: dict[str, Any] = {"format": "sluice/v1", "organizations": [{"id": organization}],
                                "tenants": [{"id": tenant, "organization_id": organization}],
                                "plans": [{"tenant_id": tenant, "id": "plan", "limits": limits}], "policies": []}
    one = {"tenant_id": tenant, "plan_id": "plan", "key_by": ["subject"]}
    for number in range(policies):
        document["policies"].append({**one, "id": f"p{number}", "scope": {"resource": f"GET:/r/{number}"}})
    return document
