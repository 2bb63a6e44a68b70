#include "server/webhooks/webhook.hpp"

#include <doctest/doctest.h>

#include <string>
#include <vector>

using namespace sluice;
using namespace sluice::server::webhooks;

namespace {

struct Reading {
  Webhook webhook;
  std::vector<std::string> pointers;
};

Reading read(std::string_view text) {
  json::Tree tree;
  Faults faults;
  Reading done{read_webhook(tree.parse(text).value(), AddressRules(), faults), {}};
  for (const Fault& fault : faults) done.pointers.push_back(fault.pointer);
  return done;
}

}  // namespace

TEST_CASE("A webhook is written without defaults, and read back as it was") {
  const Reading plain = read(R"({"tenant_id":"shop","id":"a","url":"https://example.com/"})");
  CHECK(plain.pointers.empty());
  CHECK(write_webhook(plain.webhook) ==
        R"({"tenant_id":"shop","id":"a","url":"https://example.com/","events":[],"policies":[]})");
  const Reading full = read(
      R"({"tenant_id":"shop","id":"a","name":"n","url":"https://example.com/","events":["denials","failure_mode",
          "denials"],"policies":["b","a"],"denied_percent":30,"denied_minutes":2,"enabled":false})");
  CHECK(full.pointers.empty());
  CHECK(full.webhook.events == std::vector{EventKind::failure_mode, EventKind::denials});
  CHECK(read_stored_webhook(write_webhook(full.webhook)) == full.webhook);
}

TEST_CASE("All faults of a webhook are found at once") {
  CHECK(read("{}").pointers == std::vector<std::string>{"/tenant_id", "/id", "/url"});
  const Reading faulty = read(
      R"({"tenant_id":"shop","id":"A","url":"https://10.0.0.1/","events":["test",7],"policies":["No"],
          "denied_percent":100,"denied_minutes":0,"enabled":"yes","secret_salt":"x"})");
  CHECK(faulty.pointers == std::vector<std::string>{"/id", "/url", "/events/0", "/events/1", "/policies/0",
                                                    "/denied_percent", "/denied_minutes", "/enabled", "/secret_salt"});
}

TEST_CASE("A stored webhook that a later release wrote is read without what it does not know") {
  CHECK(read_stored_webhook(R"({"tenant_id":"shop","id":"a","url":"https://x","events":[],"color":"red"})"));
  const auto later = read_stored_webhook(R"({"tenant_id":"shop","id":"a","url":"https://x","events":["x","denials"]})");
  REQUIRE(later);
  CHECK(later->events == std::vector{EventKind::denials});
  CHECK_FALSE(read_stored_webhook("nonsense"));
}
