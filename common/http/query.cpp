#include "common/http/query.hpp"

#include <algorithm>

#include <fmt/core.h>

#include "common/base/percent_encoding.hpp"
#include "common/base/utf8.hpp"

namespace sluice::http {
namespace {

constexpr std::size_t kMaxShown = 64;  // bytes of a parameter's name that an error text shows

// `fault` has a meaning only if the result is nullopt.
std::optional<std::string> decode(std::string_view text, bool plus_is_space, std::string_view& fault) {
  std::string encoded(text);
  if (plus_is_space) std::ranges::replace(encoded, '+', ' ');
  std::optional<std::string> decoded = percent_decode(encoded);
  fault = "has a '%' without two hexadecimal digits after it";
  if (!decoded) return std::nullopt;
  fault = "is not UTF-8";
  if (!is_utf8(*decoded)) return std::nullopt;
  fault = "holds the byte NUL";
  if (decoded->find('\0') != std::string::npos) return std::nullopt;
  return decoded;
}

std::unexpected<Error> malformed_query(std::string_view name, std::string_view fault) {
  const std::string_view shown = name.substr(0, kMaxShown);
  return failure("query_malformed",
                 fmt::format("The query parameter \"{}{}\" {}.", shown, shown.size() < name.size() ? "…" : "", fault));
}

}  // namespace

Result<Parameters> parse_query(std::string_view query) {
  Parameters parameters;
  while (!query.empty()) {
    const std::size_t end = std::min(query.find('&'), query.size());
    const std::string_view pair = query.substr(0, end);
    query.remove_prefix(std::min(end + 1, query.size()));
    if (pair.empty()) continue;
    const std::size_t equals = std::min(pair.find('='), pair.size());
    const std::string_view raw_name = pair.substr(0, equals);
    std::string_view fault;
    std::optional<std::string> name = decode(raw_name, true, fault);
    if (!name) return malformed_query(raw_name, fault);
    if (name->empty()) return failure("query_malformed", "The query has a parameter without a name.");
    std::optional<std::string> value = decode(pair.substr(std::min(equals + 1, pair.size())), true, fault);
    if (!value) return malformed_query(*name, fault);
    parameters.push_back({std::move(*name), std::move(*value)});
  }
  return parameters;
}

std::optional<std::string> decode_segment(std::string_view segment) {
  std::string_view fault;
  return decode(segment, false, fault);
}

}  // namespace sluice::http
