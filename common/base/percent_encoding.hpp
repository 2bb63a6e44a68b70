// Percent-encoding of parts of URLs (RFC 3986, section 2.1).
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace sluice {

// Encodes every byte except ASCII letters, digits, '-', '.', '_' and '~'.
std::string percent_encode(std::string_view text);

// Returns nullopt if a '%' lacks its two hex digits. The result may hold any bytes.
std::optional<std::string> percent_decode(std::string_view text);

}  // namespace sluice
