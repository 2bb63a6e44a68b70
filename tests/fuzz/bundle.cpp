// Any bytes as a bundle: no crash; what is accepted is in range and survives being written and read again, and its
// canonical form does not change any more; what is refused says where and why, and that place in the text holds a value
// of the type that an independent reading finds there.
#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <set>
#include <string>
#include <string_view>

#include "common/domain/algorithm.hpp"
#include "common/domain/bundle.hpp"
#include "common/domain/identifiers.hpp"
#include "common/domain/limit_numbers.hpp"
#include "common/json/fault_place.hpp"
#include "common/json/tree.hpp"
#include "common/objects/bundle_json.hpp"
#include "common/policy/match_expr.hpp"
#include "tests/fuzz/require.hpp"

namespace {

using namespace sluice;

// The bytes from a line and column on.
std::string_view rest_of(std::string_view text, std::uint32_t line, std::uint32_t column) {
  for (; line > 1; --line) {
    const std::size_t end = text.find('\n');
    REQUIRE_THAT(end != std::string_view::npos);
    text.remove_prefix(end + 1);
  }
  const auto continues = [&] { return !text.empty() && (static_cast<unsigned char>(text[0]) & 0xC0) == 0x80; };
  for (; column > 1; --column) {
    REQUIRE_THAT(!text.empty());
    text.remove_prefix(1);
    while (continues()) text.remove_prefix(1);
  }
  return text;
}

// The value a pointer leads to, or the nearest around it.
json::Value value_at(json::Value value, std::string_view pointer) {
  while (!pointer.empty()) {
    pointer.remove_prefix(1);
    std::string name;
    for (; !pointer.empty() && pointer[0] != '/'; pointer.remove_prefix(1)) name += pointer[0];
    for (std::size_t at = 0; (at = name.find('~', at)) != std::string::npos; ++at) {
      name.replace(at, 2, name[at + 1] == '1' ? "/" : "~");
    }
    if (value.type() == json::Type::array) {
      const std::size_t index = std::strtoull(name.c_str(), nullptr, 10);
      if (index >= value.items().size() || std::to_string(index) != name) return value;
      value = value.items()[index];
    } else {
      if (value.type() != json::Type::object) return value;
      const auto found = std::ranges::find(value.members(), name, &json::Member::name);
      if (found == value.members().end()) return value;
      value = found->value;
    }
  }
  return value;
}

bool begins(std::string_view text, const json::Value& value) {
  switch (value.type()) {
    case json::Type::null:
      return text.starts_with("null");
    case json::Type::boolean:
      return text.starts_with(value.boolean() ? "true" : "false");
    case json::Type::number:
      return text.starts_with(value.text());
    case json::Type::string:
      return text.starts_with('"');
    case json::Type::array:
      return text.starts_with('[');
    case json::Type::object:
      return text.starts_with('{');
  }
  return false;
}

void require_explained(std::string_view text, Faults faults) {
  json::Tree tree;
  const auto document = tree.parse(text);  // with its byte order mark: behind one, another is a fault
  if (text.starts_with("\xEF\xBB\xBF")) text.remove_prefix(3);
  REQUIRE_THAT(!faults.empty() && faults.size() <= 10'001);
  for (const Fault& fault : faults) {
    REQUIRE_THAT(fault.pointer.empty() || fault.pointer.front() == '/');
    REQUIRE_THAT(!fault.text.empty());
    REQUIRE_THAT(fault.line >= 1 && fault.column >= 1);
    const std::string_view rest = rest_of(text, fault.line, fault.column);
    if (document) REQUIRE_THAT(begins(rest, value_at(*document, fault.pointer)));
  }
}

// Places can be looked for in anything.
void require_places(std::string_view text) {
  Faults faults{
      {"", "a"}, {"/policies/1/match_expr", "b"}, {"/plans/0/limits/0", "c"}, {"/a~1b/~0/", "d"}, {"/0", "e"}};
  json::locate_faults(text, faults);
  if (text.starts_with("\xEF\xBB\xBF")) text.remove_prefix(3);
  for (const Fault& fault : faults) rest_of(text, fault.line, fault.column);
}

void require_sound(const std::vector<Limit>& limits) {
  REQUIRE_THAT(limits.size() <= kMaxLimitsPerPlan);
  std::set<std::string_view> names;
  for (const Limit& limit : limits) {
    REQUIRE_THAT(is_limit_name(limit.name) && names.insert(limit.name).second);
    REQUIRE_THAT(limit.limit >= 0 && limit.limit <= kMaxLimit);
    REQUIRE_THAT(!number_fault(limit));
    REQUIRE_THAT(is_bucket(limit.algorithm) == (limit.rate.units > 0) && limit.rate.per_us > 0);
  }
}

void require_sound(const Bundle& bundle) {
  for (const Plan& plan : bundle.plans) {
    REQUIRE_THAT(is_id(plan.tenant_id) && is_id(plan.id) && !plan.limits.empty());
    require_sound(plan.limits);
  }
  for (const Policy& policy : bundle.policies) {
    REQUIRE_THAT(is_id(policy.tenant_id) && is_id(policy.id));
    REQUIRE_THAT(policy.limits.empty() != policy.plan_id.empty());
    require_sound(policy.limits);
  }
  for (const Override& item : bundle.overrides) {
    REQUIRE_THAT(item.policy_id.empty() != item.plan_id.empty());
    REQUIRE_THAT(item.limit || item.rate || item.window || item.lease_ttl);
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view json(reinterpret_cast<const char*>(data), size);
  require_places(json);
  const auto bundle = parse_bundle(json, &policy::check_expression);
  if (!bundle) {
    require_explained(json, bundle.error());
    return 0;
  }
  require_sound(*bundle);
  const std::string text = write_bundle(*bundle);
  const auto again = parse_bundle(text, &policy::check_expression);
  REQUIRE_THAT(again);
  REQUIRE_THAT(*again == *bundle);
  REQUIRE_THAT(write_bundle(*again) == text);
  return 0;
}
