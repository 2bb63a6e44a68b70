// Any bytes as the body of a check: no crash and no access outside of the body; what is accepted is what an
// independent reading of the same JSON says; what is refused is refused in an orderly way; what is echoed stays JSON.
#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <memory>

#include "common/domain/check_request.hpp"
#include "common/domain/decision.hpp"
#include "common/domain/ip_address.hpp"
#include "common/domain/resource.hpp"
#include "common/json/tree.hpp"
#include "tests/fuzz/orderly_refusal.hpp"
#include "tests/fuzz/require.hpp"

namespace {

using namespace sluice;
using namespace sluice::fuzz;

void require_named(std::span<const json::Member> members, const CheckRequest& request, Dimension kind) {
  for (const json::Member& member : members) {
    const Value* value = request.find({kind, std::string(member.name)});
    REQUIRE_THAT(member.value.type() == json::Type::string && (value == nullptr) == member.value.text().empty());
    REQUIRE_THAT(!value || (value->present && member.value.text() == value->text));
    REQUIRE_THAT(!member.duplicate && !member.name.empty());
  }
  const auto& all = kind == Dimension::tag ? request.tags : request.attributes;
  REQUIRE_THAT(all.size() == members.size());
}

std::int64_t integer(const json::Value& value, std::int64_t most = kMaxCost) {
  REQUIRE_THAT(value.type() == json::Type::number);
  const std::string text(value.text());
  char* end = nullptr;
  const std::int64_t number = std::strtoll(text.c_str(), &end, 10);
  REQUIRE_THAT(*end == '\0' && number >= 0 && number <= most);
  return number;
}

void require_limits(std::span<const json::Member> members, const CheckRequest& request) {
  REQUIRE_THAT(request.limit_override.size() == members.size());
  for (std::size_t i = 0; i < members.size(); ++i) {
    REQUIRE_THAT(request.limit_override[i].name == members[i].name);
    REQUIRE_THAT(request.limit_override[i].limit == integer(members[i].value, kMaxLimit) &&
                 request.limit_override[i].limit > 0);
  }
}

// What a dimension's text stands for.
std::string meaning(const DimensionRef& dimension, std::string_view written) {
  std::string text(written);
  if (dimension.dimension == Dimension::resource) text.resize(canonical_resource(text).size());
  if (dimension.dimension == Dimension::source_ip && !text.empty()) text = find_address(written).value();
  return text;
}

// Compares one member of the accepted body with what parse_check made of it.
void require_same(const json::Member& member, const CheckRequest& request) {
  REQUIRE_THAT(!member.duplicate);
  const json::Value& value = member.value;
  if (member.name == "cost") {
    REQUIRE_THAT(request.requests == integer(value));
  } else if (member.name == "costs") {
    for (const json::Member& cost : value.members()) REQUIRE_THAT(request.cost_of(cost.name) == integer(cost.value));
  } else if (member.name == "tags") {
    require_named(value.members(), request, Dimension::tag);
  } else if (member.name == "attributes") {
    require_named(value.members(), request, Dimension::attr);
  } else if (member.name == "limit_override") {
    require_limits(value.members(), request);
  } else if (member.name == "wait") {
    REQUIRE_THAT(value.type() == json::Type::string || integer(value, INT64_MAX) >= 0);
  } else if (member.name == "explain") {
    REQUIRE_THAT(value.type() == json::Type::boolean && request.explain == value.boolean());
  } else {
    REQUIRE_THAT(value.type() == json::Type::string);
    REQUIRE_THAT(value.text().size() <= 256 || member.name == "resource");
    if (member.name == "plan_id") {
      REQUIRE_THAT(request.plan_id == value.text());
    } else if (member.name == "request_id") {
      REQUIRE_THAT(request.request_id == value.text());
    } else {
      const auto dimension = parse_dimension(member.name);
      REQUIRE_THAT(dimension.has_value());
      const Value* const found = request.find(*dimension);
      REQUIRE_THAT((found == nullptr) == value.text().empty());
      REQUIRE_THAT(!found || (found->text == meaning(*dimension, value.text()) && found->text.size() <= 256));
    }
  }
}

void require_same(std::string_view body, const CheckRequest& request) {
  json::Tree tree;
  const auto root = tree.parse(body);
  REQUIRE_THAT(root.has_value() && root->type() == json::Type::object);
  std::size_t dimensions = 0;
  for (const json::Member& member : root->members()) {
    require_same(member, request);
    dimensions += parse_dimension(member.name) && !member.value.text().empty() ? 1 : 0;
  }
  for (const Value& value : request.dimensions) dimensions -= value.present ? 1 : 0;
  REQUIRE_THAT(dimensions == 0);
  REQUIRE_THAT(request.find({Dimension::api_key, ""}) == nullptr && request.find({Dimension::tenant, ""}) == nullptr);
}

void require_echo(const CheckRequest& request) {
  Decision decision;
  decision.request_id = request.request_id;
  decision.has_limit = true;
  decision.limit_name = request.plan_id;
  std::string out;
  write_decision(decision, out);
  REQUIRE_THAT(is_json(out));
  std::string headers;
  write_decision_headers(decision, {.x = true, .ietf = true, .draft6 = true}, headers);
  REQUIRE_THAT(std::ranges::count(headers, '\n') == 8);
  REQUIRE_THAT(std::ranges::count(headers, '\r') == 8);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view original(reinterpret_cast<const char*>(data), size);
  const auto body = std::make_unique<char[]>(size);  // of exactly this size: one byte too far is seen
  original.copy(body.get(), size);
  CheckRequest request;
  const auto faults = parse_check({body.get(), size}, request);
  if (!faults.empty()) {
    require_orderly(faults);
    return 0;
  }
  require_same(original, request);
  require_echo(request);
  return 0;
}
