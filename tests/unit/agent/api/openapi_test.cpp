#include "agent/api/openapi.hpp"

#include <doctest/doctest.h>

#include <set>
#include <string>
#include <vector>

#include "common/base/version.hpp"
#include "common/domain/algorithm.hpp"
#include "common/domain/check_batch.hpp"
#include "common/domain/check_fields.hpp"
#include "common/domain/decision.hpp"
#include "common/json/tree.hpp"

using namespace sluice;

namespace {

// The document, walked by JSON pointers without escapes: "components/schemas/Check".
class Document {
 public:
  Document() {
    const auto root = tree_.parse(agent::api::openapi_document());
    REQUIRE(root.has_value());
    root_ = *root;
  }
  const json::Value& root() const { return root_; }

  const json::Value* find(const std::vector<std::string>& path) const {
    const json::Value* at = &root_;
    for (const std::string& name : path) {
      at = at->find(name);
      if (at == nullptr) return nullptr;
    }
    return at;
  }
  std::set<std::string> names(const std::vector<std::string>& path) const {
    std::set<std::string> found;
    const json::Value* object = find(path);
    REQUIRE(object != nullptr);
    for (const json::Member& entry : object->members()) found.insert(std::string(entry.name));
    return found;
  }
  std::set<std::string> texts(const std::vector<std::string>& path) const {
    std::set<std::string> found;
    const json::Value* array = find(path);
    REQUIRE(array != nullptr);
    for (const json::Value& item : array->items()) found.insert(std::string(item.text()));
    return found;
  }

 private:
  json::Tree tree_;
  json::Value root_;
};

void collect_references(const json::Value& value, std::vector<std::string>& out) {
  if (value.type() == json::Type::array) {
    for (const json::Value& item : value.items()) collect_references(item, out);
  } else if (value.type() == json::Type::object) {
    for (const json::Member& entry : value.members()) {
      CHECK_FALSE(entry.duplicate);
      if (entry.name == "$ref") out.emplace_back(entry.value.text());
      collect_references(entry.value, out);
    }
  }
}

template <class Enum>
std::set<std::string> all_names(std::size_t count) {
  std::set<std::string> found;
  for (std::size_t i = 0; i < count; ++i) found.insert(std::string(to_string(static_cast<Enum>(i))));
  return found;
}

}  // namespace

TEST_CASE("The served description is OpenAPI 3.1 of this version") {
  const Document document;
  CHECK(document.find({"openapi"})->text() == "3.1.0");
  CHECK(document.find({"info", "version"})->text() == version());
  CHECK(document.names({"paths"}) == std::set<std::string>{"/v1/check", "/v1/check/batch", "/v1/release", "/v1/renew",
                                                           "/v1/authz", "/v1/authz/{path}", "/json", "/v1/health",
                                                           "/v1/snapshot", "/openapi.json", "/docs",
                                                           "/problems/{name}"});
}

TEST_CASE("Every reference of the description leads somewhere") {
  const Document document;
  std::vector<std::string> references;
  collect_references(document.root(), references);
  CHECK(references.size() > 50);
  for (const std::string& reference : references) {
    CAPTURE(reference);
    REQUIRE(reference.starts_with("#/components/"));
    const std::size_t slash = reference.rfind('/');
    CHECK(document.find({"components", reference.substr(13, slash - 13), reference.substr(slash + 1)}) != nullptr);
  }
}

TEST_CASE("The description has every field a check takes and no other") {
  const Document document;
  const auto fields = document.names({"components", "schemas", "Check", "properties"});
  CHECK(fields.size() == kCheckFields - 3);  // all but api_key, org_id and timestamp, which callers do not send
  CHECK_FALSE(fields.contains("api_key"));
  for (const std::string& field : fields) {
    CAPTURE(field);
    CHECK(find_check_field(field) != nullptr);
  }
  for (const char* schema : {"Check", "CheckBatch", "BatchResults", "LeaseRequest"}) {
    const json::Value* others = document.find({"components", "schemas", schema, "additionalProperties"});
    REQUIRE(others != nullptr);
    CHECK(others->type() == json::Type::boolean);
    CHECK_FALSE(others->boolean());
  }
}

TEST_CASE("The description names every reason, action and algorithm as the program does") {
  const Document document;
  CHECK(document.texts({"components", "schemas", "Decision", "properties", "reason", "enum"}) ==
        all_names<Reason>(kReasons));
  CHECK(document.texts({"components", "schemas", "Decision", "properties", "action", "enum"}) == all_names<Action>(8));
  CHECK(document.texts({"components", "schemas", "ExplainedLimit", "properties", "algorithm", "enum"}) ==
        all_names<Algorithm>(algorithms_without_shorthands().size()));
}

TEST_CASE("Every field of a full decision is in the description") {
  Decision decision;
  const Metadata metadata{{"team", "a"}};
  decision.has_limit = true;
  decision.limit_name = "burst";
  decision.policy_id = "p";
  decision.plan_id = "q";
  decision.metadata = &metadata;
  decision.lease_id = "l";
  decision.request_id = "r";
  decision.waited_us = 5;
  decision.shadow_result = ShadowResult{.policy_id = "s", .plan_id = "q", .limit_name = "burst", .report = {}};
  decision.explain = true;
  decision.limits = {{.name = "burst", .unit = "requests", .report = {}}};
  decision.candidates = {.shown = {{.policy_id = "p", .plan_id = "q", .why = "because"}}, .omitted = 1};
  const Document document;
  for (const Action action : {Action::sample, Action::downgrade}) {
    decision.action = action;
    decision.downgrade_to = "free";
    std::string body;
    write_decision(decision, body);
    json::Tree tree;
    const auto root = tree.parse(body);
    REQUIRE(root.has_value());
    const auto described = [&](const json::Value& object, const char* schema) {
      const auto known = document.names({"components", "schemas", schema, "properties"});
      for (const json::Member& entry : object.members()) {
        CAPTURE(entry.name);
        CHECK(known.contains(std::string(entry.name)));
      }
    };
    described(*root, "Decision");
    described(*root->find("shadow_result"), "ShadowResult");
    described(root->find("limits")->items()[0], "ExplainedLimit");
    described(root->find("candidates")->items()[0], "ExplainedCandidate");
  }
}

TEST_CASE("The check documents every status it can answer") {
  const Document document;
  CHECK(document.names({"paths", "/v1/check", "post", "responses"}) ==
        std::set<std::string>{"200", "400", "401", "403", "404", "405", "408", "411", "413", "415", "422", "429", "431",
                              "500", "503"});
}

TEST_CASE("Sub-requests of proxies document every status they can get") {
  const Document document;
  for (const char* path : {"/v1/authz", "/v1/authz/{path}"}) {
    CHECK(document.names({"paths", path, "get", "responses"}) ==
          std::set<std::string>{"200", "400", "401", "408", "411", "413", "422", "429", "431", "500", "503"});
    CHECK(document.find({"paths", path, "get", "security"}) == nullptr);
  }
}

TEST_CASE("The batch is described with its bounds, and takes and gives what a single check does") {
  const Document document;
  CHECK(document.names({"paths", "/v1/check/batch", "post", "responses"}) ==
        std::set<std::string>{"200", "400", "401", "405", "408", "411", "413", "415", "422", "431", "500", "503"});
  const std::vector<std::string> list{"components", "schemas", "CheckBatch", "properties", "checks"};
  const json::Value* checks = document.find(list);
  REQUIRE(checks != nullptr);
  CHECK(checks->find("maxItems")->text() == std::to_string(kMaxBatchChecks));
  CHECK(checks->find("minItems")->text() == "1");
  CHECK(checks->find("items")->find("$ref")->text() == "#/components/schemas/Check");
  const json::Value* results = document.find({"components", "schemas", "BatchResult", "oneOf"});
  REQUIRE(results != nullptr);
  REQUIRE(results->items().size() == 2);
  CHECK(results->items()[0].find("$ref")->text() == "#/components/schemas/Decision");
  CHECK(results->items()[1].find("$ref")->text() == "#/components/schemas/Problem");
}

TEST_CASE("The description names every outcome a candidate may have") {
  const Document document;
  CHECK(document.texts({"components", "schemas", "ExplainedCandidate", "properties", "outcome", "enum"}) ==
        all_names<CandidateOutcome>(9));
}
