"""The modules of the Java SDK: their own tests, and the quick start of the README from the built jar."""

import http.client
import os
import re
import shutil
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from sdk.sdks import FOLDER, MAVEN_REPOSITORY
from support.agent import Agent
from support.bundle import Bundle, MintedKey, token_bucket
from support.markdown import Page
from support.process import free_port, wait_until
from support.standard import standard_bundle

SDK = FOLDER / "java"
MODULES = {"client", "servlet", "spring-boot-starter", "grpc", "micrometer", "example"}
INSTALLED = MAVEN_REPOSITORY / "dev/sluice"


def run(*words: object, cwd: Path, env: "dict[str, str] | None" = None) -> str:
    """What a program prints; it must end with 0."""
    variables = {name: value for name, value in os.environ.items() if not name.startswith("SLUICE_")}
    done = subprocess.run([str(word) for word in words], cwd=cwd, capture_output=True, text=True, timeout=1500, check=False,
                          env={**variables, **(env or {})})
    assert done.returncode == 0, f"{' '.join(map(str, words))} in {cwd}:\n{done.stdout[-6000:]}{done.stderr[-6000:]}"
    return done.stdout


def maven(*words: object, cwd: Path, env: "dict[str, str] | None" = None) -> str:
    return run("mvn", "-B", f"-Dmaven.repo.local={MAVEN_REPOSITORY}", "-Dsurefire.failIfNoSpecifiedTests=false", *words, cwd=cwd, env=env)


@pytest.fixture(scope="module")
def copy(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The sources: the conformance suite builds its adapter in theirs at the same time."""
    folder = tmp_path_factory.mktemp("java") / "sdk"
    shutil.copytree(SDK, folder, ignore=shutil.ignore_patterns("target"))
    return folder


@pytest.fixture(scope="module")
def tested(copy: Path, program: Path) -> str:
    """What Maven printed of all modules and their tests. -Werror is part of the build."""
    return maven("package", "-Dtest=!CostTest", cwd=copy, env={"TEST_AGENT": str(program)})


@pytest.mark.timeout(1800)
def test_the_modules_pass_their_own_tests(tested: str, copy: Path) -> None:
    assert "BUILD SUCCESS" in tested
    for module in MODULES:
        reports = [path.read_text() for path in (copy / module / "target/surefire-reports").glob("TEST-*.xml")]
        counts = [re.search(r'<testsuite [^>]*\btests="(\d+)" errors="0" skipped="0" failures="0"', report) for report in reports]
        assert counts and all(counts), f"{module}: {tested[-3000:]}"


@pytest.mark.timeout(900)
def test_a_check_costs_little_and_leaks_nothing(tested: str, copy: Path, program: Path) -> None:
    del tested   # one Maven at a time in a folder
    printed = maven("-pl", "test-support", "-am", "test", "-Dtest=CostTest", cwd=copy, env={"TEST_AGENT": str(program)})
    assert re.search(r"Tests run: 2, Failures: 0, Errors: 0, Skipped: 0", printed), printed
    print((copy / "test-support/target/surefire-reports/dev.sluice.testsupport.CostTest-output.txt").read_text()[-500:])


def test_the_core_needs_nothing_else(tested: str, copy: Path) -> None:
    del tested
    needed = run("jdeps", "-summary", copy / "client/target/sluice-client-0.1.0.jar", cwd=copy)
    assert {line.split(" -> ")[1] for line in needed.splitlines()} <= {"java.base", "java.logging"}, needed


@pytest.fixture
def published(copy: Path) -> Iterator[None]:
    """The client's jar where Maven finds it. Nothing of ours stays there: it would hide later changes."""
    try:
        maven("-pl", "client", "-am", "install", "-DskipTests", cwd=copy)
        yield
    finally:
        shutil.rmtree(INSTALLED, ignore_errors=True)


@pytest.mark.timeout(600)
def test_the_quick_start_works_as_it_is_pasted(published: None, make_agent: Callable[..., Agent], key: MintedKey, other_key: MintedKey,
                                               tmp_path: Path) -> None:
    del published
    agent = make_agent(standard_bundle(key, other_key), "memory").start()
    block = Page(SDK / "README.md").blocks("sh")[0]
    empty = tmp_path / "empty"
    empty.mkdir()
    printed = run("bash", "-ec", block.text, cwd=empty, env={
        "MAVEN_OPTS": f"-Dmaven.repo.local={MAVEN_REPOSITORY}", "SLUICE_URL": f"http://127.0.0.1:{agent.port}", "SLUICE_API_KEY": key.text,
        "SLUICE_TIMEOUT": "10s"})
    lines = re.findall(r"(\d) (true|false) (\w+)$", printed, re.M)   # Maven may leave its colours before the first
    assert [allowed for _, allowed, _ in lines] == ["true"] * 5 + ["false"] * 2, printed
    assert lines[-1][2] == "limit_exceeded"
    assert [path.name for path in (empty / "lib").iterdir()] == ["sluice-client-0.1.0.jar"]


@pytest.fixture(scope="module")
def libraries(tested: str, copy: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """All jars that the example needs."""
    del tested
    folder = tmp_path_factory.mktemp("lib")
    maven("-q", "-pl", "example,grpc", "-am", "package", "-DskipTests", "dependency:copy-dependencies", f"-DoutputDirectory={folder}", cwd=copy)
    return folder


@pytest.mark.timeout(600)
def test_the_example_needs_only_the_variables(libraries: Path, copy: Path, make_agent: Callable[..., Agent], key: MintedKey, tmp_path: Path) -> None:
    """Spring reads SLUICE_URL as the property sluice.url, and so on; the rules of the variables hold all the same."""
    bundle = Bundle().key(key).plan("two", token_bucket(2, "1/1h")).policy("orders", {"endpoint": "/orders/{number}"}, "two")
    agent = make_agent(bundle, "memory").start()
    wrong = tmp_path / "none"
    port = free_port()
    with (tmp_path / "log").open("wb") as log:
        shop = subprocess.Popen(
            ["java", "-cp", f"{copy}/example/target/classes:{libraries}/*", "dev.sluice.example.ShopApplication", f"--server.port={port}"],
            stdout=log, stderr=log, env={**os.environ, "SLUICE_URL": f"http://127.0.0.1:{agent.port}", "SLUICE_SOCKET": "",
                                         "SLUICE_API_KEY": key.text, "SLUICE_API_KEY_FILE": str(wrong), "SLUICE_TIMEOUT": "9.5s"})
    try:
        wait_until("the shop serves", lambda: answers(port, "/health") == 200, 60)
        assert [answers(port, f"/orders/{number}") for number in range(3)] == [200, 200, 429], (tmp_path / "log").read_text()[-3000:]
    finally:
        shop.terminate()
        shop.wait(30)


def answers(port: int, path: str) -> int:
    """The status of a GET; 0 if nobody listens yet."""
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=30)
    try:
        connection.request("GET", path)
        return connection.getresponse().status
    except ConnectionError:
        return 0
    finally:
        connection.close()


@pytest.mark.timeout(600)
def test_the_blocks_of_the_readme_in_java_compile(libraries: Path, copy: Path, tmp_path: Path) -> None:
    """Each block is the body of a method, or a method, of a class that has what the block takes for granted."""
    blocks = [block.text for block in Page(SDK / "README.md").blocks("java")]
    assert len(blocks) >= 7
    imports = ("dev.sluice.client.*", "dev.sluice.client.testing.*", "dev.sluice.client.web.*", "dev.sluice.grpc.*", "dev.sluice.micrometer.*",
               "dev.sluice.servlet.*", "dev.sluice.spring.*", "io.grpc.Channel", "io.grpc.ManagedChannelBuilder", "io.grpc.Server",
               "io.grpc.ServerBuilder", "jakarta.servlet.Filter", "jakarta.servlet.http.*", "java.util.*",
               "org.springframework.web.bind.annotation.*")
    for number, text in enumerate(blocks):
        given = "" if re.search(r"^Sluice\S* sluice =", text, re.M) else "Sluice sluice = SluiceClient.create();"
        body = text if text.startswith("@") else f"void block() {{ {given}\n{text} }}"
        (tmp_path / f"Block{number}.java").write_text("".join(f"import {name};\n" for name in imports) + f"""
abstract class Block{number} {{
  HttpServletResponse response;
  io.grpc.BindableService service;
  io.micrometer.core.instrument.MeterRegistry registry;
  interface Mail {{ String confirm(String id, List<String> items); }}
  Mail mail;
  static class Shop {{ Shop(Sluice sluice) {{}} void serve() {{}} }}
  abstract void export();
  {body}
}}
""")
    run("javac", "-parameters", "-d", tmp_path / "classes", "-cp", f"{libraries}/*:{copy}/grpc/target/classes", *sorted(tmp_path.glob("Block*.java")), cwd=tmp_path)
