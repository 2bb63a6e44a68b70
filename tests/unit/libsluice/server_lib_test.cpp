// An engine that follows a server: it has the server's policies, and starts with the last good ones without it.
#include <atomic>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <memory>
#include <optional>
#include <string>
#include <thread>

#include <doctest/doctest.h>
#include <stdlib.h>

#include "common/domain/credential.hpp"
#include "tests/unit/engine/follow/fake_server.hpp"
#include "tests/unit/libsluice/engine_rig.hpp"

namespace sluice {
namespace {

using follow::test::FakeServer;

// The server runs on this thread; the engine follows it on its own.
struct ServerRig {
  ServerRig() {
    char name[] = "/tmp/libsluice-server-XXXXXX";
    REQUIRE(::mkdtemp(name) != nullptr);
    folder = name;
    std::ofstream(folder / "token") << token << '\n';
  }
  ~ServerRig() {
    close();
    fake.reset();
    loop.restart();
    loop.poll();
    std::filesystem::remove_all(folder);
  }

  void serve() {
    fake.emplace(loop);
    fake->token = token;
    fake->write(sync::settings("enforce"));
    url = fake->url;
  }
  void open() {
    v1::Options options{.concurrency = v1::Concurrency::one};
    options.server.url = url;
    options.server.token_file = folder / "token";
    options.server.cache_file = folder / "kept";
    options.server.name = "program";
    engine = open_engine(std::move(options));
  }
  // The server takes the last report meanwhile.
  void close() {
    if (!engine) return;
    std::atomic<bool> closed = false;
    std::jthread closing([&] {
      engine.reset();
      closed = true;
    });
    CHECK(until([&] { return closed.load(); }));
  }
  template <class Condition>
  bool until(Condition done) {
    const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(60);
    while (!done()) {
      if (std::chrono::steady_clock::now() >= end) return false;
      loop.restart();
      loop.run_one_for(std::chrono::milliseconds(5));
    }
    return true;
  }

  const std::string token = mint_key("agents", CredentialKind::agent_token);
  std::filesystem::path folder;
  std::string url = "http://127.0.0.1:1";
  boost::asio::io_context loop;
  std::optional<FakeServer> fake;
  std::unique_ptr<v1::Engine> engine;
};

TEST_CASE("an engine has the policies of its server, and changes with them") {
  ServerRig rig;
  rig.serve();
  rig.open();
  CHECK(rig.until([&] { return rig.engine->has_policies(); }));
  const v1::Request request{.resource = "x", .subject = "a"};
  CHECK(rig.engine->check(request).policy == "orders");
  CHECK(rig.engine->load("{}").code == v1::Code::invalid_options);

  rig.fake->write(sync::policy("shop", "loans", "pro", "GET:/loans"));
  rig.fake->invalidate();
  const v1::Request loans{.resource = "GET:/loans", .subject = "a"};
  CHECK(rig.until([&] { return rig.engine->check(loans).policy == "loans"; }));
  CHECK(rig.engine->revision() == 2);
  CHECK(rig.engine->metrics().empty());
}

TEST_CASE("without its server, an engine starts with the last good policies") {
  ServerRig rig;
  rig.serve();
  rig.open();
  CHECK(rig.until([&] { return std::filesystem::exists(rig.folder / "kept.state" / "1"); }));
  rig.close();
  rig.fake.reset();
  rig.url = "http://127.0.0.1:1";
  rig.open();
  CHECK(rig.engine->has_policies());
  CHECK(rig.engine->check({.resource = "x", .subject = "a"}).policy == "orders");
}

TEST_CASE("without its server and without policies, checks get what the options say") {
  ServerRig rig;
  rig.open();
  CHECK(rig.engine->check({.resource = "GET:/orders"}).reason == v1::Reason::no_snapshot);
}

}  // namespace
}  // namespace sluice
