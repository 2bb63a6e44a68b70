#include "common/objects/field_tables.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <string>

#include "common/domain/algorithm.hpp"
#include "common/objects/bundle_builder.hpp"

using namespace sluice;

namespace {

std::span<const json::Field> fields_of(std::string_view table) {
  const auto found = std::ranges::find(field_tables(), table, &json::FieldTable::name);
  REQUIRE(found != field_tables().end());
  return found->fields;
}

bool knows(Kind kind, const std::string& document, const std::string& pointer) {
  BundleBuilder builder(nullptr);
  json::Tree tree;
  builder.read(kind, tree.parse(document).value(), json::Place());
  return std::ranges::none_of(builder.faults().take(), [&](const Fault& fault) {
    return fault.pointer == pointer && fault.text.find("is not a field of this object") != std::string::npos;
  });
}

}  // namespace

TEST_CASE("Each codec reads the fields of its table, and no others") {
  const std::pair<Kind, std::vector<std::string_view>> codecs[] = {
      {Kind::organization, {"organization"}},
      {Kind::tenant, {"tenant"}},
      {Kind::plan, {"plan", "enforcement", "limit"}},
      {Kind::policy, {"policy", "enforcement", "limit", "scope.shorthand"}},
      {Kind::key, {"key"}},
      {Kind::override_, {"override"}}};
  for (const auto& [kind, tables] : codecs) {
    for (const std::string_view table : tables) {
      for (const json::Field& field : fields_of(table)) {
        CAPTURE(table);
        CAPTURE(field.name);
        CHECK(knows(kind, "{\"" + std::string(field.name) + "\":[]}", "/" + std::string(field.name)));
      }
    }
    CHECK_FALSE(knows(kind, R"({"colour":[]})", "/colour"));
  }
}

TEST_CASE("A limit in a list takes the fields of its algorithm's table") {
  for (const AlgorithmTraits& traits : algorithm_rows()) {
    for (const json::Field& field : fields_of("limit." + std::string(traits.name))) {
      CAPTURE(traits.name);
      CAPTURE(field.name);
      CHECK(knows(Kind::plan, "{\"limits\":[{\"" + std::string(field.name) + "\":[]}]}",
                  "/limits/0/" + std::string(field.name)));
    }
  }
}

TEST_CASE("A canonical limit always has its capacity or limit, and its rate where it has one") {
  for (const AlgorithmTraits& traits : algorithms_without_shorthands()) {
    CAPTURE(traits.name);
    std::vector<std::string_view> always;
    for (const json::Field& field : fields_of("limit." + std::string(traits.name))) {
      if (field.always) always.push_back(field.name);
    }
    CHECK(std::ranges::count(always, traits.capacity) == 1);
    CHECK(std::ranges::count(always, traits.rate) == (traits.rate.empty() ? 0 : 1));
    CHECK(always.size() >= 4);  // its name and its algorithm too
  }
}
