// Decodes the parts of a request target: the parameters of a query, and the segments of a path.
//
// Strict: text that two readers could understand differently is refused. Thread safety: pure functions.
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

// "limit=10&cursor=a%2Fb" (application/x-www-form-urlencoded: '+' is a space), in the order it was sent; a name may
// come several times, "a" is "a=", and nothing between two '&' is nothing. Error: `query_malformed`, for an escape that
// is none, for text that is not UTF-8 or holds the byte NUL, and for a parameter without a name; it names the
// parameter.
Result<Parameters> parse_query(std::string_view query);

// One segment of a path, between two '/', with its escapes resolved ("%2F" is a '/' within the segment; '+' is itself).
// Nothing for what parse_query() would refuse.
std::optional<std::string> decode_segment(std::string_view segment);

}  // namespace sluice::http
