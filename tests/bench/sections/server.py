"""The server: admin writes beside what PostgreSQL itself allows for the same rows, and lists and exports of many policies."""

import json
import os
import re
import statistics
import subprocess
import time
from pathlib import Path

from bench.report import Report, median, number
from bench.rig import Rig
from support.postgres import OWNER, PostgresServer
from support.server import Installation, Server

ORDER = 60
ABOUT = "the server: admin writes, and 100,000 policies listed, exported and applied"
PROGRAMS = ["sluice-server"]

PGBENCH = Path("/usr/lib/postgresql/15/bin/pgbench")
HERE = Path(__file__).parents[1]
Figures = dict[str, float]


def write(server: Server, clients: int, seconds: float, name: str) -> Figures:
    """PUTs of new policies over so many connections, each with one at a time."""
    command = ["wrk", "-t1", f"-c{clients}", f"-d{max(1, round(seconds))}s", "-s", str(HERE / "admin.lua"),
               f"http://127.0.0.1:{server.port}/"]
    done = subprocess.run(command, capture_output=True, text=True, check=True,
                          env=dict(os.environ, BENCH_TOKEN=server.token, BENCH_RUN=name))
    found: Figures = json.loads(done.stdout.strip().splitlines()[-1])
    if found["errors"] > 0:
        raise RuntimeError(f"wrk met {found['errors']:.0f} errors in {found['requests']:.0f} writes")
    return {"rate": found["requests"] / found["seconds"], "p50": found["p50"], "p99": found["p99"]}


def write_bare(server: Server, clients: int, seconds: float) -> Figures:
    """The same rows by pgbench; its latencies from its own log."""
    folder = server.folder / "pgbench"
    folder.mkdir(exist_ok=True)
    for old in folder.iterdir():
        old.unlink()
    done = subprocess.run([str(PGBENCH), "-n", "-c", str(clients), "-j", "1", "-T", str(max(1, round(seconds))), "-l", "-f",
                           str(HERE / "write.sql"), server.database.url(OWNER)],
                          capture_output=True, text=True, check=True, cwd=folder)
    rate = re.search(r"tps = ([0-9.]+)", done.stdout)
    assert rate, done.stdout
    latencies = [float(line.split()[2]) for log in folder.iterdir() for line in log.read_text().splitlines()]
    steps = statistics.quantiles(latencies, n=100)
    return {"rate": float(rate[1]), "p50": steps[49], "p99": steps[98]}


def compare_writes(rig: Rig, report: Report, server: Server) -> None:
    """Each round measures both with one client and with eight."""
    seconds = 1 if rig.quick else 5
    found: dict[tuple[str, int], list[Figures]] = {}
    write(server, 1, 1, "warm")  # does not count
    for turn in range(rig.rounds):
        for clients in (1, 8):
            found.setdefault(("server", clients), []).append(write(server, clients, seconds, f"{turn}-{clients}"))
            found.setdefault(("pgbench", clients), []).append(write_bare(server, clients, seconds))
    report.raw["server_writes"] = {f"{who}, {clients}": rounds for (who, clients), rounds in found.items()}
    for (who, clients), rounds in found.items():
        report.measured(f"admin writes, {who}, {clients} client{'s' if clients > 1 else ''}",
                        *(f"{label} {number(median(each[name] for each in rounds) / scale)} {unit}" for label, name, scale, unit in
                          (("", "rate", 1, "a second"), ("p50", "p50", 1000, "ms"), ("p99", "p99", 1000, "ms"))))
    for clients in (1, 8):
        pairs = zip(found["server", clients], found["pgbench", clients])
        report.measured(f"admin writes, server to pgbench, {clients} client{'s' if clients > 1 else ''}",
                        f"rate × {number(median(ours['rate'] / bare['rate'] for ours, bare in pairs))}")


def policies(count: int) -> str:
    """A bundle of so many policies of one tenant."""
    items = [{"tenant_id": "shop", "id": f"many-{number:06d}", "scope": {"endpoint": f"/v1/many/{number}"}, "plan_id": "pro",
              "key_by": ["subject"]} for number in range(count)]
    return json.dumps({"format": "sluice/v1", "organizations": [{"id": "acme"}],
                       "tenants": [{"id": "shop", "organization_id": "acme"}],
                       "plans": [{"tenant_id": "shop", "id": "pro", "rate": "10/minute"}], "policies": items})


def rss_mb(server: Server) -> float:
    """Resident memory."""
    return server.metric("process_resident_memory_bytes") / 1e6


def measure_many(rig: Rig, report: Report, server: Server) -> None:
    """Applies, lists and exports many policies, once."""
    count = 10_000 if rig.quick else 100_000
    figures: Figures = {"rss_before_mb": rss_mb(server)}
    with server.admin(timeout=600) as admin:
        body = policies(count)
        begin = time.monotonic()
        answer = admin.post("/apply", body)
        assert answer.status == 200, answer.body
        figures["apply_s"] = time.monotonic() - begin
        pages: list[float] = []
        path = "/policies?tenant_id=shop&limit=1000"
        seen, cursor = 0, ""
        while cursor is not None:
            begin = time.monotonic()
            page = admin.get(path + (f"&cursor={cursor}" if cursor else "")).body
            pages.append(time.monotonic() - begin)
            seen, cursor = seen + len(page["items"]), page["next"]
        assert seen >= count
        figures["list_s"], figures["page_ms"] = sum(pages), median(pages) * 1000
        begin = time.monotonic()
        exported = admin.get("/export")
        figures["export_s"] = time.monotonic() - begin
        assert len(exported.body["policies"]) == seen
    figures["rss_after_mb"] = rss_mb(server)
    report.raw["server_many"] = figures
    report.measured(f"{count:,} policies applied in one call", f"{number(figures['apply_s'])} s")
    report.measured(f"{seen:,} policies listed by pages of 1,000", f"{number(figures['list_s'])} s",
                    f"{number(figures['page_ms'])} ms a page")
    report.measured(f"{seen:,} policies exported", f"{number(figures['export_s'])} s")
    report.measured("server's memory, before and after", f"{number(figures['rss_before_mb'])} MB",
                    f"{number(figures['rss_after_mb'])} MB")


def run(rig: Rig, report: Report) -> None:
    """One PostgreSQL that writes to disk as in production, one server."""
    postgres = PostgresServer(rig.folder / "postgres", durable=True).start()
    try:
        made = Installation.make(rig.program("sluice-server"), postgres)
        server = Server(rig.program("sluice-server"), rig.folder / "server", made.database, made.token, []).start()
        try:
            report.measured("server's memory, idle", f"{number(rss_mb(server))} MB")
            with server.admin() as admin:
                admin.create("/organizations", {"id": "acme"})
                admin.create("/tenants", {"id": "shop", "organization_id": "acme"})
                admin.create("/plans", {"tenant_id": "shop", "id": "pro", "rate": "10/minute"})
            made.database.execute("CREATE SEQUENCE bench_ids; GRANT USAGE ON bench_ids TO " + OWNER)
            compare_writes(rig, report, server)
            measure_many(rig, report, server)
        finally:
            server.close()
    finally:
        postgres.close()
