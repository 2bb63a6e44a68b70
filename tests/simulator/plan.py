"""What a run does: chosen from a seed before it begins, and so the same again for the same seed, however the run goes."""

import hashlib
import json
import random
from dataclasses import asdict, dataclass, field
from typing import Any, Optional

from simulator.history import Name, Scope


@dataclass(frozen=True)
class Size:
    """How large a run is."""

    agents: int = 60
    seconds: float = 20
    replicas: int = 2
    organizations: int = 3
    tenants: int = 3            # of each
    policies: int = 20          # of each tenant, at the start
    pause: float = 0.12         # between two writes, on average
    burst: int = 80             # writes in each of the bursts
    faults: tuple[str, ...] = ()
    compiling: int = 4          # agents that compile what they get


@dataclass(frozen=True)
class Call:
    """One write: `does` names each object it writes with a text that will be in its document; None: it removes it."""

    method: str
    path: str
    body: Optional[dict[str, Any]]
    does: tuple[tuple[Name, Optional[str]], ...]
    tenant: str = ""


@dataclass(frozen=True)
class Step:
    """Something to do at a time, in seconds from the begin."""

    at: float
    calls: tuple[Call, ...] = ()   # several: as fast as they go, on several connections
    fault: str = ""                # else this
    target: int = 0                # which replica, which agent
    amount: float = 0.0            # how long, or how much of all


@dataclass(frozen=True)
class Plan:
    """All of it."""

    seed: int
    size: Size
    bundle: dict[str, Any]          # what is there at the start
    scopes: tuple[Scope, ...]       # a token each
    agents: tuple[int, ...]         # the scope of each agent
    writes: tuple[Step, ...]
    faults: tuple[Step, ...]

    def fingerprint(self) -> str:
        """Two plans are the same where this is."""
        return hashlib.sha256(json.dumps(asdict(self), sort_keys=True).encode()).hexdigest()[:16]


# Every fault, and how likely it is chosen where all may be.
FAULTS = {"cut_share": 6, "cut_agent": 2, "hold_agent": 2, "hold_replica": 1, "kill_replica": 3, "end_replica": 2,
          "kill_postgres": 1, "restart_postgres": 1, "restart_agent": 2, "fresh_agent": 1, "refuse": 2, "late": 2}
# What no run survives: to see that it is found.
SABOTAGE = {"tamper": 1}
# The next fault comes only when these are likely over.
LONG = {"hold_replica": 2.0, "kill_replica": 1.5, "end_replica": 1.5, "kill_postgres": 2.0, "restart_postgres": 2.0}


LIMIT = {"name": "burst", "algorithm": "token_bucket", "capacity": 10, "refill": "20/1s"}


@dataclass
class Writer:
    """What is there, and what could be written next."""

    random: random.Random
    organizations: list[str]
    tenants: dict[str, str]                              # with their organization
    policies: dict[str, list[str]] = field(default_factory=dict)
    keys: dict[str, list[str]] = field(default_factory=dict)
    count: int = 0

    def fresh(self, prefix: str) -> str:
        """A name, and a mark, that was not there yet."""
        self.count += 1
        return f"{prefix}{self.count}"

    def policy(self, tenant: str, mark: str, resource: str) -> dict[str, Any]:
        """One of a tenant, all of them told apart by their resource."""
        return {"name": mark, "scope": {"resource": f"GET:/{resource}"}, "plan_id": "pro",
                "priority": self.random.randrange(100), "key_by": ["subject"], "tenant_id": tenant}

    def key(self, name: str) -> dict[str, Any]:
        """An imported one."""
        digest = hashlib.sha256(name.encode()).hexdigest()
        return {"name": name, "key_hash": f"sha256:{digest[:32]}:{digest}"}

    def next(self) -> Call:
        """A write of any kind."""
        tenant = self.random.choice(list(self.tenants))
        choices = {self.put_policy: 8, self.change_policy: 6, self.remove_policy: 3, self.put_plan: 2, self.add_key: 3,
                   self.revoke_key: 2, self.rename_tenant: 1, self.apply: 3, self.rename_organization: 1}
        chosen = self.random.choices(list(choices), list(choices.values()))[0]
        return chosen(tenant) or self.put_policy(tenant)

    def put_policy(self, tenant: str) -> Call:
        """A new one."""
        name = self.fresh("p-")
        self.policies[tenant].append(name)
        body = self.policy(tenant, f"mark {name}.", name)
        return Call("PUT", f"/policies/{name}", body, ((("policy", tenant, name), f"mark {name}."),), tenant)

    def change_policy(self, tenant: str) -> Optional[Call]:
        """One that is there."""
        if not self.policies[tenant]:
            return None
        name, mark = self.random.choice(self.policies[tenant]), f"mark {self.fresh('c')}."
        return Call("PATCH", f"/policies/{name}", {"name": mark}, ((("policy", tenant, name), mark),), tenant)

    def remove_policy(self, tenant: str) -> Optional[Call]:
        """One that is there."""
        if len(self.policies[tenant]) < 3:
            return None
        name = self.policies[tenant].pop(self.random.randrange(len(self.policies[tenant])))
        return Call("DELETE", f"/policies/{name}", None, ((("policy", tenant, name), None),), tenant)

    def put_plan(self, tenant: str) -> Call:
        """Another capacity for the plan of all policies."""
        mark = f"mark {self.fresh('l')}."
        body = {"name": mark, "algorithm": "token_bucket", "bucket_capacity": 10 + self.count, "refill_rate_per_sec": 20}
        return Call("PUT", "/plans/pro", body, ((("plan", tenant, "pro"), mark),), tenant)

    def add_key(self, tenant: str) -> Call:
        """A new one."""
        name = self.fresh("k-")
        self.keys[tenant].append(name)
        return Call("PUT", f"/keys/{name}", {"tenant_id": tenant, **self.key(name)}, ((("key", tenant, name), f'"{name}"'),))

    def revoke_key(self, tenant: str) -> Optional[Call]:
        """One that is there."""
        if not self.keys[tenant]:
            return None
        name = self.keys[tenant].pop(self.random.randrange(len(self.keys[tenant])))
        return Call("DELETE", f"/keys/{name}", None, ((("key", tenant, name), None),))

    def rename_tenant(self, tenant: str) -> Call:
        """What is changed at a tenant itself."""
        mark = f"mark {self.fresh('t')}."
        return Call("PATCH", f"/tenants/{tenant}", {"name": mark}, ((("tenant", "", tenant), mark),))

    def rename_organization(self, tenant: str) -> Call:
        """All of its agents are concerned."""
        mark, name = f"mark {self.fresh('o')}.", self.tenants[tenant]
        return Call("PATCH", f"/organizations/{name}", {"name": mark}, ((("organization", "", name), mark),))

    def apply(self, tenant: str) -> Call:
        """An organization, one or two of its tenants and several new policies of theirs at once. (A bundle must hold what it
        refers to.)"""
        organization, mark = self.tenants[tenant], f"mark {self.fresh('b')}."
        owners = {tenant, self.random.choice([name for name, owner in self.tenants.items() if owner == organization])}
        bundle: dict[str, Any] = {"format": "sluice/v1", "organizations": [{"id": organization, "name": mark}],
                                  "tenants": [], "policies": []}
        does: list[tuple[Name, Optional[str]]] = [(("organization", "", organization), mark)]
        for owner in sorted(owners):
            bundle["tenants"].append({"id": owner, "organization_id": organization, "name": mark})
            does.append((("tenant", "", owner), mark))
            for _ in range(self.random.randint(2, 4)):
                name = self.fresh("a-")
                self.policies[owner].append(name)
                policy = {"id": name, **self.policy(owner, f"mark {name}.", name), "limits": [LIMIT]}
                del policy["plan_id"]
                bundle["policies"].append(policy)
                does.append((("policy", owner, name), f"mark {name}."))
        return Call("POST", "/apply", bundle, tuple(does))

    def burst(self, count: int) -> tuple[Call, ...]:
        """Changes that may be made in any order: each is of an object of its own."""
        return tuple(self.put_policy(self.random.choice(list(self.tenants))) for _ in range(count))


def make_plan(seed: int, size: Size) -> Plan:
    """Chooses everything."""
    chosen = random.Random(seed)
    organizations = [f"o{number}" for number in range(size.organizations)]
    tenants = {f"{organization}-t{number}": organization for organization in organizations for number in range(size.tenants)}
    writer = Writer(chosen, organizations, tenants, {tenant: [] for tenant in tenants}, {tenant: [] for tenant in tenants})
    bundle = first_bundle(writer, size)
    scopes = [Scope(), *(Scope(organization) for organization in organizations[:2]),
              *(Scope(organization, (tenant,)) for tenant, organization in list(tenants.items())[:4]),
              Scope(organizations[-1], tuple(tenant for tenant, owner in tenants.items() if owner == organizations[-1])[:2])]
    agents = [number % len(scopes) for number in range(size.agents)]
    chosen.shuffle(agents)
    faults = choose_faults(chosen, size)
    until = max([size.seconds, *(step.at + 2 for step in faults)])
    writes = choose_writes(chosen, writer, size, until)
    return Plan(seed, size, bundle, tuple(scopes), tuple(agents), tuple(writes), tuple(faults))


def first_bundle(writer: Writer, size: Size) -> dict[str, Any]:
    """What all begins with."""
    policies, keys = [], []
    for tenant in writer.tenants:
        for _ in range(size.policies):
            call = writer.put_policy(tenant)
            assert call.body is not None
            policies.append({"id": call.path.rpartition("/")[2], **call.body})
        name = writer.fresh("k-")
        writer.keys[tenant].append(name)
        keys.append({"tenant_id": tenant, "id": name, **writer.key(name)})
    return {"format": "sluice/v1", "organizations": [{"id": name} for name in writer.organizations],
            "tenants": [{"id": tenant, "organization_id": owner} for tenant, owner in writer.tenants.items()],
            "plans": [{"tenant_id": tenant, "id": "pro", "limits": [LIMIT]} for tenant in writer.tenants],
            "policies": policies, "keys": keys}


def choose_writes(chosen: random.Random, writer: Writer, size: Size, until: float) -> list[Step]:
    """Single writes with pauses of any length, and now and then a few without."""
    steps, at = [], 0.0
    while at < until:
        calls = writer.burst(chosen.randint(5, 20)) if chosen.random() < 0.05 else (writer.next(),)
        steps.append(Step(round(at, 4), calls))
        at += chosen.expovariate(1 / size.pause)
    return steps


def choose_faults(chosen: random.Random, size: Size) -> list[Step]:
    """Each of the faults once, in any order, then any of them while there is time."""
    weights = {**FAULTS, **SABOTAGE}
    possible = [name for name in (size.faults or FAULTS) if name in weights and (size.replicas > 1 or name != "hold_replica")]
    if not possible:
        return []
    first = list(possible)
    chosen.shuffle(first)
    steps: list[Step] = []
    at = 0.6
    while at < size.seconds - 1 or first:
        fault = first.pop() if first else chosen.choices(possible, [weights[name] for name in possible])[0]
        target = chosen.randrange(size.replicas if fault.endswith("replica") else size.agents)
        amount = {"cut_share": chosen.choice((0.1, 0.3, 1.0)), "hold_agent": chosen.uniform(1, 9), "refuse": 1,
                  "hold_replica": chosen.uniform(0.5, 3), "late": chosen.randint(50, 400)}.get(fault, chosen.uniform(0.1, 1.5))
        steps.append(Step(round(at, 3), (), fault, target, round(amount, 3)))
        at += LONG.get(fault, 0.3) + chosen.expovariate(1 / 0.5)
    return steps
