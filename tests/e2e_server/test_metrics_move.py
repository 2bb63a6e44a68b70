"""Every metric moves when what it counts happens: each row of docs/reference/metrics.md is driven here, or a test that drives
it is named. A metric without an entry fails."""

import ast
import contextlib
import re
import struct
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Optional

import pytest

from support.admin import AdminClient, bucket, fresh_id
from support.agent import Agent
from support.bundle import Bundle, MintedKey, concurrency, token_bucket, window
from support.client import fresh_subject
from support.grpc_client import DECISIONS, GrpcClient, message
from support.http2_frames import DATA, END_HEADERS, END_STREAM, HEADERS, SETTINGS, Http2Connection, frame, request_fields
from support.metrics_table import AGENT, SERVER, Table
from support.process import free_port, wait_until
from support.rate_limits import ask, write_config
from support.raw import RawConnection
from support.redis_server import RedisServer
from support.reload import rename_over, text_of
from support.server import Server
from support.sync_client import SyncAgent

TESTS = Path(__file__).parents[1]
MOVE_SECONDS = 30.0
INITIAL_WINDOW_SIZE = 4   # a setting of HTTP/2
TABLES = {"agent": AGENT, "server": SERVER}

# What stays as it is while the program runs, or moves only when the allocator asks for more.
OF_PROCESS = {"sluice_build_info", "process_max_fds", "process_start_time_seconds", "process_resident_memory_bytes",
              "process_virtual_memory_bytes"}
CONSTANT = {
    "agent": {*OF_PROCESS, "sluice_memory_counters_limit_bytes"},
    "server": {*OF_PROCESS, "sluice_postgres_max_connections", "sluice_request_memory_limit_bytes"}}

RULES = """
domain: shop
descriptors:
  - {key: user, rate_limit: {unit: year, requests_per_unit: 2}}
  - {key: trial, shadow_mode: true, rate_limit: {unit: year, requests_per_unit: 1}}
"""


def bundle_of(key: MintedKey) -> Bundle:
    """Policies of each mode and failure mode, and an override."""
    bundle = Bundle().key(key).plan("bucket", token_bucket(5, "1/1h")).plan("lease", concurrency(1, "60s"))
    bundle.plan("window", window("fixed_window", 1, "1h"))
    for name, fields in {"orders": {}, "open": {"failure_mode": "fail_open"}, "degrade": {"failure_mode": "fail_degrade"},
                         "trial": {"mode": "shadow"}}.items():
        bundle.policy(name, {"resource": name}, "bucket", **fields)
    return bundle.override("vip", plan_id="bucket", limit_name="burst", identity={"subject": "vip"}, set={"capacity": 9})


@dataclass
class World:
    """An agent with a bundle, a server, and an agent that follows it; each of them counts in one of two Redis."""

    key: MintedKey
    bundle: Bundle
    redis: RedisServer
    agent: Agent
    grpc_port: int
    limits: Path
    server: Server
    admin: AdminClient
    shared: RedisServer        # of the server and its agents
    follower: Agent
    tenant: str
    tenant_key: str
    start_follower: Callable[[], Agent]

    def scrape(self) -> dict[str, list[str]]:
        """What each program says."""
        return {"agent": [self.agent.metrics(), self.follower.metrics()], "server": [str(self.server.probe("/metrics").body)]}


@dataclass
class Drive:
    """What happens, and the metrics that move by it, by program."""

    act: Callable[[World], Iterator[None]]
    moves: dict[str, set[str]] = field(default_factory=dict)


DRIVES: dict[str, Drive] = {}


def drive(agent: str = "", server: str = "") -> Callable[[Callable[[World], Iterator[None]]], None]:
    """Registers what happens until its `yield`; what is behind that brings the world back. `sluice_` is left out of names."""
    def register(act: Callable[[World], Iterator[None]]) -> None:
        DRIVES[act.__name__] = Drive(act, {"agent": {full(name) for name in agent.split()},
                                           "server": {full(name) for name in server.split()}})
    return register


def full(name: str) -> str:
    """The metric's whole name; behind a `=` it is whole already."""
    if name.startswith("="):
        return name[1:]
    ours = f"sluice_{name}"
    return ours if ours in AGENT.types or ours in SERVER.types else name


@drive(agent="decisions_total decision_duration_seconds algorithm_duration_seconds limit_utilization decisions_near_limit_total "
             "unmatched_total http_requests_total redis_command_duration_seconds redis_writes_total rl_allowed_total "
             "rl_blocked_total requests_total =decisions_total decisions_allowed_total decisions_denied_total "
             "algorithm_latency_ms policy_cache_hit_total process_cpu_seconds_total snapshot_age_seconds")
def checks(world: World) -> Iterator[None]:
    """Five pass, the sixth does not; one matches no policy."""
    subject = fresh_subject()
    with world.agent.client(world.key.text) as client:
        assert [client.check(resource="orders", subject=subject).status for _ in range(6)] == [200] * 5 + [429]
        client.check(resource="none", subject=subject)
    yield


@drive(agent="shadow_decisions_total decisions_shadow_total")
def a_check_in_shadow(world: World) -> Iterator[None]:
    """A policy in shadow mode judges."""
    with world.agent.client(world.key.text) as client:
        assert client.check(resource="trial", subject=fresh_subject()).body["shadow"]
    yield


@drive(agent="http_refused_total http_bad_requests_total http_open_connections http_connections_total process_open_fds")
def refusals(world: World) -> Iterator[None]:
    """A wrong key, bytes that are no HTTP request, and a connection that stays open."""
    with world.agent.client("none") as client:
        assert client.check(resource="orders", subject="u").status == 401
    with RawConnection(world.agent.port) as open_one, RawConnection(world.agent.port) as raw:
        reply = raw.send(b"nonsense\r\n\r\n").reply()
        assert reply is not None and reply.status == 400
        assert open_one is not None
        yield


@drive(agent="checks_held held_checks_total")
def a_held_check(world: World) -> Iterator[None]:
    """It waits for a lease, until that is given back."""
    with world.agent.client(world.key.text) as client:
        subject = fresh_subject()
        lease = client.check(plan_id="lease", subject=subject).body["lease_id"]
        with world.agent.client(world.key.text) as waiting:
            thread = threading.Thread(target=lambda: waiting.check(plan_id="lease", subject=subject, wait="20s"))
            thread.start()
            wait_until("a held check", lambda: world.agent.metric("sluice_checks_held") == 1)
            timed_out = client.check(plan_id="lease", subject=subject, wait="1ms")
            assert timed_out.status == 429
            yield
            client.release(lease)
            thread.join()


@drive(agent="checks_in_flight redis_waiting redis_window overload_total")
def a_slow_redis(world: World) -> Iterator[None]:
    """More checks than may be in flight wait for it, and more calls than its window of 512."""
    world.redis.cli("CLIENT", "PAUSE", 3000)

    def ask_many() -> None:
        with world.agent.client(world.key.text) as client:
            client.batch(*[{"plan_id": "bucket", "subject": fresh_subject()} for _ in range(240)])

    threads = [threading.Thread(target=ask_many) for _ in range(4)]
    for thread in threads:
        thread.start()
    yield
    for thread in threads:
        thread.join()
    world.agent.wait_for_redis(world.key.text, "bucket")


@drive(agent="grpc_requests_total grpc_open_connections grpc_connections_total")
def a_call_over_grpc(world: World) -> Iterator[None]:
    """Its connection stays open."""
    with GrpcClient(f"127.0.0.1:{world.grpc_port}", world.key.text) as client:
        client.check(resource="orders", subject=fresh_subject())
        yield


@drive(agent="grpc_waiting_output_bytes")
def a_reply_that_nobody_reads(world: World) -> Iterator[None]:
    """The client's flow control leaves no room for it."""
    check = message("CheckRequest", resource="orders", subject=fresh_subject()).SerializeToString()
    with Http2Connection(world.grpc_port) as raw:
        raw.send(frame(SETTINGS, 0, 0, struct.pack(">HI", INITIAL_WINDOW_SIZE, 0)))
        raw.send(frame(HEADERS, END_HEADERS, 1, request_fields(f"/{DECISIONS}/Check", ("x-api-key", world.key.text)))
                 + frame(DATA, END_STREAM, 1, b"\0" + struct.pack(">I", len(check)) + check))
        yield


@drive(agent="ratelimit_requests_total ratelimit_descriptors_total ratelimit_service_rate_limit_total_hits "
             "ratelimit_service_rate_limit_within_limit ratelimit_service_rate_limit_near_limit "
             "ratelimit_service_rate_limit_over_limit ratelimit_service_rate_limit_shadow_mode "
             "ratelimit_service_should_rate_limit_error")
def rate_limits_of_envoy(world: World) -> Iterator[None]:
    """Two pass, the third does not; one in shadow mode does; one names no domain."""
    user = fresh_subject()
    with world.agent.client() as client:
        assert [ask(client, "shop", [("user", user)]).status for _ in range(3)] == [200, 200, 429]
        assert [ask(client, "shop", [("trial", user)]).status for _ in range(2)] == [200, 200]
        assert ask(client, "", [("user", user)]).status == 400
    yield


@drive(agent="ratelimit_config_loads_total ratelimit_config_refused ratelimit_service_config_load_error "
             "ratelimit_service_config_load_success")
def files_of_rate_limits(world: World) -> Iterator[None]:
    """One good change, one faulty one."""
    loaded = world.agent.metric("sluice_ratelimit_config_loads_total", result="loaded")
    rename_over(world.limits, RULES + "  - {key: later, rate_limit: {unit: year, requests_per_unit: 5}}\n")
    wait_until("the load", lambda: world.agent.metric("sluice_ratelimit_config_loads_total", result="loaded") > loaded)
    rename_over(world.limits, "domain: [")
    yield
    rename_over(world.limits, RULES)
    wait_until("good files", lambda: world.agent.metric("sluice_ratelimit_config_refused") == 0)


@drive(agent="bundle_loads_total bundle_refused snapshot_revision snapshot_objects snapshot_index_entries limit_configured "
             "limit_window_seconds limit_configured_omitted override_publications_total")
def the_bundle_file(world: World) -> Iterator[None]:
    """A plan too wide to be listed, a policy, a key's override; then a faulty file."""
    changed = bundle_of(world.key).plan("a-new", *[window("fixed_window", 7, "1m", name=f"l{number}") for number in range(16)])
    for number in range(70):
        changed.policy(f"new-{number}", {"resource": f"new-{number}"}, "a-new")
    changed.override("vip2", plan_id="bucket", limit_name="burst", identity={"subject": "vip2"}, set={"capacity": 9})
    rename_over(world.agent.bundle, text_of(changed))  # type: ignore[arg-type]
    wait_until("the new policies", lambda: world.agent.metric("sluice_snapshot_objects", kind="policies") == 74)
    rename_over(world.agent.bundle, "{")  # type: ignore[arg-type]
    yield
    rename_over(world.agent.bundle, text_of(world.bundle))  # type: ignore[arg-type]
    wait_until("the former bundle", lambda: world.agent.metric("sluice_snapshot_objects", kind="policies") == 4)


@drive(agent="sync_announcements_total sync_fetches_total snapshot_revision snapshot_objects snapshot_index_entries sync_snapshot_bytes",
       server="http_requests_total http_request_duration_seconds feed_reads_total feed_revision feed_revisions_total feed_snapshot_bytes "
              "sync_announcements_total sync_watch_changes_total sync_built_documents_total sync_built_bytes_total "
              "sync_fetched_bytes_total sync_fetches_total process_cpu_seconds_total")
def a_policy_through_the_api(world: World) -> Iterator[None]:
    """The follower hears of it and fetches it."""
    policies = world.follower.metric("sluice_snapshot_objects", kind="policies")
    body = {"scope": {"resource": fresh_id("resource")}, "plan_id": "pro"}
    assert world.admin.put(f"/policies/{fresh_id('policy')}", body, tenant=world.tenant).status == 201
    wait_until("the policy", lambda: world.follower.metric("sluice_snapshot_objects", kind="policies") > policies)
    yield


@drive(server="sync_merged_changes_total")
def many_policies_at_once(world: World) -> Iterator[None]:
    """An announcement covers several of them."""
    for number in range(300):
        assert world.admin.put("/plans/busy", bucket(id="busy", bucket_capacity=number + 1), tenant=world.tenant).status in (200, 201)
    yield


@drive(agent="sync_reports_total", server="sync_reports_total fleet_reports_total fleet_statements_total "
                                          "redis_tenant_bytes redis_tenant_keys redis_memory_used_bytes")
def usage(world: World) -> Iterator[None]:
    """Checks are reported, and their counters lie in Redis."""
    with world.follower.client(world.tenant_key) as client:
        for _ in range(20):
            assert client.check(plan_id="pro", subject=fresh_subject()).status == 200
    yield


@drive(server="redis_memory_max_bytes redis_eviction_policy_ok")
def a_redis_with_little_memory(world: World) -> Iterator[None]:
    """The next survey sees it."""
    world.shared.cli("CONFIG", "SET", "maxmemory", "100mb")
    world.shared.cli("CONFIG", "SET", "maxmemory-policy", "allkeys-lru")
    yield
    world.shared.cli("CONFIG", "SET", "maxmemory-policy", "noeviction")
    world.shared.cli("CONFIG", "SET", "maxmemory", "0")


@drive(server="process_open_fds fleet_agents sync_watches redis_users redis_users_written_total redis_users_removed_total")
def another_agent(world: World) -> Iterator[None]:
    """With a token of its own, for whom the server makes a user in Redis; another token ends."""
    former = world.admin.create("/agent-tokens", {"name": fresh_id("former"), "tenant_ids": [world.tenant]})
    wait_until("its user", lambda: world.server.metric("sluice_redis_users") >= 2)
    assert world.admin.delete(f"/agent-tokens/{former['id']}").status == 204
    made = world.start_follower()
    yield
    made.stop()


@drive(server="sync_auth_failures_total")
def a_wrong_token(world: World) -> Iterator[None]:
    """Of an agent."""
    assert SyncAgent(world.server.port, "sla_" + "x" * 16 + "_" + "A" * 49).fetch().status == 401
    yield


@drive(server="override_publications_total")
def an_override(world: World) -> Iterator[None]:
    """The server writes it into Redis."""
    body = {"plan_id": "pro", "limit_name": "token_bucket", "identity": {"resource": "r", "subject": "vip"},
            "set": {"capacity": 500}}
    assert world.admin.put(f"/overrides/{fresh_id('vip')}", body, tenant=world.tenant).status in (200, 201)
    yield


@drive(server="override_republications_total redis_users_primaries_total")
def a_redis_that_lost_everything(world: World) -> Iterator[None]:
    """It starts again, empty."""
    world.shared.kill9()
    world.shared.restart()
    yield
    wait_until("the follower's Redis", lambda: world.follower.metric("sluice_redis_connected") == 1, MOVE_SECONDS)


@drive(agent="redis_connected breaker_state redis_errors_total failure_mode_decisions_total backend_fail_open_total "
             "rate_limiter_fail_open_total counter_store_errors_total memory_counters memory_counters_bytes")
def a_redis_that_is_away(world: World) -> Iterator[None]:
    """The failure modes decide."""
    world.redis.kill9()
    with world.agent.client(world.key.text) as client:
        for _ in range(30):
            assert client.check(resource="open", subject="u").status == 200
            client.check(resource="degrade", subject="u")
        yield
    world.redis.restart()
    wait_until("Redis", lambda: world.agent.metric("sluice_redis_connected") == 1, MOVE_SECONDS)


@drive(server="sync_heartbeats_total", agent="sync_snapshot_age_seconds")
def time_passes(_world: World) -> Iterator[None]:
    """Nothing else happens."""
    yield


# Metrics that another test drives. The file names the metric, or has the word behind the colon, which is what the metric reads.
ELSEWHERE: dict[str, dict[str, str]] = {
    "agent": {
        "sluice_decision_log_lines_dropped_total": "faults/test_agent.py",
        "sluice_http_slow_readers_total": "isolation/test_callers.py",
        "sluice_http_waiting_output_bytes": "isolation/test_callers.py",
        "sluice_log_lines_dropped_total": "faults/test_agent.py",
        "sluice_memory_counters_overflow_total": "isolation/test_memory.py",
        "sluice_memory_counters_refused_total": "isolation/test_memory.py",
        "sluice_redis_eviction_policy_ok": "faults/test_redis_replies.py",
        "sluice_redis_primary_changes_total": "faults/test_sentinel.py",
        "sluice_redis_redirects_total": "faults/test_cluster.py",
        "sluice_sync_connected": "e2e_server/test_agent_follows_server.py",
        "sluice_sync_last_good_state_errors_total": "unit/engine/policies/server_source_test.cpp",
        "sluice_sync_merged_announcements_total": "unit/engine/follow/follow_test.cpp:counters().merged",
        "sluice_sync_watches_lost_total": "e2e_follow/test_outage.py",
        "sluice_tls_certificate_expiry_timestamp_seconds": "e2e_follow/test_certificate.py",
        "sluice_tls_handshake_failures_total": "e2e/test_client_certificates.py",
        "sluice_trace_export_failures_total": "e2e/test_tracing.py",
        "sluice_trace_spans_dropped_total": "e2e/test_tracing.py",
        "sluice_trace_spans_exported_total": "e2e/test_tracing.py",
        "sluice_trace_spans_waiting": "unit/tracing/tracer_test.cpp:queue().size()",
        "sluice_usage_dropped_decisions_total": "unit/engine/usage/usage_threads_test.cpp:usage.dropped()",
        "sluice_usage_dropped_quota_marks_total": "unit/engine/usage/usage_threads_test.cpp:usage.dropped_quotas()"},
    "server": {
        "sluice_admin_calls_throttled_total": "isolation/test_bodies.py",
        "sluice_auth_failures_throttled_total": "e2e_server/test_server_http.py",
        "sluice_auth_session_lookups_total": "e2e_server/test_server_sessions.py",
        "sluice_auth_token_lookups_total": "isolation/test_unauthenticated.py",
        "sluice_breaker_state": "faults/test_cluster.py",
        "sluice_changes_forgotten_total": "e2e_server/test_server_another_release.py",
        "sluice_event_streams": "e2e_server/test_server_fleet_events.py",
        "sluice_event_streams_ended_total": "e2e_server/test_server_fleet_events.py",
        "sluice_event_streams_refused_total": "e2e_server/test_server_fleet_events.py",
        "sluice_feed_full_reads_total": "integration/server_sync/feed_test.cpp:statistics().full_reads",
        "sluice_feed_up": "isolation/test_unauthenticated.py",
        "sluice_fleet_batches_total": "integration/server_fleet/storing_test.cpp:statistics().batches",
        "sluice_fleet_errors_total": "faults_server/test_server_outage_log.py",
        "sluice_fleet_out_of_scope_decisions_total": "e2e_server/test_server_fleet.py",
        "sluice_fleet_queued_rows": "unit/server/fleet/usage_test.cpp:usage.rows()",
        "sluice_fleet_unlisted_agents_total": "isolation/test_agent_ids.py",
        "sluice_injector_events_total": "e2e_cluster/test_injector.py",
        "sluice_injector_missed_pods": "e2e_cluster/test_injector.py",
        "sluice_injector_review_duration_seconds": "manifests/test_webhook.py",
        "sluice_injector_reviews_total": "manifests/test_webhook.py",
        "sluice_injector_scans_total": "e2e_cluster/test_injector.py",
        "sluice_injector_skipped_pods_total": "manifests/test_webhook.py",
        "sluice_log_lines_dropped_total": "faults/test_agent.py",
        "sluice_oidc_sign_ins_total": "e2e_server/test_server_oidc.py",
        "sluice_override_outbox_rows": "e2e_server/test_server_overrides.py",
        "sluice_postgres_connections": "e2e_server/test_server_http.py",
        "sluice_postgres_errors_total": "faults_server/test_server_killed.py",
        "sluice_playground_checks_total": "e2e_server/test_playground.py",
        "sluice_playground_in_flight": "e2e_server/test_playground.py",
        "sluice_postgres_waiting_requests": "faults_server/test_server_locks.py",
        "sluice_redis_connected": "faults_server/test_server_outage_log.py",
        "sluice_redis_tenant_share": "unit/server/counters/tenant_shares_test.cpp:shares[0].share",
        "sluice_redis_tenant_share_margin": "unit/server/counters/tenant_shares_test.cpp:shares[0].margin",
        "sluice_redis_users_behind": "isolation/redis_users/test_redis_users_kept.py",
        "sluice_request_memory_bytes": "isolation/test_bodies.py",
        "sluice_request_memory_refused_total": "isolation/test_bodies.py",
        "sluice_sync_delayed_requests_total": "e2e_server/test_server_sync.py:delayed_requests_total",
        "sluice_tls_certificate_expiry_timestamp_seconds": "e2e_follow/test_certificate.py",
        "sluice_tls_check_errors_total": "e2e_cluster/test_certificates.py",
        "sluice_tls_handshake_failures_total": "e2e_server/test_server_client_certificates.py",
        "sluice_tls_rotations_total": "e2e_cluster/test_certificates.py",
        "sluice_token_reviews_total": "e2e_server/test_server_identity.py",
        "sluice_trace_export_failures_total": "e2e/test_tracing.py",
        "sluice_trace_spans_dropped_total": "e2e/test_tracing.py",
        "sluice_trace_spans_exported_total": "e2e/test_tracing.py",
        "sluice_trace_spans_waiting": "unit/tracing/tracer_test.cpp:queue().size()",
        "sluice_webhook_deliveries_total": "e2e_server/test_server_webhooks.py",
        "sluice_webhook_errors_total": "faults_server/test_server_outage_log.py",
        "sluice_webhook_events_total": "e2e_server/test_server_webhook_events.py",
        "sluice_webhook_oldest_pending_seconds": "e2e_server/test_server_webhooks.py",
        "sluice_webhook_queue": "e2e_server/test_server_webhooks.py",
        "sluice_webhook_refused_addresses_total": "e2e_server/test_server_webhook_network.py"}}


def samples(metrics: str, name: str) -> set[str]:
    """The lines of a metric."""
    return set(re.findall(rf"^{name}(?:_bucket|_sum|_count)?(?:{{.*}})? \S+$", metrics, re.M))


@pytest.fixture(scope="module")
def world(key: MintedKey, module_folder: Path, program: Path, module_server: Callable[..., Server]) -> Iterator[World]:
    """All of it, as long as the module."""
    with contextlib.ExitStack() as stack:
        def redis(name: str) -> RedisServer:
            made = RedisServer(module_folder / name).start()
            stack.callback(made.close)
            return made

        def agent(name: str, bundle: Optional[Path], counters: str, *flags: str) -> Agent:
            (module_folder / name).mkdir()
            made = Agent(program, module_folder / name, bundle, counters, ["--redis-deadline", "1s", *flags])
            stack.callback(made.close)
            return made.start()

        secret = module_folder / "secret"
        secret.write_text("a secret of more than 32 bytes for passwords")
        shared, own = redis("shared"), redis("own")
        server = module_server("--counters", shared.counters, "--redis-survey-every", "200ms", "--redis-users", "per-scope",
                               "--redis-users-secret-file", str(secret), allow=("redis_evicts",)).start()
        admin = stack.enter_context(server.admin())
        tenant = admin.tenant()
        assert admin.put("/plans/pro", bucket(id="pro", refill_rate_per_sec=0.001), tenant=tenant).status == 201
        tenant_key = admin.create("/keys", {"tenant_id": tenant, "name": "app"})["key"]

        def follower() -> Agent:
            name = fresh_id("follower")
            token = module_folder / f"{name}.token"
            token.write_text(admin.create("/agent-tokens", {"name": name})["token"])
            token.chmod(0o600)
            return agent(name, None, shared.counters, "--server", f"http://127.0.0.1:{server.port}", "--agent-token-file",
                         str(token), "--agent-id", name, "--report-interval", "200ms", "--metrics-policy-label")

        bundle, grpc_port = bundle_of(key), free_port()
        limits = write_config(module_folder / "limits", shop=RULES)
        file = bundle.write(module_folder / "bundle.json")
        first = agent("agent", file, own.counters, "--metrics-policy-label", "--metrics-aliases", "--grpc", f"127.0.0.1:{grpc_port}",
                      "--ratelimit-config", str(limits), "--ratelimit-metrics", "--max-in-flight", "800", "--batch-queue-wait", "5s")
        first.wait_for_redis(key.text, "bucket")
        second = follower()
        second.wait_for_redis(tenant_key, "pro")
        yield World(key, bundle, own, first, grpc_port, limits / "shop.yaml", server, admin, shared, second, tenant, tenant_key, follower)


@pytest.mark.parametrize("name", DRIVES)
def test_a_metric_moves_when_what_it_counts_happens(world: World, name: str) -> None:
    expected = DRIVES[name].moves
    before = world.scrape()
    with contextlib.contextmanager(DRIVES[name].act)(world):
        left = {program: set(names) for program, names in expected.items()}

        def all_moved() -> bool:
            now = world.scrape()
            for program, names in left.items():
                names -= {metric for metric in names if any(
                    samples(old, metric) != samples(new, metric) for old, new in zip(before[program], now[program]))}
            return not any(left.values())

        try:
            wait_until("every metric to move", all_moved, MOVE_SECONDS)
        except AssertionError as late:
            raise AssertionError(f"these do not move: {left}") from late


def test_what_does_not_move_has_a_value(world: World) -> None:
    scraped = world.scrape()
    for program, names in CONSTANT.items():
        for metric in names:
            values = [float(line.rsplit(" ", 1)[1]) for line in samples(scraped[program][0], metric)]
            assert values and all(value > 0 for value in values), metric


@pytest.mark.parametrize("program", TABLES)
def test_every_metric_has_an_entry_and_every_entry_is_a_metric(program: str) -> None:
    driven = set().union(*(each.moves[program] for each in DRIVES.values()))
    entries = driven | CONSTANT[program] | set(ELSEWHERE[program])
    names: set[str] = set(TABLES[program].types)
    assert names - entries == set(), "no entry says how they move"
    assert entries - names == set(), "there is no such metric"


@pytest.mark.parametrize("metric, file", sorted({pair for each in ELSEWHERE.values() for pair in each.items()}))
def test_a_test_that_is_named_names_the_metric(metric: str, file: str) -> None:
    path, _, word = file.partition(":")
    text = (TESTS / path).read_text()
    if path.endswith(".py"):
        texts = [node.value for node in ast.walk(ast.parse(text)) if isinstance(node, ast.Constant) and isinstance(node.value, str)]
        assert any((word or metric) in each for each in texts)
    else:
        assert (word or metric) in text
