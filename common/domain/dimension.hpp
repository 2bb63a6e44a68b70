// The dimensions a request is described by, matched by and counted by.
#pragma once

#include <array>
#include <compare>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace sluice {

// In the fixed order in which they appear in a counter's identity.
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
inline constexpr std::size_t kNamedDimensions = static_cast<std::size_t>(Dimension::tag);

// "subject", "source_ip", …; for tag and attr the prefix without its name.
std::string_view dimension_name(Dimension dimension);

// One dimension as policies name it: `name` is used by tag and attr only ("env" in tag.env).
struct DimensionRef {
  Dimension dimension = Dimension::subject;
  std::string name;

  auto operator<=>(const DimensionRef&) const = default;
};

// Reads "subject", "tag.env", "attr.http.route"; nothing for an unknown name or an empty NAME.
std::optional<DimensionRef> parse_dimension(std::string_view text);
std::string to_string(const DimensionRef& dimension);

}  // namespace sluice
