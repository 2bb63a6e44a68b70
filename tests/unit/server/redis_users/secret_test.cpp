// Passwords of agents' Redis users, and the flags about them.
#include "server/redis_users/secret.hpp"

#include <doctest/doctest.h>

#include <set>

#include "server/config.hpp"
#include "tests/unit/http/certificate_maker.hpp"
#include "tests/unit/program/invocation.hpp"

namespace sluice::server::redis_users {
namespace {

using program::Texts;

const std::string kText(32, 's');

Secret secret_of(std::string_view text) {
  const sluice::http::Folder folder;
  folder.write("secret", std::string(text));
  return *read_secret(folder.path("secret"));
}

std::string faults_of(const Texts& arguments) {
  Texts all = arguments;
  all.insert(all.end(), {"--database-url", "postgresql://sluice_app@/sluice"});
  const program::Invocation invocation(std::move(all), {});
  const auto read = read_config(invocation.argc(), invocation.argv(), invocation.environment());
  std::string text;
  if (read) return text;
  for (const Fault& each : read.error()) text += each.pointer + ": " + each.text + "\n";
  return text;
}

bool has(const std::string& text, std::string_view part) { return text.find(part) != std::string::npos; }

TEST_CASE("users are named after their token or binding") {
  CHECK(user_name("k7") == "sluice-agent-t-k7");
  CHECK(user_name("binding:shop.default") == "sluice-agent-b-shop.default");
}

TEST_CASE("a password depends on the secret, the user and the scope, and on nothing else") {
  const Secret secret = secret_of(kText);
  const sync::AgentCaller shop{.token_id = "binding:b",
                               .organization_id = "acme",
                               .tenant_ids = {"lab", "shop"},
                               .namespace_ = "ns",
                               .pod = "p1"};
  const std::string password = password_of(secret, shop);
  CHECK(password.size() == 43);
  CHECK(password == password_of(secret_of(kText + "\n"), shop));
  std::set<std::string> others{password_of(secret_of(std::string(32, 't')), shop)};
  for (const auto& change : std::initializer_list<void (*)(sync::AgentCaller&)>{
           [](sync::AgentCaller& c) { c.token_id = "b"; }, [](sync::AgentCaller& c) { c.organization_id = "globex"; },
           [](sync::AgentCaller& c) { c.tenant_ids = {"labshop"}; }, [](sync::AgentCaller& c) { c.tenant_ids.clear(); },
           [](sync::AgentCaller& c) { c.namespace_ = "other"; }}) {
    sync::AgentCaller changed = shop;
    change(changed);
    others.insert(password_of(secret, changed));
  }
  CHECK(others.size() == 6);
  CHECK_FALSE(others.contains(password));
  sync::AgentCaller other_pod = shop;
  other_pod.pod = "p2";
  CHECK(password_of(secret, other_pod) == password);
}

TEST_CASE("a generation names its secret, and a short secret is refused without being told") {
  CHECK(secret_of(kText).generation == secret_of(kText).generation);
  CHECK(secret_of(kText).generation != secret_of(kText + "x").generation);
  CHECK(secret_of(kText).generation.size() == 16);
  const sluice::http::Folder folder;
  folder.write("secret", std::string(31, 's'));
  const auto read = read_secret(folder.path("secret"));
  REQUIRE_FALSE(read);
  CHECK(has(read.error().text, "31 bytes"));
  CHECK_FALSE(has(read.error().text, "sss"));
}

TEST_CASE("per-scope users need a Redis and a secret that no agent knows") {
  const sluice::http::Folder folder;
  folder.write("secret", kText);
  folder.write("short", "short");
  const Texts good{"--redis-users",       "per-scope",  "--redis-users-secret-file",
                   folder.path("secret"), "--counters", "redis://127.0.0.1"};
  CHECK(faults_of(good) == "");
  CHECK(faults_of({"--redis-users", "fixed"}) == "");
  const std::string lacking = faults_of({"--redis-users", "per-scope"});
  CHECK(has(lacking, "add --counters"));
  CHECK(has(lacking, "add --redis-users-secret-file"));
  CHECK(has(faults_of({"--redis-users", "each"}), "must be fixed or per-scope"));
  CHECK(has(faults_of({"--redis-users-secret-file", folder.path("secret")}), "no use without --redis-users per-scope"));
  Texts same = good;
  same.insert(same.end(), {"--agents-redis-password-file", folder.path("secret")});
  CHECK(has(faults_of(same), "which agents know"));
  Texts weak = good;
  weak[3] = folder.path("short");
  CHECK(has(faults_of(weak), "at least 32"));
}

}  // namespace
}  // namespace sluice::server::redis_users
