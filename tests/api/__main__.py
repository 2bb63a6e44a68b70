"""Schemathesis against a live server: python3 -m api [--examples N] [--phases LIST] [-- MORE FOR SCHEMATHESIS].

Starts PostgreSQL, Redis and the server, lets schemathesis (in a virtual environment of its own, see
scripts/schemathesis.txt) call every operation of /openapi.json with valid and with faulty data, all checks on, and
prints for each operation how many of the answers to valid data were successes. Fails where schemathesis does, where that
share is below 30 %, where an operation got fewer examples than asked for, and where an example of the description does
not fit its schema.
"""

import argparse
import contextlib
import json
import os
import subprocess
import sys
import tempfile
from collections import Counter
from pathlib import Path

from support.client import Client
from support.postgres import PostgresServer
from support.program import program_path
from support.redis_server import RedisServer
from support.server import Installation, Server

HERE = Path(__file__).resolve().parent
BIN = HERE.parents[1] / ".run/schemathesis/bin"
LEAST_SHARE = 0.3
WIDE = 100   # columns of a report

# What is done side by side, about the same amount each. Made-up bodies take longest, and those of plans and policies most.
LARGE = "/(organizations|tenants|plans|policies)"
PARTS = [["--phases", "examples,coverage,stateful"],
         ["--phases", "fuzzing", "--exclude-path-regex", LARGE],
         ["--phases", "fuzzing", "--exclude-path-regex", f"^(?!.*{LARGE})"]]

Counts = dict[str, Counter[str]]   # by operation: answers by kind of data and status


def arguments() -> argparse.Namespace:
    """What the command line says."""
    parser = argparse.ArgumentParser(prog="scripts/test --api", description=__doc__)
    parser.add_argument("--examples", type=int, default=200, help="examples of each operation (default 200)")
    parser.add_argument("--phases", help="only these, in one process: a list of examples,coverage,fuzzing,stateful")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("more", nargs="*", help="more arguments of schemathesis, after --")
    return parser.parse_args()


class Run:
    """A process of schemathesis that does a part: it mostly computes, on one core."""

    def __init__(self, server: Server, given: argparse.Namespace, document: Path, part: list[str]) -> None:
        self._part = " ".join(part)
        self._folder = Path(tempfile.mkdtemp(dir=document.parent))
        self._counts = self._folder / "counts.json"
        self._output = self._folder / "output"
        url = f"http://127.0.0.1:{server.port}"
        env = {**os.environ, "SCHEMATHESIS_HOOKS": "hooks", "PYTHONPATH": str(HERE), "PYTHONDONTWRITEBYTECODE": "1",
               "PYTHONIOENCODING": "utf-8",   # schemathesis takes the whole value, also of ":replace", for an encoding's name
               "SLUICE_API_URL": url, "SLUICE_API_TOKEN": server.token, "SLUICE_API_COUNTS": str(self._counts),
               "SLUICE_API_SEED": str(given.seed), "COLUMNS": str(WIDE)}
        command = [str(BIN / "schemathesis"), "--no-color", "--config-file", str(HERE / "schemathesis.toml"), "run",
                   str(document), "--url", url, "--header", f"Authorization: Bearer {server.token}",
                   *part, "--max-examples", str(given.examples), "--seed", str(given.seed),
                   "--continue-on-failure", "--generation-database", "none", "--request-timeout", "30", *given.more]
        with self._output.open("wb") as output:
            self._process = subprocess.Popen(command, cwd=self._folder, env=env, stdout=output, stderr=subprocess.STDOUT)

    def wait(self) -> int:
        """Shows what it said, once it has ended; its exit status."""
        code = self._process.wait()
        print(f"\nschemathesis {self._part}:\n{self._output.read_text()}", flush=True)
        return code

    def add_counts(self, counts: Counts) -> None:
        """Adds its answers by operation, and by kind of data and status."""
        found = json.loads(self._counts.read_text()) if self._counts.exists() else {}
        for operation, numbers in found.items():
            counts.setdefault(operation, Counter()).update(numbers)

    def close(self) -> None:
        """Ends it, where it still runs."""
        self._process.kill()
        self._process.wait()


def run(server: Server, given: argparse.Namespace, document: Path) -> tuple[int, Counts]:
    """Runs schemathesis to its end: the exit status, and the answers by operation, kind of data and status."""
    with Client(server.port) as client:   # a file: given an address, schemathesis does not test that address itself
        whole = client.get("/openapi.json").body
    # Agents' routes and that of a browser's session need another credential, and a watch and a stream of events never end; the
    # playground needs an agent, and signing in a provider. tests/e2e_server holds them to the description.
    paths = {path: item for path, item in whole["paths"].items()
             if not path.startswith(("/v1/sync/", "/v1/admin/session", "/v1/console/oidc/")) and "/playground" not in path
             and not path.endswith("/events")}
    document.write_text(json.dumps({**whole, "paths": paths}))
    parts = [["--phases", given.phases]] if given.phases else PARTS
    counts: Counts = {}
    with contextlib.ExitStack() as stack:
        runs = [stack.enter_context(contextlib.closing(Run(server, given, document, part))) for part in parts]
        print(f"schemathesis in {len(runs)} processes ...", flush=True)
        codes = [each.wait() for each in runs]
    for each in runs:
        each.add_counts(counts)
    checked = subprocess.run([BIN / "python", HERE / "examples.py", document], check=False)
    return max(*map(abs, codes), checked.returncode), counts


def described(document: Path) -> dict[str, bool]:
    """Every operation of the document, and whether anything of a call to it can be chosen."""
    return {f"{method.upper()} {path}": bool(operation.get("parameters") or "requestBody" in operation)
            for path, item in json.loads(document.read_text())["paths"].items() for method, operation in item.items()}


def judge(operations: dict[str, bool], counts: Counts, examples: int) -> list[str]:
    """Prints a line for each operation; those that were tested too little, and why."""
    faults = []
    print(f"\n{'operation':<50} {'valid':>6} {'2xx':>6} {'share':>6} {'faulty':>7}")
    for operation, has_input in operations.items():
        found = counts.get(operation, Counter())
        valid = {status: number for status, number in found.items() if status.startswith("valid ")}
        asked = sum(valid.values())
        good = sum(number for status, number in valid.items() if status[6] in "23")
        share = good / asked if asked else 0.0
        print(f"{operation:<50} {asked:>6} {good:>6} {share:>6.0%} {sum(found.values()) - asked:>7}")
        if share < LEAST_SHARE:
            seen = ", ".join(f"{status.split()[1]}: {number}" for status, number in sorted(valid.items()))
            faults.append(f"{operation}: only {share:.0%} of the answers to valid data are 2xx ({seen or 'none'})")
        # One without parameters and body can be called in one way only.
        elif has_input and sum(found.values()) < examples:
            faults.append(f"{operation}: {sum(found.values())} examples, fewer than {examples}")
    return faults


def main() -> int:
    """The exit status."""
    given = arguments()
    assert (BIN / "schemathesis").is_file(), f"there is no schemathesis in {BIN}: run scripts/setup api"
    program = program_path("sluice-server")
    with contextlib.ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="sluice-api-")))
        postgres = PostgresServer(folder / "postgres").start()
        stack.callback(postgres.close)
        redis = RedisServer(folder / "redis").start()
        stack.callback(redis.close)
        installation = Installation.make(program, postgres)
        secret = folder / "secret"
        secret.write_text("what deliveries to customers are signed with")
        server = Server(program, folder / "server", installation.database, installation.token,
                        flags=["--log-level", "info", "--counters", redis.counters, "--redis-deadline", "2s",
                               "--notify-secret-file", str(secret)]).start()
        stack.callback(server.close)   # it looks for errors and for sanitizers' findings in the log
        document = folder / "openapi.json"
        code, counts = run(server, given, document)
        operations = described(document)
        faults = judge(operations, counts, given.examples)
    if code != 0:
        faults.append(f"schemathesis, or an example, ended with {code}")
    for fault in faults:
        print(f"failed: {fault}")
    print(f"{len(operations) + 1 - len(faults)} passed, {len(faults)} failed")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
