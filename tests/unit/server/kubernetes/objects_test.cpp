// Events, Secrets and webhooks as JSON, and what is made of the API's answers.
#include <doctest/doctest.h>

#include "common/json/tree.hpp"
#include "server/kubernetes/events.hpp"
#include "server/kubernetes/make_secrets.hpp"
#include "server/kubernetes/webhooks.hpp"

namespace sluice::server::kubernetes {
namespace {

using namespace std::chrono_literals;

struct Said final : Api {
  explicit Said(Result<ApiResponse> its_answer) : answer(std::move(its_answer)) {}
  void send(std::string method, std::string path, std::string, std::chrono::milliseconds, Done done, std::string,
            std::string) override {
    asked = method + " " + path;
    done(answer);
  }
  Result<ApiResponse> answer;
  std::string asked;
};

const ObjectReference kPod{.namespace_ = "shop", .name = "web-1", .uid = "u-1"};
const Event kMissing{Event::Type::warning, "SidecarMissing", "it has none"};

std::string text(const json::Value& object, std::string_view name) { return std::string(object.find(name)->text()); }

std::string name_of(const std::string& event) {
  json::Tree tree;
  return text(*tree.parse(event)->find("metadata"), "name");
}

TEST_CASE("an event says what it is about, and is the same one for the same object and reason") {
  const std::string written = write_event(kPod, kMissing, std::chrono::sys_seconds(1'800'000'000s));
  json::Tree tree;
  const auto event = tree.parse(written);
  REQUIRE(event);
  CHECK(text(*event->find("involvedObject"), "uid") == "u-1");
  CHECK(text(*event->find("metadata"), "namespace") == "shop");
  CHECK(text(*event, "type") == "Warning");
  CHECK(text(*event, "lastTimestamp") == "2027-01-15T08:00:00Z");
  CHECK(name_of(written).starts_with("web-1."));
  Event same = kMissing;
  same.message = "in other words";
  CHECK(name_of(write_event(kPod, same, {})) == name_of(written));
  ObjectReference next = kPod;
  next.uid = "u-2";
  CHECK(name_of(write_event(next, kMissing, {})) != name_of(written));
}

TEST_CASE("a message that is too long is cut between characters") {
  Event event = kMissing;
  event.message.clear();
  for (int i = 0; i < 600; ++i) event.message += "ä";
  event.message.insert(0, "x");
  const std::string written = write_event(kPod, event, {});
  json::Tree tree;
  CHECK(tree.parse(written)->find("message")->text().size() == 1'023);
}

TEST_CASE("an event that is there already is no failure; a refusal is") {
  const auto outcome = [](Result<ApiResponse> answer) {
    Said api(std::move(answer));
    std::string told;
    create_event(api, kPod, kMissing, {},
                 [&](Result<bool> done) { told = done ? (*done ? "new" : "there") : done.error().code; });
    CHECK(api.asked == "POST /api/v1/namespaces/shop/events");
    return told;
  };
  CHECK(outcome(ApiResponse{201, "{}"}) == "new");
  CHECK(outcome(ApiResponse{409, "{}"}) == "there");
  CHECK(outcome(ApiResponse{403, "{}"}) == "refused");
  CHECK(outcome(failure("timeout", "")) == "timeout");
}

TEST_CASE("the Secrets of a new installation hold passwords that fit their URLs, others each time") {
  const SecretsOptions options{.api = {}, .database_host = "db:5433", .database_name = "sluice"};
  const auto made = wanted_secrets(options);
  REQUIRE(made.size() == 2);
  const auto value = [](const NewSecret& secret, std::string_view key) {
    for (const auto& [name, found] : secret.values) {
      if (name == key) return found;
    }
    return std::string("missing");
  };
  CHECK(value(made[0], "url") == "postgresql://sluice_app@db:5433/sluice");
  CHECK(value(made[0], "password").size() == 43);
  CHECK(value(made[0], "owner-url") ==
        "postgresql://sluice_owner:" + value(made[0], "owner-password") + "@db:5433/sluice");
  CHECK(value(made[1], "server-user") == "sluice-server");
  CHECK(value(made[1], "agent-user") == "sluice-agent");
  CHECK(value(made[1], "agent-password") != value(made[1], "server-password"));
  CHECK(value(made[1], "node-password") != value(made[1], "server-password"));
  CHECK(value(wanted_secrets(options)[0], "password") != value(made[0], "password"));
  const std::string written = write_secret(made[1]);
  CHECK(written.find(R"("name":"sluice-redis")") != std::string::npos);
}

TEST_CASE("webhooks are read with their bundles, and a patch touches nothing else") {
  const auto read = read_webhooks(
      R"({"metadata":{"resourceVersion":"7"},"webhooks":[{"name":"a","clientConfig":{"caBundle":"eA=="}},{"name":"b"}]})");
  REQUIRE(read);
  CHECK(read->exist());
  CHECK_FALSE(read->all_trust("x"));
  CHECK_FALSE(read->all_include("x"));
  CHECK(patch_webhooks(*read, "x") ==
        R"({"metadata":{"resourceVersion":"7"},"webhooks":[{"name":"a","clientConfig":{"caBundle":"eA=="}},)"
        R"({"name":"b","clientConfig":{"caBundle":"eA=="}}]})");
  CHECK_FALSE(Webhooks{}.exist());
  CHECK(read_webhooks("{}").error().code == "unexpected");
}

}  // namespace
}  // namespace sluice::server::kubernetes
