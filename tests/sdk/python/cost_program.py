"""What a check costs beside a bare client of the standard library, and what many calls leave behind. Prints one JSON object.

cost_program.py times PORT KEY ROUNDS CALLS     one caller, rounds by turns; microseconds a call, of the clock and of the processor
cost_program.py leaks PORT KEY CALLS CANCELLED SILENT_PORT
"""

import asyncio
import http.client
import json
import os
import sys
import time
from collections.abc import Callable
from typing import Any

import sluice

CHECK = {"resource": "GET:/cost", "subject": "user:42"}
BODY = json.dumps(CHECK, separators=(",", ":")).encode()


def measured(calls: int, run: Callable[[], None]) -> tuple[float, float]:
    """Microseconds a call: of the clock, of the processor."""
    clock, processor = time.perf_counter(), time.process_time()
    run()
    return (time.perf_counter() - clock) / calls * 1e6, (time.process_time() - processor) / calls * 1e6


def bare_sync(port: int, key: str) -> Callable[[int], None]:
    """http.client, and nothing else."""
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=10)
    headers = {"content-type": "application/json", "x-api-key": key}

    def run(calls: int) -> None:
        for _ in range(calls):
            connection.request("POST", "/v1/check", BODY, headers)
            reply = connection.getresponse()
            assert json.loads(reply.read())["allowed"] is True and reply.status == 200

    return run


def sdk_sync(port: int, key: str) -> Callable[[int], None]:
    client = sluice.Client(url=f"http://127.0.0.1:{port}", api_key=key, timeout=10)

    def run(calls: int) -> None:
        for _ in range(calls):
            assert client.check("GET:/cost", "user:42").allowed

    return run


def bare_async(loop: asyncio.AbstractEventLoop, port: int, key: str) -> Callable[[int], None]:
    """Streams of asyncio, and nothing else."""
    reader, writer = loop.run_until_complete(asyncio.open_connection("127.0.0.1", port))
    request = (f"POST /v1/check HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\nContent-Type: application/json\r\nx-api-key: {key}\r\n"
               f"Content-Length: {len(BODY)}\r\n\r\n").encode() + BODY

    async def ask() -> None:
        writer.write(request)
        await writer.drain()
        lines = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1").split("\r\n")
        headers = {name.lower(): value.strip() for name, _, value in (line.partition(":") for line in lines[1:])}
        body = json.loads(await reader.readexactly(int(headers["content-length"])))
        assert body["allowed"] is True and lines[0].split()[1] == "200"

    async def all_of(calls: int) -> None:
        for _ in range(calls):
            await asyncio.wait_for(ask(), 10)

    return lambda calls: loop.run_until_complete(all_of(calls))


def sdk_async(loop: asyncio.AbstractEventLoop, port: int, key: str) -> Callable[[int], None]:
    client = sluice.AsyncClient(url=f"http://127.0.0.1:{port}", api_key=key, timeout=10)

    async def all_of(calls: int) -> None:
        for _ in range(calls):
            assert (await client.check("GET:/cost", "user:42")).allowed

    return lambda calls: loop.run_until_complete(all_of(calls))


def times(port: int, key: str, rounds: int, calls: int) -> dict[str, Any]:
    loop = asyncio.new_event_loop()
    asyncio.set_event_loop(loop)
    runners = {"bare_sync": bare_sync(port, key), "sdk_sync": sdk_sync(port, key), "bare_async": bare_async(loop, port, key),
               "sdk_async": sdk_async(loop, port, key)}
    best = {name: (float("inf"), float("inf")) for name in runners}
    for run in runners.values():
        run(calls // 4)
    for _ in range(rounds):
        for name, run in runners.items():
            clock, processor = measured(calls, lambda: run(calls))
            best[name] = (min(best[name][0], clock), min(best[name][1], processor))
    return {name: {"us": round(clock, 1), "cpu_us": round(processor, 1)} for name, (clock, processor) in best.items()}


def descriptors() -> int:
    return len(os.listdir("/proc/self/fd"))


def resident() -> int:
    with open("/proc/self/statm", encoding="ascii") as opened:
        return int(opened.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")


async def leaks(port: int, key: str, calls: int, cancelled: int, silent_port: int) -> dict[str, Any]:
    """Half of the calls by each client; then calls that are cancelled, while a ticker watches that the event loop goes on."""
    url = f"http://127.0.0.1:{port}"
    before = descriptors()
    sync_client = sluice.Client(url=url, api_key=key, timeout=30, on_error="raise")
    async_client = sluice.AsyncClient(url=url, api_key=key, timeout=30, on_error="raise", max_connections=32)

    def many_sync(count: int) -> None:
        for _ in range(count):
            sync_client.check("GET:/cost", "user:42")

    async def many_async(count: int) -> None:
        for _ in range(count):
            await async_client.check("GET:/cost", "user:42")

    async def all_of(count: int) -> None:
        await asyncio.gather(*(asyncio.to_thread(many_sync, count // 8) for _ in range(4)), *(many_async(count // 32) for _ in range(16)))

    await all_of(calls // 10)
    settled = resident()
    await all_of(calls)
    grown = resident() - settled
    silent = sluice.AsyncClient(url=f"http://127.0.0.1:{silent_port}", timeout=30, max_connections=64)
    ticks = 0

    async def tick() -> None:
        nonlocal ticks
        while True:
            await asyncio.sleep(0.01)
            ticks += 1

    ticker = asyncio.create_task(tick())
    for _ in range(cancelled // 100):
        tasks = [asyncio.create_task(silent.check("a", "b")) for _ in range(100)]
        await asyncio.sleep(0.05)
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        assert all(task.cancelled() for task in tasks)
    during = descriptors()
    ticks, slow = 0, sluice.AsyncClient(url=f"http://127.0.0.1:{silent_port}", timeout=2)
    assert not (await slow.check("a", "b")).decided
    ticked = ticks
    ticker.cancel()
    for client in (async_client, silent, slow):
        await client.close()
    sync_client.close()
    await asyncio.sleep(0.1)
    return {"before": before, "during": during, "after": descriptors(), "grown": grown, "ticks": ticked}


def main() -> None:
    what, port, key, *numbers = sys.argv[1:]
    given = [int(number) for number in numbers]
    result = times(int(port), key, *given) if what == "times" else asyncio.run(leaks(int(port), key, *given))
    print(json.dumps(result))


main()
