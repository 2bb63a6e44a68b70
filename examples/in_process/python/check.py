"""Checks four requests, then holds a lease and gives it back."""
from sluice_engine import Engine

with Engine(bundle_file="policies.yaml") as engine:
    for _ in range(4):
        decision = engine.check(resource="GET:/orders", subject="user:42")
        print(f"{decision.action}: {decision.reason}, {decision.remaining} left")
    lease = engine.check(job_type="export", user="ann")
    if lease.allowed:
        print("exporting")
        engine.release(lease.lease_id)
