// Decodes the parts of a request target. Text that two programs could decode differently is refused.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "common/base/error.hpp"

namespace sluice::http {

struct Parameter {
  std::string name;
  std::string value;

  bool operator==(const Parameter&) const = default;
};
using Parameters = std::vector<Parameter>;

// Reads application/x-www-form-urlencoded ("limit=10&cursor=a%2Fb"; '+' is a space). Keeps the order. A name may appear
// several times. "a" means "a=". An empty part between two '&' is ignored. Error: `query_malformed`.
Result<Parameters> parse_query(std::string_view query);

// Decodes the text between two '/' of a path. "%2F" becomes a '/' within the segment; '+' stays '+'. Returns nullopt
// for an invalid escape, and for text that is not UTF-8 or contains the byte NUL.
std::optional<std::string> decode_segment(std::string_view segment);

}  // namespace sluice::http
