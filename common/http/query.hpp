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

// Reads "limit=10&cursor=a%2Fb" (application/x-www-form-urlencoded: '+' is a space). Keeps the order. A name may appear
// several times. "a" means "a=". An empty part between two '&' is ignored.
// Error `query_malformed`, which names the parameter: an invalid escape, text that is not UTF-8 or contains the byte
// NUL, or a parameter without a name.
Result<Parameters> parse_query(std::string_view query);

// Decodes one segment of a path, the text between two '/'. "%2F" becomes a '/' within the segment; '+' stays '+'.
// nullopt for an invalid escape, and for text that is not UTF-8 or contains the byte NUL.
std::optional<std::string> decode_segment(std::string_view segment);

}  // namespace sluice::http
