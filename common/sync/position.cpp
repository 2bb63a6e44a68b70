#include "common/sync/position.hpp"

#include "common/base/text.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <charconv>
#include <limits>

namespace sluice::sync {

bool is_chain(std::string_view text) {
  return text.size() == kChainDigits &&
         std::ranges::all_of(text, [](char c) { return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f'); });
}

Result<Position> parse_position(std::string_view revision, std::string_view chain, const PositionParameters& names) {
  Position position;
  const char* const end = revision.data() + revision.size();
  const auto [after, code] = std::from_chars(revision.data(), end, position.revision);
  if (revision.empty() || code != std::errc{} || after != end || position.revision < 0) {
    return failure("position", fmt::format("{} must be a revision, a whole number from 0 on, not {}", names.revision,
                                           quoted(revision)));
  }
  if (!is_chain(chain)) {
    return failure("position", fmt::format("{} must be the {} hex digits (lower case) that came with revision {}",
                                           names.chain, kChainDigits, position.revision));
  }
  position.chain = chain;
  return position;
}

std::string query_of(const Position& position, const PositionParameters& names) {
  return fmt::format("{}={}&{}={}", names.revision, position.revision, names.chain, position.chain);
}

Position read_position(json::Fields& fields) {
  Position position;
  fields.require("revision", "a whole number from 0");
  position.revision = fields.integer("revision", 0, std::numeric_limits<std::int64_t>::max()).value_or(0);
  position.chain = read_hex_digest(fields, "chain", "the name of the history that the revision belongs to");
  return position;
}

std::string read_hex_digest(json::Fields& fields, std::string_view name, std::string_view what) {
  fields.require(name, what);
  const auto text = fields.text(name, kChainDigits);
  if (!text) return {};
  if (is_chain(*text)) return std::string(*text);
  fields.fault(name, fmt::format("{} must be {} hex digits in lower case", name, kChainDigits));
  return {};
}

}  // namespace sluice::sync
