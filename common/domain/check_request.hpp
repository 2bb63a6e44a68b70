// One `POST /v1/check` as the decision reads it.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "common/domain/dimension.hpp"

namespace sluice {

// A view into the request's body; absent differs from empty.
struct Value {
  std::string_view text;
  bool present = false;
};
// A tag or an attribute: always present, so that find() can point at it.
struct NamedValue : Value {
  NamedValue(std::string_view its_name, std::string_view its_text) : Value{its_text, true}, name(its_name) {}
  std::string_view name;
};
struct UnitCost {
  std::string_view unit;
  std::int64_t cost = 0;
};

// All views point into the body buffer the request was parsed from (parsed in place) and live as long as it.
// Reused from request to request: clear() keeps the vectors' memory.
struct CheckRequest {
  std::array<Value, kNamedDimensions> dimensions;  // by Dimension; org, tenant and api_key are filled in by the agent
  std::vector<NamedValue> tags;
  std::vector<NamedValue> attributes;
  std::int64_t requests = 1;    // cost of the unit "requests"
  std::vector<UnitCost> costs;  // the other units named in `costs`
  std::string_view plan_id;     // "" : match policies
  std::string_view request_id;
  bool explain = false;

  std::int64_t cost_of(std::string_view unit) const;       // 0 for a unit not named
  const Value* find(const DimensionRef& dimension) const;  // nullptr when absent
  void clear();
};

// Why a body is refused: 400 for what is not a check at all, 422 for a value out of range.
struct RequestFault {
  unsigned status = 400;
  std::string pointer;  // JSON pointer of the field
  std::string text;
};

// Parses `body` IN PLACE (unescaping writes into it) into `out`. All faults are collected as far as the JSON can be
// read, the gravest first (400 before 422): the status of the answer is that of the first. Empty: `out` is a check.
// No allocation on the good path once `out`'s vectors have grown. With faults, `out` is not to be used.
// Enforces: known fields, no duplicates, types, UTF-8, depth, strings ≤ 256 bytes, costs 0 … 2^31−1,
// `cost` xor `costs.requests`, `api_key` not sent by callers, at least one dimension or plan_id; tags, attributes and
// costs hold at most 64 names of 1 to 256 bytes each. A string may hold "\u0000" and other control characters: whoever
// writes one on must escape it (json::append_string).
std::vector<RequestFault> parse_check(std::span<char> body, CheckRequest& out);

}  // namespace sluice
