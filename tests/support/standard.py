"""The bundle most end-to-end tests use: two tenants, a plan for each algorithm, policies of every mode."""

from support.bundle import Bundle, MintedKey, concurrency, leaky_bucket, quota, token_bucket, window

# Windows so long that no test meets their end, and rates so low that nothing comes back during one.
HOUR = "1h"


def standard_bundle(key: MintedKey, other_key: MintedKey) -> Bundle:
    """Two tenants; `acme` has a plan for each algorithm and policies of every mode."""
    bundle = Bundle().key(key).add_tenant("rival").key(other_key, tenant="rival")
    bundle.plan("bucket", token_bucket(5, "1/1h"))
    bundle.plan("leaky", leaky_bucket(5, "1/1h"))
    bundle.plan("fixed", window("fixed_window", 5, "1d", align="first"))
    bundle.plan("sliding", window("sliding_window", 5, "1d"))
    bundle.plan("log", window("sliding_window_log", 5, HOUR))
    bundle.plan("leases", concurrency(2, HOUR))
    bundle.plan("short-leases", concurrency(2, "300ms"))
    bundle.plan("monthly", quota(5, "month"))
    bundle.plan("two", token_bucket(10, "1/1h"), window("fixed_window", 3, "1d", name="daily", align="first"))
    bundle.plan("tokens", token_bucket(5, "1/1h"), token_bucket(1000, "1/1h", name="tokens", unit="tokens"))
    bundle.plan("units", token_bucket(30, "1/1h"), token_bucket(120, "1/1h", name="tokens", unit="tokens"),
                token_bucket(700, "1/1h", name="bytes", unit="bytes"))
    bundle.plan("by-address", token_bucket(5, "1/1h"), key_by=["source_ip"])
    bundle.plan("delaying", token_bucket(2, "1/1h"), action="delay", max_delay="2h")
    bundle.plan("sampling", token_bucket(1, "1/1h"), action="sample", sample_rate=1)
    bundle.plan("downgrading", token_bucket(1, "1/1h"), action="downgrade", downgrade_to="basic")
    bundle.plan("strict-identity", token_bucket(5, "1/1h"), require_key_by=True)
    bundle.plan("rivals", token_bucket(5, "1/1h"), tenant="rival")
    bundle.policy("orders", {"resource": "GET:/orders"}, "bucket", metadata={"team": "sales"}, version=7)
    bundle.policy("off", {"resource": "GET:/off"}, "bucket", mode="off")
    bundle.policy("shadowed", {"resource": "GET:/shadow"}, "bucket", mode="shadow")
    bundle.override("vip", policy_id="orders", limit_name="burst", identity={"subject": "user:vip"},
                    set={"capacity": 50})
    return bundle
