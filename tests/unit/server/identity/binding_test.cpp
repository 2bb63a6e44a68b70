#include "server/identity/binding.hpp"

#include <doctest/doctest.h>

#include "server/sync/agent_auth.hpp"

namespace sluice::server {
namespace {

identity::Bindings made() {
  identity::Bindings bindings;
  bindings.add(
      {.id = "all", .namespace_ = "shop", .service_account = "*", .organization_id = "acme", .tenant_ids = {}});
  bindings.add({.id = "one",
                .namespace_ = "shop",
                .service_account = "checkout",
                .organization_id = "acme",
                .tenant_ids = {"pay"}});
  bindings.set_changed_at("shop", 7);
  return bindings;
}

}  // namespace

TEST_CASE("a service account's own binding wins over that of its namespace") {
  const identity::Bindings bindings = made();
  CHECK(bindings.find("shop", "checkout")->id == "one");
  CHECK(bindings.find("shop", "default")->id == "all");
  CHECK(bindings.find("shop", "*")->id == "all");
  CHECK(bindings.find("forum", "checkout") == nullptr);
  CHECK(bindings.find("shop2", "*") == nullptr);
}

TEST_CASE("a namespace without bindings was never changed") {
  CHECK(made().changed_at("shop") == 7);
  CHECK(made().changed_at("forum") == 0);
}

TEST_CASE("a binding is written and read again as it was") {
  const identity::Binding binding{
      .id = "b", .namespace_ = "shop", .service_account = "a.b", .organization_id = "acme", .tenant_ids = {"a", "b"}};
  CHECK(identity::read_stored_binding(identity::write_binding(binding)) == binding);
  CHECK(identity::write_binding(
            {.id = "b", .namespace_ = "n", .service_account = "*", .organization_id = "", .tenant_ids = {}}) ==
        R"({"id":"b","namespace":"n","service_account":"*","tenant_ids":[]})");
}

TEST_CASE("members of a later version are overlooked, and a document that cannot be read binds nobody") {
  CHECK(identity::read_stored_binding(R"({"id":"b","namespace":"n","service_account":"*","tenant_ids":[],"later":1})")
            .namespace_ == "n");
  identity::Bindings bindings;
  for (const char* document :
       {"", "[]", "{}", R"({"id":"b","namespace":"N"})", R"({"id":"b","namespace":"n","tenant_ids":1})"}) {
    CAPTURE(document);
    bindings.add(identity::read_stored_binding(document));
  }
  CHECK(bindings.size() == 0);
}

TEST_CASE("a pod's pass is its binding's reach, and ends with its token") {
  const identity::PodIdentity pod{.namespace_ = "shop",
                                  .service_account = "checkout",
                                  .pod = "checkout-5",
                                  .pod_uid = "u",
                                  .expires_at = WallTime(std::chrono::seconds(100))};
  const auto token = sync::token_of_pod(made(), pod, "token");
  REQUIRE(token);
  CHECK(token->caller.token_id == "binding:one");
  CHECK(token->caller.tenant_ids == std::vector<std::string>{"pay"});
  CHECK(token->caller.namespace_ == "shop");
  CHECK(token->caller.pod == "checkout-5");
  CHECK(token->document.expires_at == pod.expires_at);
  CHECK(token->scope_since == 7);
  CHECK(sync::token_of_pod(identity::Bindings(), pod, "token") == nullptr);
}

}  // namespace sluice::server
