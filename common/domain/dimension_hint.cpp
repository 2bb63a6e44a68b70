#include "common/domain/dimension_hint.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <array>

#include "common/base/letter_case.hpp"
#include "common/base/text.hpp"
#include "common/domain/dimension.hpp"

namespace sluice {
namespace {

struct Family {
  std::string_view written;
  std::string_view intended;
};

// Words written instead of `tag` and `attr`, in lower case.
constexpr std::array kFamilies{
    Family{"tags", "tag"},   Family{"label", "tag"},      Family{"labels", "tag"},
    Family{"attrs", "attr"}, Family{"attribute", "attr"}, Family{"attributes", "attr"},
};

}  // namespace

std::string intended_dimension(std::string_view name) {
  const std::size_t dot = name.find('.');
  const std::string head = lower_case(name.substr(0, dot));
  if (dot != std::string_view::npos && dot + 1 < name.size()) {
    const auto family = std::ranges::find(kFamilies, head, &Family::written);
    return family == kFamilies.end() ? "" : fmt::format("{}.{}", family->intended, name.substr(dot + 1));
  }
  std::array<std::string_view, kNamedDimensions> names;
  for (std::size_t i = 0; i < names.size(); ++i) names[i] = dimension_name(static_cast<Dimension>(i));
  return std::string(nearest(lower_case(name), names));
}

std::string not_a_dimension(std::string_view name, std::string_view else_text) {
  const std::string dimension = intended_dimension(name);
  return dimension.empty() ? fmt::format("{} is not a dimension: {}", quoted(name), else_text)
                           : fmt::format("{} is not a dimension: did you mean {}?", quoted(name), quoted(dimension));
}

}  // namespace sluice
