// Limits in JSON: canonical form and every shorthand.
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

// Reads the limits of a plan or a policy: its list `limits`, or one limit whose fields stand flat in `owner` itself
// (`name` and `key_by` are then the owner's). Takes all fields of both forms; says which was there.
// Limits without a name get their algorithm's, made unique with "-2", "-3", ….
LimitsForm read_limits(json::Fields& owner, std::vector<Limit>& out);

// Is one of a limit's own fields (not `name`, `key_by`) in `owner`?
bool has_flat_limit(json::Fields& owner);

// Reads `fields` that replace numbers of `limit` (the `set` of an override) into it; faults for fields that do not fit
// its algorithm. Returns which were given.
struct LimitChange {
  bool limit = false;
  bool rate = false;
  bool window = false;
  bool lease_ttl = false;
};
LimitChange read_limit_change(json::Fields& fields, Limit& limit);

// Reads `key_by`, one dimension or a list of them: sorted, without duplicates. False where it is absent.
bool read_key_by(json::Fields& fields, std::vector<DimensionRef>& out);

// The canonical form. Every limit is written with its name.
void write_limit(json::Writer& out, const Limit& limit);

void write_key_by(json::Writer& out, const std::vector<DimensionRef>& key_by);

}  // namespace sluice
