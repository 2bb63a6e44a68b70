"""Adapters, agents and the server that misbehaves."""

import fcntl
import os
import subprocess
import tempfile
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from sdk.adapter import Adapter, ClientUnderTest
from sdk.rogue import Rogue
from sdk.sdks import ROOT, SDKS, Sdk
from support.agent import Agent
from support.bundle import Bundle, MintedKey, concurrency, token_bucket
from support.standard import standard_bundle

GENEROUS = 10_000   # ms; for calls that must not time out on a busy machine


def pytest_addoption(parser: pytest.Parser) -> None:
    """Which SDKs are tested."""
    parser.addoption("--sdk", action="append", default=[], help="only this SDK of tests/sdk/sdks.py; may be repeated")


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Each test with an adapter runs for each SDK."""
    if "sdk" not in metafunc.fixturenames:
        return
    chosen = metafunc.config.getoption("--sdk")
    unknown = set(chosen) - {sdk.name for sdk in SDKS}
    if unknown:
        raise pytest.UsageError(f"--sdk {' '.join(sorted(unknown))}: choose from {' '.join(sdk.name for sdk in SDKS)}")
    sdks = [sdk for sdk in SDKS if not chosen or sdk.name in chosen]
    metafunc.parametrize("sdk", sdks, ids=[sdk.name for sdk in sdks], indirect=True, scope="session")


@pytest.fixture(scope="session")
def sdk(request: pytest.FixtureRequest) -> Sdk:
    """The SDK under test, built: once a run, although pytest-xdist runs tests in several processes."""
    chosen: Sdk = request.param
    if not chosen.build:
        return chosen
    run = os.environ.get("PYTEST_XDIST_TESTRUNUID", str(os.getpid()))
    stamp = ROOT / "build" / f"sdk-{chosen.name}.built"
    stamp.parent.mkdir(exist_ok=True)
    with stamp.open("a+") as built:
        fcntl.flock(built, fcntl.LOCK_EX)
        built.seek(0)
        if built.read() != run:
            for command in chosen.build:
                done = subprocess.run(command, cwd=chosen.folder, capture_output=True, text=True, timeout=900, check=False)
                assert done.returncode == 0, f"{chosen.name}: {' '.join(command)}: {done.stdout[-3000:]}{done.stderr[-3000:]}"
            built.truncate(0)
            built.write(run)
    return chosen


@pytest.fixture(scope="session")
def adapter(sdk: Sdk, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Adapter]:
    """An adapter without any variable of Sluice."""
    started = Adapter(sdk, tmp_path_factory.mktemp("adapter") / f"{sdk.name}.log")
    yield started
    started.close()


@pytest.fixture
def start_adapter(sdk: Sdk, tmp_path: Path) -> Iterator[Callable[..., Adapter]]:
    """Starts adapters with variables: start_adapter(SLUICE_URL=…)."""
    adapters: list[Adapter] = []

    def start(**env: str) -> Adapter:
        adapters.append(Adapter(sdk, tmp_path / f"adapter{len(adapters)}.log", env))
        return adapters[-1]

    yield start
    for one in adapters:
        one.close()


@pytest.fixture
def make_rogue() -> Iterator[Callable[..., Rogue]]:
    """Makes servers that misbehave; the arguments are Rogue's. `socket=True`: on a Unix socket."""
    rogues: list[Rogue] = []
    folder = tempfile.TemporaryDirectory(prefix="sluice-sdk-")

    def make(socket: bool = False, **options: Any) -> Rogue:
        if socket:
            options["path"] = Path(folder.name) / f"{len(rogues)}.sock"
        rogues.append(Rogue(**options))
        return rogues[-1]

    yield make
    for one in rogues:
        one.close()
    folder.cleanup()


@pytest.fixture
def rogue(make_rogue: Callable[..., Rogue]) -> Rogue:
    """A server that misbehaves, on a port."""
    return make_rogue()


@pytest.fixture
def make_client(adapter: Adapter) -> Iterator[Callable[..., ClientUnderTest]]:
    """Makes clients with these options, generous with time unless a test is not: make_client(rogue, on_error="deny")."""
    clients: list[ClientUnderTest] = []

    def make(where: "Rogue | Agent | None" = None, **options: Any) -> ClientUnderTest:
        options.setdefault("timeout_ms", GENEROUS)
        if isinstance(where, Rogue):
            options["url"] = where.url
        elif where is not None:
            options["url"] = f"http://127.0.0.1:{where.port}"
        clients.append(ClientUnderTest(adapter, **options))
        return clients[-1]

    yield make
    for client in clients:
        with suppress(AssertionError):   # a test may have closed it
            client.close()


@pytest.fixture(scope="session")
def sdk_bundle(key: MintedKey, other_key: MintedKey) -> Bundle:
    """The standard bundle, a plan that soon has room again, and leases that live for 1.5 s."""
    return standard_bundle(key, other_key).plan("fast", token_bucket(1, "1/300ms")).plan("brief-leases", concurrency(2, "1500ms"))


@pytest.fixture(scope="session")
def agent(program: Path, sdk_bundle: Bundle, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Agent]:
    """An agent that counts in its own memory, for all tests."""
    folder = tmp_path_factory.mktemp("agent")
    started = Agent(program, folder, sdk_bundle.write(folder / "bundle.json"), "memory").start()
    yield started
    started.close()


@pytest.fixture
def client(make_client: Callable[..., ClientUnderTest], agent: Agent, key: MintedKey) -> ClientUnderTest:
    """A client of the real agent."""
    return make_client(agent, api_key=key.text)
