#include "common/domain/check_request.hpp"

#include <algorithm>

namespace sluice {
namespace {

const Value* find_named(const std::vector<NamedValue>& values, std::string_view name) {
  const auto found = std::ranges::find(values, name, &NamedValue::name);
  return found == values.end() || found->text.empty() ? nullptr : &*found;
}

}  // namespace

std::int64_t CheckRequest::cost_of(std::string_view unit) const {
  if (unit == "requests") return requests;
  const auto found = std::ranges::find(costs, unit, &UnitCost::unit);
  return found == costs.end() ? 0 : found->cost;
}

const Value* CheckRequest::find(const DimensionRef& dimension) const {
  if (dimension.dimension == Dimension::tag) return find_named(tags, dimension.name);
  if (dimension.dimension == Dimension::attr) return find_named(attributes, dimension.name);
  const Value& value = dimensions[static_cast<std::size_t>(dimension.dimension)];
  return value.present ? &value : nullptr;
}

void CheckRequest::clear() {
  dimensions.fill(Value{});
  tags.clear();
  attributes.clear();
  requests = 1;
  costs.clear();
  limit_override.clear();
  plan_id = {};
  request_id = {};
  tenant_id = {};
  explain = false;
  wait.reset();
}

}  // namespace sluice
