"""The npm tarball: what is in it, its types, and the quick start of its README, pasted into an empty folder."""

import base64
import hashlib
import json
import os
import re
import signal
import subprocess
import tarfile
import threading
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from sdk.node import node, search_path
from sdk.sdks import FOLDER
from support.agent import Agent
from support.bundle import MintedKey
from support.client import Client
from support.markdown import Page
from support.standard import standard_bundle

SDK = FOLDER / "typescript"
VERSION = json.loads((SDK / "package.json").read_text())["version"]
TSC = SDK / "node_modules/typescript/bin/tsc"
SUBPATHS = ("", "/testing", "/express", "/fastify", "/koa", "/hono", "/next")


def run(*words: object, cwd: Path, env: "dict[str, str] | None" = None) -> str:
    """What a program prints; it must end with 0."""
    done = subprocess.run([str(word) for word in words], cwd=cwd, capture_output=True, text=True, timeout=300, check=False,
                          env={**os.environ, "PATH": search_path(), **(env or {})})
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-3000:]
    return done.stdout


@pytest.fixture(scope="module")
def tarball(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The package, built and packed as for a release."""
    folder = tmp_path_factory.mktemp("tarball")
    run("npm", "pack", "--silent", "--pack-destination", folder, cwd=SDK)
    (found,) = folder.glob("*.tgz")
    return found


@pytest.fixture
def registry(tarball: Path, tmp_path: Path) -> Iterator[dict[str, str]]:
    """A registry that has this one package, and the environment that makes npm use it for @sluice."""
    content = tarball.read_bytes()

    class Handler(BaseHTTPRequestHandler):
        """Answers what `npm install` asks."""

        def do_GET(self) -> None:   # noqa: N802
            body = content if self.path.endswith(".tgz") else json.dumps(packument).encode()
            self.send_response(200)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, format: str, *args: object) -> None:   # noqa: A002
            """Says nothing."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    url = f"http://127.0.0.1:{server.server_port}/"
    manifest = json.loads((SDK / "package.json").read_text())
    manifest.pop("devDependencies")
    manifest.pop("scripts")
    integrity = "sha512-" + base64.b64encode(hashlib.sha512(content).digest()).decode()
    packument = {"name": "@sluice/client", "dist-tags": {"latest": VERSION}, "versions": {
        VERSION: {**manifest, "dist": {"tarball": f"{url}client.tgz", "integrity": integrity}}}}
    threading.Thread(target=server.serve_forever, daemon=True).start()
    config = tmp_path / "npmrc"
    config.write_text(f"@sluice:registry={url}\naudit=false\nfund=false\nupdate-notifier=false\ncache={tmp_path / 'cache'}\n")
    yield {"NPM_CONFIG_USERCONFIG": str(config)}
    server.shutdown()
    server.server_close()


def install(tarball: Path, folder: Path) -> Path:
    """The tarball in node_modules of a folder, with nothing else."""
    target = folder / "node_modules/@sluice/client"
    target.mkdir(parents=True)
    run("tar", "xzf", tarball, "--strip-components=1", cwd=target)
    return target


def test_the_tarball_has_both_kinds_of_modules_with_types_and_needs_nothing(tarball: Path) -> None:
    with tarfile.open(tarball) as archive:
        names = {name.removeprefix("package/") for name in archive.getnames()}
        manifest = json.load(archive.extractfile("package/package.json"))   # type: ignore[arg-type]
    assert "dependencies" not in manifest
    assert all(meta["optional"] for meta in manifest["peerDependenciesMeta"].values())
    assert set(manifest["peerDependenciesMeta"]) == set(manifest["peerDependencies"])
    for entry in manifest["exports"].values():
        for target in (entry,) if isinstance(entry, str) else (*entry["import"].values(), *entry["require"].values()):
            assert target.removeprefix("./") in names, target
    assert not [name for name in names if not re.match(r"dist/|package\.json$|README\.md$|LICENSE$", name)]


def test_the_quick_start_works_as_it_is_pasted(registry: dict[str, str], make_agent: Callable[..., Agent], key: MintedKey, other_key: MintedKey,
                                               tmp_path: Path) -> None:
    agent = make_agent(standard_bundle(key, other_key), "memory").start()
    block = Page(SDK / "README.md").blocks("sh")[0]
    empty = tmp_path / "empty"
    empty.mkdir()
    printed = run("bash", "-ec", block.text, cwd=empty, env={
        **registry, "SLUICE_URL": f"http://127.0.0.1:{agent.port}", "SLUICE_API_KEY": key.text, "SLUICE_TIMEOUT": "10s"})
    lines = [line.split() for line in printed.splitlines() if re.match(r"\d ", line)]
    assert [line[1] for line in lines] == ["true"] * 5 + ["false"] * 2, printed
    assert lines[-1][2] == "0" and int(lines[-1][3]) > 3000
    assert os.listdir(empty / "node_modules/@sluice") == ["client"]


def test_the_core_is_loaded_as_esm_and_as_commonjs(tarball: Path, tmp_path: Path) -> None:
    install(tarball, tmp_path)
    use = "new m.Sluice({url: 'http://127.0.0.1:1', logger: {warn() {}}}).check({subject: 'a'}).then((d) => console.log(d.error.kind, m.version, d.error instanceof {0}))"
    assert run("node", "--input-type=module", "-e", f"import * as m from '@sluice/client'; import {{createRequire}} from 'node:module';"
               "const other = createRequire(import.meta.url)('@sluice/client');"
               + use.replace("{0}", "other.SluiceError"), cwd=tmp_path) == f"unreachable {VERSION} true\n"
    assert run("node", "-e", "const m = require('@sluice/client');" + use.replace("{0}", "m.SluiceError"), cwd=tmp_path) == f"unreachable {VERSION} true\n"
    for subpath in SUBPATHS:
        for code in (f"require('@sluice/client{subpath}')", f"import('@sluice/client{subpath}')"):
            run("node", "-e", code, cwd=tmp_path)


TYPES = """import { Sluice, SluiceError, type Decision } from '@sluice/client';

async function work(): Promise<string> {
  await using client = new Sluice({ url: process.env['AGENT'], apiKey: process.env['KEY'], timeoutMs: 10_000, onError: 'raise' });
  const job = { planId: 'leases', subject: 'using' };
  const free = async (): Promise<number | undefined> => (await client.check({ ...job, cost: 0 })).remaining;
  const before = await free();
  let inside: number | undefined;
  {
    await using lease = await client.lease(job, { keepAlive: true });
    inside = await free();
    const decision: Decision = lease.decision;
    if (!decision.allowed) throw new Error(decision.reason);
  }
  return [before, inside, await free()].join(' ');
}

work().then(console.log, (error: unknown) => console.log(error instanceof SluiceError ? error.kind : error));
"""


@pytest.mark.parametrize("kind", ["module", "commonjs"])
def test_the_types_are_strict_and_await_using_releases(kind: str, tarball: Path, make_agent: Callable[..., Agent], key: MintedKey, other_key: MintedKey,
                                                       tmp_path: Path) -> None:
    agent = make_agent(standard_bundle(key, other_key), "memory").start()
    install(tarball, tmp_path)
    (tmp_path / "node_modules/@types").symlink_to(SDK / "node_modules/@types")
    (tmp_path / "package.json").write_text(json.dumps({"type": kind}))
    source = TYPES
    (tmp_path / "work.ts").write_text(source)
    compiler = (TSC, "--strict", "--target", "es2022", "--lib", "es2023,esnext.disposable", "--module", "nodenext", "--types", "node")
    run("node", *compiler, "work.ts", cwd=tmp_path)   # without skipLibCheck: the package's own types are checked too
    before, inside, afterwards = run("node", "work.js", cwd=tmp_path, env={"AGENT": f"http://127.0.0.1:{agent.port}", "KEY": key.text}).split()
    assert int(inside) == int(before) - 1 and afterwards == before
    (tmp_path / "wrong.ts").write_text("import { Sluice } from '@sluice/client';\nnew Sluice({ onError: 'panic' });\n"
                                       "void new Sluice().check('GET:/orders');\nvoid new Sluice().wait({});\n")
    wrong = subprocess.run([node(), *map(str, compiler), "--noEmit", "wrong.ts"], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert [int(line) for line in re.findall(r"^wrong\.ts\((\d+),", wrong.stdout, re.M)] == [2, 3, 4], wrong.stdout


def test_the_blocks_of_the_readme_compile(tarball: Path, tmp_path: Path) -> None:
    blocks = Page(SDK / "README.md").blocks("ts")
    assert len(blocks) >= 9
    folder = tmp_path / "readme"
    folder.mkdir()
    install(tarball, folder)
    for name in os.listdir(SDK / "node_modules"):
        if name not in ("@sluice", ".bin"):
            (folder / "node_modules" / name).symlink_to(SDK / "node_modules" / name)
    (folder / "package.json").write_text('{"type":"module"}')
    for number, block in enumerate(blocks):
        (folder / f"block{number}.ts").write_text(block.text)
    run("node", TSC, "--noEmit", "--strict", "--skipLibCheck", "--target", "es2022", "--lib", "es2023,esnext.disposable,dom", "--module", "nodenext",
        "--types", "node", *sorted(path.name for path in folder.glob("*.ts")), cwd=folder)


def test_the_example_serves(tarball: Path, make_agent: Callable[..., Agent], key: MintedKey, other_key: MintedKey, tmp_path: Path) -> None:
    agent = make_agent(standard_bundle(key, other_key), "memory").start()
    install(tarball, tmp_path)
    # Express as the lock file of the package has it.
    for name in os.listdir(SDK / "node_modules"):
        if name not in ("@sluice", ".bin"):
            (tmp_path / "node_modules" / name).symlink_to(SDK / "node_modules" / name)
    for path in (SDK / "examples/express").iterdir():
        (tmp_path / path.name).write_bytes(path.read_bytes())
    server = subprocess.Popen([node(), "server.mjs"], cwd=tmp_path, stdout=subprocess.PIPE, text=True, env={
        **os.environ, "PORT": "0", "SLUICE_SOCKET": str(agent.socket), "SLUICE_API_KEY": key.text, "SLUICE_TIMEOUT": "10s"})
    try:
        assert server.stdout
        port = int(server.stdout.readline().rsplit(":", 1)[1])
        with Client(port) as client:
            assert client.get("/healthz").status == 200
            found = [client.get(f"/orders/{number}").status for number in range(3)]
            assert found == [200] * 3
            assert client.get("/reports/1").body.count("page") == 3
        server.send_signal(signal.SIGTERM)
        assert server.wait(20) == 0
    finally:
        server.kill()
        server.wait()
