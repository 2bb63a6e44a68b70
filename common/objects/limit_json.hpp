// Reads limits from JSON, in the canonical form and every shorthand, and writes the canonical form.
//
// Thread safety: pure functions; all state is the caller's.
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

// Reads the limits of `owner`, a plan or policy: the list `limits`, or one limit whose fields are members of `owner`
// itself. In that flat form `name` and `key_by` belong to the owner. Returns the form that it found, and marks the
// fields of both forms as known. A limit without a name gets the name of its algorithm, made unique with "-2", "-3", ….
LimitsForm read_limits(json::Fields& owner, std::vector<Limit>& out);

// Whether `owner` has a field of a limit in the flat form, other than `name` and `key_by`.
bool has_flat_limit(json::Fields& owner);

// Which numbers of a limit an override replaces.
struct LimitChange {
  bool limit = false;
  bool rate = false;
  bool window = false;
  bool lease_ttl = false;
};
// Reads the member `set` of an override: its fields replace numbers of `limit`. Adds a fault for each field that an
// override of this limit cannot replace. If no field has a fault, adds one if no number is replaced, or if the new
// numbers do not fit together.
LimitChange read_limit_change(json::Fields& fields, Limit& limit);

// Reads `key_by`, one dimension or a list of dimensions, into `out`, sorted and without duplicates. Returns false if
// the field is absent.
bool read_key_by(json::Fields& fields, std::vector<DimensionRef>& out);

// Writes the canonical form. Every limit is written with its name.
void write_limit(json::Writer& out, const Limit& limit);

void write_key_by(json::Writer& out, const std::vector<DimensionRef>& key_by);

}  // namespace sluice
