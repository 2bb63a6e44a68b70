#include "common/domain/check_request.hpp"

#include <algorithm>

namespace sluice {

std::int64_t CheckRequest::cost_of(std::string_view unit) const {
  if (unit == "requests") return requests;
  const auto found = std::ranges::find(costs, unit, &UnitCost::unit);
  return found == costs.end() ? 0 : found->cost;
}

const Value* CheckRequest::find_named(const DimensionRef& dimension) const {
  const std::vector<NamedValue>& values = dimension.dimension == Dimension::tag ? tags : attributes;
  const auto found = std::ranges::find(values, dimension.name, &NamedValue::name);
  return found == values.end() || found->text.empty() ? nullptr : &*found;
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
