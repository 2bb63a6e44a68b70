"""What the server holds while its API is tested: ids to put in the place of made-up ones, and objects to spare."""

import itertools
import json
import os
import random
import urllib.request
from dataclasses import dataclass
from typing import Any, Optional

KINDS = ("organizations", "tenants", "plans", "policies", "overrides", "keys", "tokens", "agent-tokens", "bindings",
         "group-mappings", "webhooks")
LOCAL = ("plans", "policies", "overrides", "webhooks")   # kinds whose ids are unique within a tenant only
COUNTED = "counted"   # the policy and the plan that overrides are of
# One of each algorithm, which also is its name.
LIMITS: tuple[dict[str, Any], ...] = (
    {"algorithm": "token_bucket", "capacity": 100, "refill": "20/s"},
    {"algorithm": "leaky_bucket", "capacity": 100, "leak": "20/s"},
    {"algorithm": "fixed_window", "limit": 100, "window": "1h"},
    {"algorithm": "sliding_window", "limit": 100, "window": "1h"},
    {"algorithm": "sliding_window_log", "limit": 100, "window": "1h"},
    {"algorithm": "concurrency", "limit": 100, "lease_ttl": "1m", "key_by": ["resource"]},
    {"algorithm": "quota", "limit": 100, "period": "month"},
)
MOST_SPARE = 50
ADMIN = "/v1/admin"
HOOK = "https://hooks.example.invalid/sluice"   # where nobody gets events
MOST_WEBHOOKS = 10   # in a tenant that is made for them; 20 may be
_numbers = itertools.count(1)


@dataclass(frozen=True)
class Thing:
    """An object by its place; `owner` is its tenant's id, or a tenant's organization."""

    id: str
    owner: str = ""


def fresh_id(prefix: str = "t") -> str:
    """An id nobody has used yet."""
    return f"{prefix}-{os.getpid():x}-{next(_numbers)}"


class World:
    """Objects that stay, and others that may be deleted; more of these are made when they run out."""

    def __init__(self, url: str, token: str) -> None:
        self._url = url
        self._token = token
        self.yard = ""   # a tenant that is not among those kept, for what clears all of one
        self._hooked: list[Thing] = []   # tenants that were made for webhooks, once for each of these
        self.kept: dict[str, list[Thing]] = {kind: [] for kind in KINDS}
        self._spare: dict[str, list[Thing]] = {kind: [] for kind in KINDS}

    def call(self, method: str, path: str, body: Optional[dict[str, Any]] = None) -> dict[str, Any]:
        """A call that has to succeed; its answer."""
        request = urllib.request.Request(f"{self._url}{ADMIN}/{path}", method=method,
                                         data=None if body is None else json.dumps(body).encode(),
                                         headers={"Authorization": f"Bearer {self._token}",
                                                  "Content-Type": "application/json"})
        with urllib.request.urlopen(request, timeout=60) as answer:
            found: dict[str, Any] = json.loads(answer.read() or b"{}")
        return found

    def fill(self) -> None:
        """Makes what stays: two organizations, four tenants, and two of each kind in every tenant. They are this
        process' own."""
        for organization in (f"acme{os.getpid():x}", f"globex{os.getpid():x}"):
            self._keep("organizations", {"id": organization})
            for tenant in ("shop", "forum"):
                self._keep("tenants", {"id": f"{organization}-{tenant}", "organization_id": organization})
        self.yard = self.call("POST", "tenants", {"organization_id": self.kept["organizations"][0].id})["id"]
        for tenant in (*self.kept["tenants"], Thing(self.yard)):
            counted = {"tenant_id": tenant.id, "key_by": ["subject"], "limits": list(LIMITS)}
            self.call("PUT", f"plans/{COUNTED}", counted)
            self.call("PUT", f"policies/{COUNTED}", {**counted, "resource": "counted"})
        for tenant in self.kept["tenants"]:
            for number in (1, 2):
                for kind in (*LOCAL, "keys", "bindings", "group-mappings"):
                    self._keep(kind, {**self._body(kind, tenant.id), "id": f"{tenant.id}-{kind}-{number}"})
            for kind in ("tokens", "agent-tokens"):
                self._keep(kind, self._body(kind, tenant.id))

    def _keep(self, kind: str, body: dict[str, Any]) -> None:
        self.kept[kind].append(thing_of(kind, self.call("POST", kind, body)))

    def _body(self, kind: str, tenant: str) -> dict[str, Any]:
        """The least that makes one of a kind."""
        organization = tenant.split("-")[0]
        bodies: dict[str, dict[str, Any]] = {
            "organizations": {"name": "spare"},
            "tenants": {"organization_id": organization},
            "plans": {"tenant_id": tenant, "capacity": 10, "refill": "1/s"},
            "policies": {"tenant_id": tenant, "resource": fresh_id("/r"), "algorithm": "fixed_window",
                         "rate": "9/minute"},
            "overrides": {"tenant_id": tenant, "policy_id": COUNTED, "limit_name": "quota",
                          "identity": {"subject": fresh_id("user")}, "set": {"limit": 500}},
            "keys": {"tenant_id": tenant},
            "tokens": {"name": "spare", "role": "auditor", "organization_id": organization, "tenant_ids": [tenant]},
            "agent-tokens": {"name": "spare", "organization_id": organization, "tenant_ids": [tenant]},
            "webhooks": {"tenant_id": tenant, "url": HOOK},
            "bindings": {"namespace": fresh_id("ns"), "organization_id": organization, "tenant_ids": [tenant]},
            "group-mappings": {"group": fresh_id("g"), "role": "auditor", "organization_id": organization, "tenant_ids": [tenant]},
        }
        return bodies[kind]

    def made(self, kind: str, document: dict[str, Any]) -> None:
        """Remembers what a test made, as something to spare."""
        if kind in self._spare and "id" in document and len(self._spare[kind]) < MOST_SPARE:
            self._spare[kind].append(thing_of(kind, document))

    def any(self, kind: str) -> Thing:
        """One that stays, or one to spare."""
        return random.choice(self.kept[kind] + self._spare[kind][-4:])

    def home(self) -> Thing:
        """A tenant that has a policy and a plan to count by."""
        return random.choice(self.kept["tenants"])

    def tenant_for_webhook(self) -> Thing:
        """A tenant that may have one more."""
        if len(self._hooked) % MOST_WEBHOOKS == 0:
            made = self.call("POST", "tenants", {"organization_id": self.kept["organizations"][0].id})
            self._hooked.append(Thing(made["id"]))
        else:
            self._hooked.append(self._hooked[-1])
        return self._hooked[-1]

    def delivery(self, webhook: Thing) -> str:
        """The id of an event for a webhook."""
        return str(self.call("POST", f"webhooks/{webhook.id}/test?tenant_id={webhook.owner}", {})["id"])

    def spare_override(self) -> None:
        """Makes one in the yard."""
        self.call("POST", "overrides", self._body("overrides", self.yard))

    def victim(self, kind: str) -> Thing:
        """One that nothing refers to and nobody needs; the caller may delete it."""
        made = self._spare[kind].pop() if self._spare[kind] and random.random() < 0.5 else None
        if made is not None:
            return made
        tenant = random.choice(self.kept["tenants"]).id if kind != "webhooks" else self.tenant_for_webhook().id
        prefix = {"id": fresh_id("spare")} if kind not in ("tokens", "agent-tokens") else {}
        return thing_of(kind, self.call("POST", kind, {**self._body(kind, tenant), **prefix}))


def thing_of(kind: str, document: dict[str, Any]) -> Thing:
    """Where an object is, by its document."""
    return Thing(document["id"], document.get("organization_id" if kind in ("tenants", "bindings", "group-mappings") else "tenant_id", ""))
