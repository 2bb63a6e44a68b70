// Reads limits from JSON, in the canonical form and every shorthand, and writes the canonical form.
//
// Thread safety: pure functions.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "common/domain/plan.hpp"
#include "common/json/fields.hpp"
#include "common/json/writer.hpp"

namespace sluice {

enum class LimitsForm : std::uint8_t { none, list, flat };

// Reads the limits of a plan or policy: the list `limits` or, in the flat form, one limit whose fields are members of
// `owner` itself. Also reads `max_override`. A limit without a name gets the name of its algorithm, made unique with
// "-2", "-3", ….
LimitsForm read_limits(json::Fields& owner, std::vector<Limit>& out);

// Writes the largest limits that checks may bring, if there are any: the member `max_override` of a plan or policy.
void write_max_override(json::Writer& out, const std::vector<Limit>& limits);

// Whether `owner` has limit fields. `name` and `key_by` do not count: in the flat form they belong to the owner.
bool has_flat_limit(json::Fields& owner);

// The numbers that an override replaces.
struct LimitChange {
  bool limit = false;
  bool rate = false;
  bool window = false;
  bool lease_ttl = false;
};
// Reads the member `set` of an override into `limit`. Faults: a field that an override cannot replace, no field at all,
// and numbers that do not fit together.
LimitChange read_limit_change(json::Fields& fields, Limit& limit);

// Reads one dimension or a list of dimensions, sorted and without duplicates. Returns false if the field is absent.
bool read_key_by(json::Fields& fields, std::vector<DimensionRef>& out);

// Writes the canonical form.
void write_limit(json::Writer& out, const Limit& limit);

void write_key_by(json::Writer& out, const std::vector<DimensionRef>& key_by);

}  // namespace sluice
