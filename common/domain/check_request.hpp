// A parsed check: the body of `POST /v1/check`, or one check of a batch.
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

// A view into the request's body. An absent value is not the same as an empty one.
struct Value {
  std::string_view text;
  bool present = false;
};
// A tag or an attribute. It is always present; it is a Value so that find() can return a pointer to it.
struct NamedValue : Value {
  NamedValue(std::string_view its_name, std::string_view its_text) : Value{its_text, true}, name(its_name) {}
  std::string_view name;
};
struct UnitCost {
  std::string_view unit;
  std::int64_t cost = 0;
};

// All views point into the body, which is parsed in place and must outlive them. The object is reused for further
// requests: clear() keeps the memory of the vectors.
struct CheckRequest {
  std::array<Value, kNamedDimensions> dimensions;  // indexed by Dimension; the agent sets org, tenant and api_key
  std::vector<NamedValue> tags;
  std::vector<NamedValue> attributes;
  std::int64_t requests = 1;    // cost of the unit "requests"
  std::vector<UnitCost> costs;  // the other units in `costs`
  std::string_view plan_id;     // "": the check names no plan, so policies are matched
  std::string_view request_id;
  bool explain = false;

  // If the check does not name the unit, the cost is 1 for "requests" and 0 for any other unit.
  std::int64_t cost_of(std::string_view unit) const;
  const Value* find(const DimensionRef& dimension) const;  // nullptr when absent
  void clear();
};

// Why a body is refused. Status 400: it is not a valid check; 422: a value is out of range.
struct RequestFault {
  unsigned status = 400;
  std::string pointer;  // JSON pointer of the field
  std::string text;
};

// Parses `body` in place into `out`; unescaping writes into `body`. Returns all faults up to the first byte that is not
// JSON, those with status 400 before those with 422. The first fault gives the status of the answer. After a fault, do
// not use `out`. A valid check needs no allocation once the vectors of `out` have grown.
//
// The rules: known fields, no duplicates, correct types, UTF-8, depth at most 16, strings of at most 256 bytes, costs
// from 0 to 2^31 − 1, not both `cost` and `costs.requests`, no `api_key`, and at least one dimension or plan_id. tags,
// attributes and costs have at most 64 names of 1 to 256 bytes each. A string may contain control characters such as
// "\u0000", so code that writes it must escape it (json::append_string).
std::vector<RequestFault> parse_check(std::span<char> body, CheckRequest& out);

}  // namespace sluice
