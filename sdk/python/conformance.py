"""The adapter of the conformance suite (sdk/CONTRACT.md): `conformance.py sync` or `conformance.py async`."""

from __future__ import annotations

import asyncio
import contextlib
import json
import logging
import sys
import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent / "src"))

import sluice
from sluice import testing

logging.basicConfig(stream=sys.stderr, format="%(levelname)s %(message)s")
_output = threading.Lock()


class Broken(Exception):
    """Leaves a block when the suite wants an exception to."""


def say(answer: dict[str, Any]) -> None:
    """One line of output."""
    line = json.dumps(answer) + "\n"
    with _output:
        sys.stdout.write(line)
        sys.stdout.flush()


def options(given: dict[str, Any]) -> dict[str, Any]:
    """The options of a client by the names that it knows."""
    made = dict(given)
    if "timeout_ms" in made:
        made["timeout"] = made.pop("timeout_ms") / 1000
    return made


def trace(question: dict[str, Any]) -> dict[str, Any]:
    """The trace that a question carries."""
    return {name: question[name] for name in ("traceparent", "tracestate") if name in question}


def fault(error: BaseException) -> dict[str, Any]:
    """An exception as the suite reads it."""
    if isinstance(error, sluice.SluiceError):
        return {"kind": error.kind, "status": error.status, "code": error.code, "detail": error.detail, "errors": error.errors,
                "message": str(error)}
    kind = "misuse" if isinstance(error, (TypeError, ValueError, RuntimeError)) else type(error).__name__
    return {"kind": kind, "status": 0, "code": "", "message": str(error)}


def ms(seconds: float | None) -> float | None:
    """Seconds as milliseconds."""
    return None if seconds is None else round(seconds * 1000, 3)


def shown(decision: sluice.Decision) -> dict[str, Any]:
    """A decision as the suite reads it."""
    plain = ("allowed", "success", "reason", "action", "limit", "remaining", "reset", "policy", "policy_version", "plan", "limit_name",
             "shadow", "would_allow", "over_limit", "sample_rate", "downgrade_to", "metadata", "lease_id", "lease_expires_at",
             "status", "request_id", "decided", "raw")
    made = {name: getattr(decision, name) for name in plain}
    made |= {"retry_after_ms": ms(decision.retry_after), "delay_ms": ms(decision.delay), "waited_ms": ms(decision.waited)}
    made["headers"] = {name.lower(): value for name, value in decision.to_headers().items()}
    made["error"] = fault(decision.error) if decision.error is not None else None
    return made


def entry(given: dict[str, Any]) -> Any:
    """An entry of a script."""
    if "error" in given:
        return sluice.SluiceError(given["error"], "scripted")
    made = dict(given)
    for name in ("retry_after", "delay", "waited"):
        if f"{name}_ms" in made:
            made[name] = made.pop(f"{name}_ms") / 1000
    return made


class Sync:
    """Runs each operation in a thread. Python cannot cancel a thread, so `cancel` does nothing."""

    def __init__(self) -> None:
        self.clients: dict[str, Any] = {}
        self.leases: dict[str, Any] = {}
        self.threads = ThreadPoolExecutor(512)

    def run(self) -> None:
        """Until the input ends."""
        for line in sys.stdin:
            question = json.loads(line)
            self.threads.submit(self.answer, question)
        self.threads.shutdown(cancel_futures=True)

    def answer(self, question: dict[str, Any]) -> None:
        """One operation."""
        started = time.perf_counter()
        try:
            answer = getattr(self, question["op"])(question)
        except BaseException as error:
            answer = {"raised": fault(error)}
        say({"id": question["id"], "elapsed_ms": (time.perf_counter() - started) * 1000, **answer})

    def new(self, question: dict[str, Any]) -> dict[str, Any]:
        self.clients[question["client"]] = sluice.Client(**options(question["options"]))
        return {"ok": True}

    def double(self, question: dict[str, Any]) -> dict[str, Any]:
        make: dict[str, Callable[[], Any]] = {
            "always_allow": testing.always_allow, "always_deny": testing.always_deny,
            "scripted": lambda: testing.scripted([entry(one) for one in question["script"]])}
        self.clients[question["client"]] = make[question["kind"]]()
        return {"ok": True}

    def check(self, question: dict[str, Any]) -> dict[str, Any]:
        return {"decision": shown(self.clients[question["client"]].check(**question["check"], **trace(question)))}

    def check_batch(self, question: dict[str, Any]) -> dict[str, Any]:
        return {"decisions": [shown(one) for one in self.clients[question["client"]].check_batch(question["checks"])]}

    def wait(self, question: dict[str, Any]) -> dict[str, Any]:
        return {"decision": shown(self.clients[question["client"]].wait(**question["check"], up_to=question["up_to_ms"] / 1000))}

    def lease(self, question: dict[str, Any]) -> dict[str, Any]:
        block = self.clients[question["client"]].lease(**question["check"], keep_alive=question.get("keep_alive", False))
        held = block.__enter__()
        self.leases[question["lease"]] = (block, held)
        return {"decision": shown(held.decision)}

    def end_lease(self, question: dict[str, Any]) -> dict[str, Any]:
        block, held = self.leases.pop(question["lease"])
        if question["how"] == "fail":
            with contextlib.suppress(Broken):
                block.__exit__(Broken, Broken(), None)
        else:
            block.__exit__(None, None, None)
        return {"ok": True, "lost": held.lost}

    def release(self, question: dict[str, Any]) -> dict[str, Any]:
        return {"released": self.clients[question["client"]].release(question["lease_id"])}

    def renew(self, question: dict[str, Any]) -> dict[str, Any]:
        return {"lease_expires_at": self.clients[question["client"]].renew(question["lease_id"])}

    def recorded(self, question: dict[str, Any]) -> dict[str, Any]:
        client = self.clients[question["client"]]
        return {"checks": client.checks, "open_leases": client.open_leases}

    def describe(self, question: dict[str, Any]) -> dict[str, Any]:
        client = self.clients[question["client"]]
        return {"text": f"{client!r} {client}"}

    def close(self, question: dict[str, Any]) -> dict[str, Any]:
        self.clients[question["client"]].close()
        return {"ok": True}


class Async:
    """Runs each operation in a task."""

    def __init__(self) -> None:
        self.clients: dict[str, Any] = {}
        self.leases: dict[str, Any] = {}
        self.tasks: dict[int, asyncio.Task[None]] = {}

    async def run(self) -> None:
        """Until the input ends."""
        loop = asyncio.get_running_loop()
        reader = asyncio.StreamReader(limit=1 << 24)
        await loop.connect_read_pipe(lambda: asyncio.StreamReaderProtocol(reader), sys.stdin)
        while line := await reader.readline():
            question = json.loads(line)
            task = loop.create_task(self.answer(question))
            self.tasks[question["id"]] = task
            task.add_done_callback(lambda _, number=question["id"]: self.tasks.pop(number, None))

    async def answer(self, question: dict[str, Any]) -> None:
        """One operation."""
        started = time.perf_counter()
        try:
            answer = await getattr(self, question["op"])(question)
        except asyncio.CancelledError:
            answer = {"cancelled": True}
        except BaseException as error:
            answer = {"raised": fault(error)}
        say({"id": question["id"], "elapsed_ms": (time.perf_counter() - started) * 1000, **answer})

    async def new(self, question: dict[str, Any]) -> dict[str, Any]:
        self.clients[question["client"]] = sluice.AsyncClient(**options(question["options"]))
        return {"ok": True}

    async def double(self, question: dict[str, Any]) -> dict[str, Any]:
        make: dict[str, Callable[[], Any]] = {
            "always_allow": testing.always_allow_async, "always_deny": testing.always_deny_async,
            "scripted": lambda: testing.scripted_async([entry(one) for one in question["script"]])}
        self.clients[question["client"]] = make[question["kind"]]()
        return {"ok": True}

    async def check(self, question: dict[str, Any]) -> dict[str, Any]:
        return {"decision": shown(await self.clients[question["client"]].check(**question["check"], **trace(question)))}

    async def check_batch(self, question: dict[str, Any]) -> dict[str, Any]:
        return {"decisions": [shown(one) for one in await self.clients[question["client"]].check_batch(question["checks"])]}

    async def wait(self, question: dict[str, Any]) -> dict[str, Any]:
        waited = self.clients[question["client"]].wait(**question["check"], up_to=question["up_to_ms"] / 1000)
        return {"decision": shown(await waited)}

    async def lease(self, question: dict[str, Any]) -> dict[str, Any]:
        """The block is a task of its own, which lasts until `end_lease`, or until it is cancelled."""
        loop = asyncio.get_running_loop()
        entered: asyncio.Future[Any] = loop.create_future()
        leave: asyncio.Future[str] = loop.create_future()

        async def block() -> Any:
            async with self.clients[question["client"]].lease(**question["check"], keep_alive=question.get("keep_alive", False)) as held:
                entered.set_result(held)
                if await leave == "fail":
                    raise Broken
            return held

        async def guarded() -> None:
            try:
                await block()
            except BaseException as error:
                if not entered.done():
                    entered.set_exception(error)

        task = loop.create_task(guarded())
        held = await entered
        self.leases[question["lease"]] = (task, leave, held)
        return {"decision": shown(held.decision)}

    async def end_lease(self, question: dict[str, Any]) -> dict[str, Any]:
        task, leave, held = self.leases.pop(question["lease"])
        if question["how"] == "cancel":
            task.cancel()
        else:
            leave.set_result(question["how"])
        await asyncio.wait({task})
        return {"ok": True, "lost": held.lost}

    async def release(self, question: dict[str, Any]) -> dict[str, Any]:
        return {"released": await self.clients[question["client"]].release(question["lease_id"])}

    async def renew(self, question: dict[str, Any]) -> dict[str, Any]:
        return {"lease_expires_at": await self.clients[question["client"]].renew(question["lease_id"])}

    async def cancel(self, question: dict[str, Any]) -> dict[str, Any]:
        task = self.tasks.get(question["of"])
        if task is not None:
            task.cancel()
        return {"ok": True}

    async def recorded(self, question: dict[str, Any]) -> dict[str, Any]:
        client = self.clients[question["client"]]
        return {"checks": client.checks, "open_leases": client.open_leases}

    async def describe(self, question: dict[str, Any]) -> dict[str, Any]:
        client = self.clients[question["client"]]
        return {"text": f"{client!r} {client}"}

    async def close(self, question: dict[str, Any]) -> dict[str, Any]:
        await self.clients[question["client"]].close()
        return {"ok": True}


if __name__ == "__main__":
    say({"ready": True, "sdk": "python", "version": sluice.__version__})
    if sys.argv[1:] == ["async"]:
        asyncio.run(Async().run())
    else:
        Sync().run()
