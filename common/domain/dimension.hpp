// Dimensions: the named properties of a check.
#pragma once

#include <array>
#include <compare>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace sluice {

// The order is fixed: the identity in a counter key lists its dimensions in this order.
enum class Dimension : std::uint8_t {
  org,
  tenant,
  application,
  service,
  environment,
  signal,
  operation,
  endpoint,
  resource,
  method,
  user,
  subject,
  api_key,
  client,
  client_id,
  source_ip,
  region,
  severity,
  span_name,
  topic,
  consumer_group,
  job_type,
  priority,
  tag,   // tag.NAME
  attr,  // attr.NAME
};
// The number of dimensions without a free NAME.
inline constexpr std::size_t kNamedDimensions = static_cast<std::size_t>(Dimension::tag);

// "subject", "source_ip", …; "tag" and "attr" without the NAME.
std::string_view dimension_name(Dimension dimension);

// Only tag and attr have a `name` ("env" in tag.env).
struct DimensionRef {
  Dimension dimension = Dimension::subject;
  std::string name;

  auto operator<=>(const DimensionRef&) const = default;
};

// Reads "subject", "tag.env", "attr.http.route".
std::optional<DimensionRef> parse_dimension(std::string_view text);
std::string to_string(const DimensionRef& dimension);

}  // namespace sluice
