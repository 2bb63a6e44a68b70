"""The examples, compiled against the packages in an empty folder, decide."""

import os
import re
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from support.redis_server import RedisServer
from support.unpacked import ROOT, Unpacked, example, run
from testbed.toolchain import find_go

CPP = "allowed, 2 left\nallowed, 1 left\nallowed, 0 left\ndenied, 0 left\n"
OTHERS = "allow: within_limit, 2 left\nallow: within_limit, 1 left\nallow: within_limit, 0 left\ndeny: limit_exceeded, 0 left\nexporting\n"

cpp_compilers = pytest.mark.parametrize("name", ["g++", "clang++-14", "clang++-19"])
c_compilers = pytest.mark.parametrize("name", ["gcc", "clang-14", "clang-19"])


def is_dynamic(program: Path, folder: Path) -> bool:
    return "libsluice.so.0" in run(["readelf", "-d", str(program)], folder)


def by_cmake(language: str, cxx: str, library: str, folder: Path, unpacked: Unpacked) -> Path:
    source = example({"CXX": "cpp", "C": "c"}[language], folder)
    build = folder / "build"
    run(["cmake", "-G", "Ninja", "-S", str(source), "-B", str(build), f"-DCMAKE_{language}_COMPILER={cxx}", f"-DLIBRARY={library}"],
        folder, unpacked.env)
    run(["cmake", "--build", str(build)], folder, unpacked.env)
    return build / "check"


@cpp_compilers
@pytest.mark.parametrize("library", ["sluice", "sluice_static"])
def test_ten_lines_of_cpp_decide_by_find_package(
        name: str, library: str, compiler: Callable[[str], str], unpacked: Unpacked, tmp_path: Path) -> None:
    program = by_cmake("CXX", compiler(name), f"Sluice::{library}", tmp_path, unpacked)
    assert run([str(program)], tmp_path, unpacked.env) == CPP
    assert is_dynamic(program, tmp_path) == (library == "sluice")


@cpp_compilers
@pytest.mark.parametrize("package", ["sluice", "sluice-static"])
def test_ten_lines_of_cpp_decide_by_pkg_config(
        name: str, package: str, compiler: Callable[[str], str], unpacked: Unpacked, tmp_path: Path) -> None:
    source = example("cpp", tmp_path) / "check.cpp"
    run([compiler(name), "-std=c++20", "-Wall", "-Wextra", "-Werror", str(source), "-o", "check",
         *unpacked.pkg_config("--cflags", "--libs", package)], tmp_path)
    assert run(["./check"], tmp_path, unpacked.env) == CPP
    assert is_dynamic(tmp_path / "check", tmp_path) == (package == "sluice")


@pytest.mark.parametrize("name", ["g++", "clang++-19"])
def test_a_program_with_boost_of_its_own_waits_for_checks(
        name: str, compiler: Callable[[str], str], unpacked: Unpacked, tmp_path: Path) -> None:
    """Its Asio has other settings than the library's: other sizes of the same structs under the same names."""
    example("cpp", tmp_path)
    (tmp_path / "asio.cpp").write_text('''
#include <boost/asio/thread_pool.hpp>
#include <boost/asio/use_future.hpp>
#include <iostream>
#include <sluice/asio.hpp>
#include <sluice/engine.hpp>
int main() {
  auto opened = sluice::v1::Engine::open({.bundle_file = "policies.yaml"});
  boost::asio::thread_pool pool(2);
  int allowed = 0;
  for (int i = 0; i < 1000; ++i) {
    const sluice::v1::Request request{.resource = "GET:/orders", .subject = "user:42"};
    auto asked = boost::asio::post(pool, boost::asio::use_future([&] { return opened.engine->check(request).allowed; }));
    allowed += asked.get() ? 1 : 0;
    allowed += sluice::v1::async_check(*opened.engine, request, boost::asio::use_future).get().allowed ? 1 : 0;
  }
  pool.join();
  std::cout << allowed << "\\n";
}
''')
    run([compiler(name), "-std=c++20", "-O2", "-DBOOST_ASIO_RECYCLING_ALLOCATOR_CACHE_SIZE=2", "asio.cpp", "-o", "check", "-pthread",
         *unpacked.pkg_config("--cflags", "--libs", "sluice-static")], tmp_path)
    assert run(["./check"], tmp_path, unpacked.env) == "3\n"


@c_compilers
@pytest.mark.parametrize("package", ["sluice", "sluice-static"])
def test_c_decides_and_holds_a_lease(
        name: str, package: str, compiler: Callable[[str], str], unpacked: Unpacked, tmp_path: Path) -> None:
    source = example("c", tmp_path) / "check.c"
    run([compiler(name), "-std=c99", "-Wall", "-Wextra", "-pedantic", "-Werror", str(source), "-o", "check",
         *unpacked.pkg_config("--cflags", "--libs", package)], tmp_path)
    assert run(["./check"], tmp_path, unpacked.env) == OTHERS


def test_a_plugin_in_c_is_loaded_and_unloaded_many_times(compiler: Callable[[str], str], unpacked: Unpacked, tmp_path: Path) -> None:
    source = (example("c", tmp_path) / "check.c").read_text()
    (tmp_path / "plugin.c").write_text(source.replace("int main(void)", "int decide(void)"))
    (tmp_path / "host.c").write_text('''
#include <dlfcn.h>
#include <stddef.h>
#include <stdio.h>
int main(void) {
  for (int i = 0; i < 20; ++i) {
    void* plugin = dlopen("./plugin.so", RTLD_NOW | RTLD_LOCAL);
    if (plugin == NULL) return puts(dlerror()), 1;
    int (*decide)(void);
    *(void**)&decide = dlsym(plugin, "decide");
    if (decide == NULL || decide() != 0 || dlclose(plugin) != 0) return 1;
  }
  return 0;
}
''')
    run([compiler("gcc"), "-shared", "-fPIC", "plugin.c", "-o", "plugin.so", *unpacked.pkg_config("--cflags", "--libs", "sluice")], tmp_path)
    run([compiler("gcc"), "host.c", "-o", "host", "-ldl"], tmp_path)
    assert run(["./host"], tmp_path, unpacked.env) == 20 * OTHERS


@pytest.mark.parametrize("library", ["sluice", "sluice_static"])
def test_c_decides_by_find_package(library: str, compiler: Callable[[str], str], unpacked: Unpacked, tmp_path: Path) -> None:
    program = by_cmake("C", compiler("gcc"), f"Sluice::{library}", tmp_path, unpacked)
    assert run([str(program)], tmp_path, unpacked.env) == OTHERS


def test_python_decides_and_holds_a_lease(unpacked: Unpacked, tmp_path: Path) -> None:
    folder = example("python", tmp_path)
    assert run([sys.executable, str(folder / "check.py")], tmp_path, unpacked.env) == OTHERS


def test_python_sees_why_a_bundle_was_refused_and_loads_another(unpacked: Unpacked, tmp_path: Path) -> None:
    folder = example("python", tmp_path)
    (folder / "more.py").write_text('''
from sluice_engine import Engine, SluiceError
for options in ({"bundle_fil": "x"}, {"bundle_file": "missing.json"}, {"bundle": "{}"}):
    try:
        Engine(**options)
    except SluiceError as error:
        print(error.code, "|", error)
with Engine(bundle_file="policies.yaml", metrics=True) as engine:
    try:
        engine.check(job_type="export")
    except SluiceError as error:
        print(error.code)
    decision = engine.check(resource="GET:/orders", subject="user:1", tags={"a": "b"}, costs={"tokens": 5}, explain=True)
    print(decision.remaining, decision.explanation.startswith("{"))
    engine.load(open("policies.yaml").read().replace('limit: 3,', 'limit: 30,'))
    print(engine.check(resource="GET:/orders", subject="user:1").remaining, engine.revision)
    print("sluice_" in engine.metrics())
engine.close()
for ask in (lambda: engine.check(subject="user:1"), lambda: engine.release("x"), lambda: engine.load(""), engine.reload, engine.metrics,
            lambda: engine.revision):
    try:
        ask()
    except SluiceError as error:
        print(error.code)
with Engine(bundle_file="policies.yaml", redis_url=None) as engine:
    print(engine.check(resource="GET:/orders", subject="user:1").remaining)
''')
    lines = run([sys.executable, str(folder / "more.py")], tmp_path, unpacked.env).splitlines()
    assert lines[0].startswith("invalid_options |") and 'or "bundle_file"?' in lines[0]
    assert lines[1].startswith("unreachable |") and "missing.json" in lines[1]
    assert lines[2].startswith("invalid_policies |")
    assert lines[3:] == ["missing_dimension", "2 True", "28 2", "True", *6 * ["stopped"], "2"]


def test_declarations_in_the_python_module_are_those_of_the_header(unpacked: Unpacked) -> None:
    def words(text: str) -> str:
        return re.sub(r"\s+", " ", text).strip()

    header = words(re.sub(r"/\*.*?\*/", "", (unpacked.usr / "include/sluice/sluice.h").read_text(), flags=re.DOTALL))
    module = (ROOT / "examples/in_process/python/sluice_engine.py").read_text()
    declared = re.findall(r"(?:typedef struct \w+ \{.*?\} \w+;|^[^;{}]+;)", module.split('ffi.cdef("""')[1].split('"""')[0],
                          re.DOTALL | re.MULTILINE)
    assert len(declared) > 20
    for declaration in declared:
        assert words(declaration) in header
    for constant in re.findall(r"SLUICE_[A-Z]+ = \d+", module):
        assert constant in header


def test_go_decides_and_holds_a_lease(unpacked: Unpacked, tmp_path: Path) -> None:
    folder = example("go", tmp_path)
    env = {**unpacked.env, "GOWORK": "off", "GOTOOLCHAIN": "auto", "GOFLAGS": "", "CGO_ENABLED": "1",
           "HOME": os.environ.get("HOME", str(tmp_path))}
    run([find_go(folder / "go.mod"), "build", "-o", str(tmp_path / "check"), "."], folder, env)
    assert run(["./check"], tmp_path, unpacked.env) == OTHERS
    (folder / "main.go").write_text('''
package main

import (
	"errors"
	"fmt"

	"example.com/check/sluice"
)

func main() {
	engine, err := sluice.Open(sluice.Options{"bundle_file": "policies.yaml"})
	if err != nil {
		panic(err)
	}
	engine.Close()
	engine.Close()
	_, checked := engine.Check(sluice.Request{Resource: "GET:/orders"})
	for _, err := range []error{checked, engine.Release("x"), engine.Load("x")} {
		var refused *sluice.Error
		fmt.Println(errors.As(err, &refused) && refused.Code == "stopped")
	}
}
''')
    run([find_go(folder / "go.mod"), "build", "-o", str(tmp_path / "closed"), "."], folder, env)
    assert run(["./closed"], tmp_path, unpacked.env) == 3 * "true\n"


def test_processes_that_name_one_redis_share_a_limit(unpacked: Unpacked, redis: RedisServer, tmp_path: Path) -> None:
    """Children of fork() each open an engine of their own."""
    folder = example("python", tmp_path)
    (folder / "workers.py").write_text(f'''
import os
from sluice_engine import Engine

def work():
    with Engine(bundle_file="policies.yaml", redis_url="{redis.counters}", redis_deadline_ms=2000) as engine:
        return sum(engine.check(resource="GET:/orders", subject="user:42").allowed for _ in range(5))

ends = []
for _ in range(3):
    read, write = os.pipe()
    if os.fork() == 0:
        os.write(write, str(work()).encode())
        os._exit(0)
    ends.append(read)
    os.close(write)
print(sum(int(os.read(end, 9)) for end in ends))
for _ in ends:
    assert os.wait()[1] == 0
''')
    assert run([sys.executable, str(folder / "workers.py")], tmp_path, unpacked.env) == "3\n"
