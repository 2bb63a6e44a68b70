#include <doctest/doctest.h>

#include <string>

#include "common/domain/algorithm.hpp"
#include "common/domain/dimension.hpp"
#include "common/domain/enum_text.hpp"
#include "common/domain/limit_fields.hpp"
#include "common/domain/limit_numbers.hpp"
#include "server/admin/drafts.hpp"
#include "server/admin/paging.hpp"
#include "server/auth/roles.hpp"
#include "tests/unit/server/admin/openapi/document.hpp"

using namespace sluice;
using namespace sluice::server;

namespace {

template <class Enum>
Names all_names(Enum last) {
  Names names;
  for (int i = 0; i <= static_cast<int>(last); ++i) names.insert(std::string(to_string(static_cast<Enum>(i))));
  return names;
}

// "sliding_window_log" → "SlidingWindowLog"
std::string camel(std::string_view name) {
  std::string out;
  bool begins = true;
  for (const char c : name) {
    if (c != '_') out += begins && c >= 'a' && c <= 'z' ? static_cast<char>(c - 32) : c;
    begins = c == '_';
  }
  return out;
}

template <class Visit>
void each_algorithm(Visit visit) {
  for (const AlgorithmTraits& traits : algorithms_without_shorthands()) visit(traits.algorithm);
}

Names properties(const Document& document, const std::string& schema) {
  return names_of(document.get({"components", "schemas", schema, "properties"}));
}

std::string_view number(const Document& document, const std::string& schema, const std::string& bound) {
  return document.get({"components", "schemas", schema, bound}).text();
}

// Every schema within one, and itself.
template <class Visit>
void walk_schemas(const json::Value& value, Visit visit) {
  if (value.type() == json::Type::array) {
    for (const json::Value& item : value.items()) walk_schemas(item, visit);
  } else if (value.type() == json::Type::object) {
    visit(value);
    for (const json::Member& entry : value.members()) walk_schemas(entry.value, visit);
  }
}

// A reference, or one type without members of its own.
bool is_simple(const json::Value& way) {
  if (!way.text_of("$ref").empty()) return true;
  return way.find("properties") == nullptr && way.find("oneOf") == nullptr && way.find("anyOf") == nullptr &&
         way.find("allOf") == nullptr;
}

}  // namespace

TEST_CASE("A limit in a body is described for each algorithm, with the fields that it takes") {
  const Document document;
  const json::Value& mapping = document.get({"components", "schemas", "LimitBody", "discriminator", "mapping"});
  for (const AlgorithmTraits& traits : algorithm_rows()) {
    CAPTURE(traits.name);
    const std::string schema = camel(traits.name) + "LimitBody";
    Names taken{"name", "algorithm", "unit", "key_by"};
    for (const json::Field& field : kLimitFields) {
      if (takes(traits, field.name)) taken.insert(std::string(field.name));
    }
    for (const json::FieldAlias& alias : kLimitAliases) {
      if (takes(traits, alias.field)) taken.insert(std::string(alias.name));
    }
    CHECK(properties(document, schema) == taken);
    CHECK(mapping.text_of(traits.name) == "#/components/schemas/" + schema);
    CHECK(document.get({"components", "schemas", schema, "properties", "algorithm", "const"}).text() == traits.name);
    CHECK_FALSE(document.get({"components", "schemas", schema, "additionalProperties"}).boolean());
  }
}

TEST_CASE("A limit in an answer is described for each algorithm, with fields that a body may have too") {
  const Document document;
  const json::Value& mapping = document.get({"components", "schemas", "LimitDocument", "discriminator", "mapping"});
  each_algorithm([&](Algorithm algorithm) {
    const std::string name(to_string(algorithm));
    CAPTURE(name);
    const std::string schema = camel(name) + "Limit";
    CHECK(document.get({"components", "schemas", schema, "properties", "algorithm", "const"}).text() == name);
    const Names taken = properties(document, schema + "Body");
    for (const std::string& field : properties(document, schema)) {
      CAPTURE(field);
      CHECK(taken.contains(field));
    }
    CHECK(mapping.text_of(name) == "#/components/schemas/" + schema);
  });
}

TEST_CASE("A plan, a policy and their patches take the fields of one limit of any algorithm beside their own") {
  const Document document;
  Names taken{"algorithm", "strategy", "unit"};
  for (const json::Field& field : kLimitFields) taken.insert(std::string(field.name));
  for (const json::FieldAlias& alias : kLimitAliases) taken.insert(std::string(alias.name));
  CHECK(properties(document, "LimitFields") == taken);
  for (const char* schema : {"PlanBody", "PolicyBody", "PlanPatch", "PolicyPatch"}) {
    CAPTURE(schema);
    Names references;
    for (const json::Value& part : document.get({"components", "schemas", schema, "allOf"}).items()) {
      references.insert(std::string(part.text_of("$ref")));
    }
    CHECK(references.contains("#/components/schemas/LimitFields"));
    CHECK_FALSE(document.get({"components", "schemas", schema, "unevaluatedProperties"}).boolean());
  }
}

// Generators of clients fail on these, or make types that nobody can fill.
TEST_CASE("No schema says what must not be, and unions are lists of named schemas") {
  const Document document;
  for (const json::Member& schema : document.get({"components", "schemas"}).members()) {
    CAPTURE(schema.name);
    walk_schemas(schema.value, [&](const json::Value& value) {
      CHECK(value.find("not") == nullptr);
      for (const char* keyword : {"oneOf", "anyOf"}) {
        const json::Value* const ways = value.find(keyword);
        if (ways == nullptr) continue;
        for (const json::Value& way : ways->items()) CHECK(is_simple(way));
      }
    });
  }
}

TEST_CASE("The description names every mode, action, dimension and role as the program does") {
  const Document document;
  CHECK(texts_of(document.get({"components", "schemas", "Mode", "enum"})) == all_names(Mode::off));
  for (const std::string& name : texts_of(document.get({"components", "schemas", "ModeBody", "enum"}))) {
    CHECK(mode_from(name).has_value());
  }
  CHECK(texts_of(document.get({"components", "schemas", "Action", "enum"})) == all_names(Action::shadow_only));
  CHECK(texts_of(document.get({"components", "schemas", "Role", "enum"})) == all_names(auth::Role::auditor));
  Names dimensions;
  for (std::size_t i = 0; i < kNamedDimensions; ++i) {
    dimensions.insert(std::string(dimension_name(static_cast<Dimension>(i))));
  }
  CHECK(properties(document, "Scope") == dimensions);
  const std::string pattern(number(document, "Dimension", "pattern"));
  for (const std::string& name : dimensions) CHECK(pattern.find(name) != std::string::npos);
  // These say something else beside a policy's other fields.
  for (const char* name : {"org", "tenant", "priority"}) dimensions.erase(name);
  CHECK(properties(document, "ShorthandScope") == dimensions);
}

TEST_CASE("The description has the program's bounds") {
  const Document document;
  const auto most = [&](const char* schema, const char* field) {
    return document.get({"components", "schemas", schema, "properties", field, "maximum"}).text();
  };
  CHECK(most("TokenBucketLimitBody", "capacity") == std::to_string(kMaxLimit));
  CHECK(most("ConcurrencyLimitBody", "limit") == std::to_string(kMaxLogLimit));
  CHECK(most("SlidingWindowLogLimit", "limit") == std::to_string(kMaxLogLimit));
  CHECK(number(document, "LimitListBody", "maxItems") == std::to_string(kMaxLimitsPerPlan));
  CHECK(document.get({"components", "parameters", "Limit", "schema", "maximum"}).text() ==
        std::to_string(admin::kMaxPage));
  CHECK(document.get({"components", "parameters", "Limit", "schema", "default"}).text() ==
        std::to_string(admin::kDefaultPage));
}

TEST_CASE("What answers add is what bodies may bring back") {
  const Document document;
  Names ignored;
  for (const std::string_view name : admin::kReadOnly) ignored.insert(std::string(name));
  CHECK(properties(document, "ReadOnlyFields") == ignored);
  for (const std::string& name : properties(document, "Stored")) CHECK(ignored.contains(name));
}

TEST_CASE("Bodies and answers are described whole: a member that is not there is none") {
  const Document document;
  for (const json::Member& schema : document.get({"components", "schemas"}).members()) {
    const bool body = schema.name.ends_with("Body") && schema.value.find("allOf") != nullptr;
    const bool page = schema.value.find("properties") != nullptr &&
                      names_of(Document::get(schema.value, {"properties"})) == Names{"items", "next"};
    if (!body && !page) continue;
    CAPTURE(schema.name);
    const json::Value* const others = schema.value.find(body ? "unevaluatedProperties" : "additionalProperties");
    REQUIRE(others != nullptr);
    CHECK_FALSE(others->boolean());
  }
}
