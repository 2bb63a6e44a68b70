// A parsed check: the body of `POST /v1/check`, or one check of a batch.
#pragma once

#include <array>
#include <chrono>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "common/domain/dimension.hpp"

namespace sluice {

// An absent value is not the same as an empty one.
struct Value {
  std::string_view text;
  bool present = false;
};
// A tag or an attribute. It is a Value so that find() can return a pointer to it.
struct NamedValue : Value {
  NamedValue(std::string_view its_name, std::string_view its_text) : Value{its_text, true}, name(its_name) {}
  std::string_view name;
};
struct UnitCost {
  std::string_view unit;
  std::int64_t cost = 0;
};

struct BroughtLimit {
  std::string_view name;  // of a limit
  std::int64_t limit = 0;
};

inline constexpr std::chrono::microseconds kMaxWait = std::chrono::hours(24);  // that a check may ask for

// All views point into the body. The object is reused for further requests: clear() keeps the memory of the vectors.
struct CheckRequest {
  std::array<Value, kNamedDimensions> dimensions;  // indexed by Dimension; the agent sets org, tenant and api_key
  std::vector<NamedValue> tags;
  std::vector<NamedValue> attributes;
  std::int64_t requests = 1;                 // cost of the unit "requests"
  std::vector<UnitCost> costs;               // of other units
  std::vector<BroughtLimit> limit_override;  // each replaces the limit of this name, for this check only
  std::string_view plan_id;                  // "": policies are matched
  std::string_view request_id;
  std::string_view tenant_id;  // "": not given
  bool explain = false;
  std::optional<std::chrono::microseconds> wait;  // how long the agent may hold the check; nullopt: the policy says

  // If the check does not name the unit, the cost is 1 for "requests" and 0 for any other unit.
  std::int64_t cost_of(std::string_view unit) const;
  const Value* find(const DimensionRef& dimension) const {  // nullptr when absent
    const auto index = static_cast<std::size_t>(dimension.dimension);
    if (index >= kNamedDimensions) [[unlikely]]
      return find_named(dimension);
    return dimensions[index].present ? &dimensions[index] : nullptr;
  }
  void clear();

 private:
  const Value* find_named(const DimensionRef& dimension) const;  // of tag.NAME or attr.NAME
};

struct RequestFault {
  unsigned status = 400;  // 422 if a value is out of range
  std::string pointer;    // JSON pointer of the field
  std::string text;
  std::optional<std::size_t> offset = std::nullopt;  // byte where a body that is not JSON breaks
};

// Parses `body` in place; unescaping writes into `body`. Returns all faults up to the first byte that is not JSON, with
// those of status 400 first. The first fault gives the status of the answer. After a fault, do not use `out`. A valid
// check needs no allocation once the vectors of `out` have grown.
//
// A string of `out` may contain control characters such as "\u0000". To write it into JSON, use json::append_string.
std::vector<RequestFault> parse_check(std::span<char> body, CheckRequest& out);

}  // namespace sluice
