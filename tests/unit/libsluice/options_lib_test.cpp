// Engine::open(), load() and reload(): which options fit together, and where policies come from.
#include <unistd.h>

#include <atomic>
#include <filesystem>
#include <fstream>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include <doctest/doctest.h>

#include "common/domain/credential.hpp"
#include "tests/unit/libsluice/engine_rig.hpp"
#include "tests/unit/libsluice/folder.hpp"

namespace sluice {
namespace {

using v1::Code;
using v1::Engine;

v1::Status refused(v1::Options options) {
  const auto opened = Engine::open(std::move(options));
  CHECK_FALSE(opened);
  return opened.status;
}

TEST_CASE("options that do not fit together are refused, each with its name") {
  const std::string bundle = bundle_of(fixed_window(1));
  const Folder folder;
  const std::string file = folder.write("policies.json", bundle);
  const std::string token = folder.write("token", mint_key("x", CredentialKind::agent_token));
  struct Row {
    v1::Options options;
    Code code;
    std::string_view message;
  };
  const std::vector<Row> rows{
      {{.bundle = bundle, .bundle_file = file},
       Code::invalid_options,
       "bundle: bundle_file names other policies: leave one of them empty"},
      {{.bundle = bundle, .server = {.url = "http://localhost:1"}},
       Code::invalid_options,
       "server.url: bundle names other policies: leave one of them empty"},
      {{.bundle = bundle, .watch_file = true},
       Code::invalid_options,
       "watch_file: needs bundle_file, the file that it watches"},
      {{.bundle = bundle, .tenant = "A shop"},
       Code::invalid_options,
       R"(tenant: must be the id of a tenant: at most 63 of a-z, 0-9, "." and "-"; got "A shop")"},
      {{.bundle = bundle, .tenant = "a\nb"},
       Code::invalid_options,
       R"(tenant: must be the id of a tenant: at most 63 of a-z, 0-9, "." and "-"; got "a\nb")"},
      {{.bundle = bundle, .redis = {.password_file = token}},
       Code::invalid_options,
       "redis.password_file: needs redis.url: without it counters are in memory"},
      {{.bundle = bundle, .server = {.cache_file = token}},
       Code::invalid_options,
       "server.cache_file: needs server.url, the server that policies come from"},
      {{.bundle = bundle, .threads = 1025}, Code::invalid_options, "threads: must be from 0 to 1024; got 1025"},
      {{.server = {.url = "localhost"}},
       Code::invalid_options,
       "server.url: must be https://HOST[:PORT] or http://HOST[:PORT], without a path"},
      {{.server = {.url = "http://localhost:1"}},
       Code::invalid_options,
       "server.token_file: is missing: the server wants the token of an agent"},
      {{.server = {.url = "http://localhost:1", .token_file = token, .ca_file = token}},
       Code::invalid_options,
       "server.ca_file: has no use without https://; leave it out"},
      {{.server = {.url = "http://localhost:1", .token_file = token, .name = "two words"}},
       Code::invalid_options,
       "server.name: must be 1 to 253 visible ASCII characters"},
  };
  for (const Row& row : rows) {
    CAPTURE(row.message);
    const v1::Status status = refused(row.options);
    CHECK(status.code == row.code);
    CHECK(status.message == row.message);
  }
  CHECK(refused({.server = {.url = "http://localhost:1", .token_file = folder.file("none")}}).code ==
        Code::unreachable);
  const auto refused_server = [&](std::string cache, std::string ca) {
    const v1::Status status = refused({.server = {.url = "https://localhost:1",
                                                  .token_file = token,
                                                  .cache_file = std::move(cache),
                                                  .ca_file = std::move(ca)}});
    return status.message;
  };
  const std::string here = folder.file("");
  CHECK(refused_server(here, "") == "server.cache_file: " + here + " is a folder: name a file in it");
  CHECK(refused_server(folder.file("none/cache"), "") ==
        "server.cache_file: the folder " + folder.file("none") + " is missing: make it, or name another");
  CHECK(refused_server("", here) == "server.ca_file: " + here + " cannot be read: Is a directory");
  const std::string no_pem = refused_server("", token);
  CHECK(no_pem.starts_with("server.ca_file: the file of certificate authorities " + token + " cannot be used: "));
  CHECK(no_pem.ends_with("; it must be PEM"));
  CHECK(refused({.bundle_file = folder.file("none.json")}).code == Code::unreachable);
}

TEST_CASE("a faulty bundle is refused with the place of its first fault, and changes nothing") {
  const v1::Status status = refused({.bundle = R"({"format":"sluice/v1","tenants":[{"id":"A"}],"plans":7})"});
  CHECK(status.code == Code::invalid_policies);
  CHECK(status.message.starts_with("bundle: /tenants/0/id, line 1, column"));
  CHECK(status.message.ends_with(" (and 1 more fault)"));
  CHECK(refused({.bundle = "policies.yaml"}).message ==
        "bundle: line 1, column 1: this must be an object, not a string; a path belongs into bundle_file");

  const auto engine = open_engine({.bundle = bundle_of(fixed_window(1))});
  CHECK(engine->revision() == 1);
  CHECK(engine->load("{").code == Code::invalid_policies);
  CHECK(engine->revision() == 1);
  CHECK(engine->check(kOrders).limit == 1);
  CHECK(engine->load(bundle_of(fixed_window(2))).ok());
  CHECK(engine->revision() == 2);
  CHECK(engine->check(kOrders).limit == 2);
  CHECK(engine->reload().code == Code::invalid_options);
}

TEST_CASE("a bundle may be YAML, and a file is read again when the program says so") {
  const Folder folder;
  const auto yaml = [](int limit) {
    return fmt::format(
        "format: sluice/v1\ntenants: [{{id: shop}}]\npolicies:\n- tenant_id: shop\n  id: orders\n"
        "  scope: {{resource: \"GET:/orders\"}}\n  key_by: [subject]\n"
        "  limits: [{{name: rate, algorithm: fixed_window, limit: {}, window: 1h}}]\n",
        limit);
  };
  CHECK(open_engine({.bundle = yaml(3)})->check(kOrders).limit == 3);
  const std::string file = folder.write("policies.yaml", yaml(1));
  const auto engine = open_engine({.bundle_file = file});
  CHECK(engine->check(kOrders).limit == 1);
  folder.write("policies.yaml", yaml(2));
  CHECK(engine->check(kOrders).limit == 1);
  CHECK(engine->reload().ok());
  CHECK(engine->check(kOrders).limit == 2);
  folder.write("policies.yaml", "tenants: 7");
  const v1::Status faulty = engine->reload();
  CHECK(faulty.code == Code::invalid_policies);
  CHECK(faulty.message.starts_with("bundle_file: " + file + ": "));
  std::filesystem::remove(file);
  CHECK(engine->reload().code == Code::unreachable);
  CHECK(engine->check(kOrders).limit == 2);
}

TEST_CASE("a watched file is loaded when it changes, also for an engine that one thread uses") {
  for (const v1::Concurrency concurrency : {v1::Concurrency::many, v1::Concurrency::one}) {
    const Folder folder;
    const std::string file = folder.write("policies.json", bundle_of(fixed_window(1)));
    const auto engine = open_engine({.bundle_file = file, .watch_file = true, .concurrency = concurrency});
    CHECK(engine->check(kOrders).limit == 1);
    folder.write("policies.json", bundle_of(fixed_window(2)));
    CHECK(until([&] { return engine->revision() == 2; }));
    CHECK(engine->check(kOrders).limit == 2);
    folder.write("policies.json", "{");
    folder.write("policies.json", bundle_of(fixed_window(3)));
    CHECK(until([&] { return engine->check(kOrders).limit == 3; }));
  }
}

}  // namespace
}  // namespace sluice
