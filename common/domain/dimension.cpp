#include "common/domain/dimension.hpp"

#include <algorithm>

namespace sluice {
namespace {

constexpr std::array<std::string_view, kNamedDimensions + 2> kNames{
    "org",       "tenant",    "application", "service",  "environment", "signal",  "operation",
    "endpoint",  "resource",  "method",      "user",     "subject",     "api_key", "client",
    "client_id", "source_ip", "region",      "severity", "span_name",   "topic",   "consumer_group",
    "job_type",  "priority",  "tag",         "attr"};
static_assert(static_cast<std::size_t>(Dimension::attr) + 1 == kNames.size());

bool has_free_name(Dimension dimension) { return dimension == Dimension::tag || dimension == Dimension::attr; }

}  // namespace

std::string_view dimension_name(Dimension dimension) { return kNames[static_cast<std::size_t>(dimension)]; }

std::optional<DimensionRef> parse_dimension(std::string_view text) {
  // attr.http.route is the attribute "http.route".
  const std::size_t dot = text.find('.');
  const auto* const found = std::ranges::find(kNames, text.substr(0, dot));
  if (found == kNames.end()) return std::nullopt;
  const auto dimension = static_cast<Dimension>(found - kNames.begin());
  if (dot == std::string_view::npos) {
    if (has_free_name(dimension)) return std::nullopt;
    return DimensionRef{dimension, {}};
  }
  if (!has_free_name(dimension) || dot + 1 == text.size()) return std::nullopt;
  return DimensionRef{dimension, std::string(text.substr(dot + 1))};
}

std::string to_string(const DimensionRef& dimension) {
  std::string text(dimension_name(dimension.dimension));
  if (has_free_name(dimension.dimension)) text.append(".").append(dimension.name);
  return text;
}

}  // namespace sluice
