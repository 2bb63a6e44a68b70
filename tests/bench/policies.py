"""Bundles with many policies in one tenant: half by endpoint, 30 % by user, 15 % by tags, the rest by prefixes; a few
with expressions. A request built by `check_body(k)` is matched by five of them, however many there are."""

import hashlib
import json
from pathlib import Path
from typing import Any

from support.bundle import MintedKey

TAG_NAMES = 20
LIMIT = {"name": "burst", "algorithm": "token_bucket", "capacity": 100_000_000, "refill": "1/10s"}


def policies(count: int) -> list[dict[str, Any]]:
    """`count` ≥ 10 policies, and one more for check.lua. The first by prefix and the first by expression alone match every
    request of check_body."""
    users, tags = count * 30 // 100, max(1, count * 15 // 100)
    prefixes, expressions = min(20, count // 10), min(20, count // 10)
    endpoints = count - users - tags - prefixes - expressions
    made: list[dict[str, Any]] = []
    made += [{"scope": {"endpoint": f"/v1/things/{k}"}} for k in range(endpoints)]
    made += [{"scope": {"user": f"user-{k}"}} for k in range(users)]
    made += [{"scope": {f"tag.t{k % TAG_NAMES}": f"value-{k}"}} for k in range(tags)]
    made += [{"scope": {"service": f"{'x' * k}*" if k else "bill*"}} for k in range(prefixes)]
    made += [{"scope": {}, "match_expr": f"region==eu-{k} && method!=DELETE"} for k in range(expressions)]
    made.append({"scope": {"resource": "GET:/orders"}})  # of the load that wrk makes
    return [{"tenant_id": "bench", "id": f"p{i}", "plan_id": "plan", "key_by": ["user"]} | one
            for i, one in enumerate(made)]


def check_body(k: int) -> dict[str, Any]:
    """Matched by policies k of each kind that has so many, and by the first prefix and expression."""
    return {"endpoint": f"/v1/things/{k}", "user": f"user-{k}", "tags": {f"t{k % TAG_NAMES}": f"value-{k}"},
            "service": "billing", "region": "eu-0", "method": "GET"}


def other_keys(count: int) -> list[dict[str, Any]]:
    """Keys nobody has: their hashes are as long as true ones."""
    return [{"tenant_id": "bench", "id": f"key{i}",
             "key_hash": f"sha256:{hashlib.md5(str(i).encode()).hexdigest()}:{hashlib.sha256(str(i).encode()).hexdigest()}"}
            for i in range(count)]


def write_bundle(path: Path, count: int, keys: int = 0, key: MintedKey | None = None, version: int = 1) -> Path:
    """A bundle of `count` policies and so many keys beside the one that is used."""
    entries = other_keys(keys) + ([{"tenant_id": "bench", "id": key.id, "key_hash": key.hash}] if key else [])
    document = {"format": "sluice/v1", "tenants": [{"id": "bench"}],
                "plans": [{"tenant_id": "bench", "id": "plan", "limits": [LIMIT]}],
                "policies": [one | {"version": version} for one in policies(count)], "keys": entries}
    written = path.with_suffix(".new")
    written.write_text(json.dumps(document))
    written.rename(path)
    return path
