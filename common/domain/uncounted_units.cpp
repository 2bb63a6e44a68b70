#include "common/domain/uncounted_units.hpp"

#include <algorithm>

#include <fmt/core.h>

#include "common/base/text.hpp"
#include "common/json/text.hpp"

namespace sluice {
namespace {

std::string list_of(std::span<const std::string_view> counted) {
  std::vector<std::string_view> once(counted.begin(), counted.end());
  std::ranges::sort(once);
  once.erase(std::ranges::unique(once).begin(), once.end());
  std::string list;
  for (const std::string_view unit : once) list.append(list.empty() ? "" : ", ").append(unit);
  return list;
}

}  // namespace

std::vector<UncountedUnit> uncounted_units(std::span<const UnitCost> costs, std::span<const std::string_view> counted) {
  std::vector<UncountedUnit> found;
  for (const UnitCost& cost : costs) {
    if (std::ranges::find(counted, cost.unit) != counted.end()) continue;
    const std::string_view meant = nearest(cost.unit, counted);
    found.push_back(
        {cost.unit, fmt::format("no limit counts {}, so this cost charges nothing; the limits count {}.{}",
                                quoted(cost.unit), list_of(counted), meant.empty() ? "" : did_you_mean({&meant, 1}))});
  }
  return found;
}

void write_uncounted_units(std::span<const UncountedUnit> units, std::string& out) {
  if (units.empty()) return;
  out += ",\"uncounted_units\":[";
  for (std::size_t i = 0; i < units.size(); ++i) {
    out += i == 0 ? "{\"unit\":" : ",{\"unit\":";
    json::append_string(out, units[i].unit);
    out += ",\"why\":";
    json::append_string(out, units[i].why);
    out += '}';
  }
  out += ']';
}

}  // namespace sluice
