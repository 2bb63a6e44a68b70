// The audit trail's hash chain: what a row's hash covers.
//
// hash(n) = SHA-256(hash(n − 1) ‖ every field of row n, each behind its length in bytes), beginning with 32 zero bytes,
// for each organization by itself. A row that was changed, removed, swapped, or taken from another organization no
// longer fits; one cut off at the end is told by a head that was kept elsewhere. (The construction of Crosby and
// Wallach's hash-chained logs, "Efficient Data Structures for Tamper-Evident Logging", 2009, without its tree.)
//
// Thread safety: pure functions.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "common/base/crypto.hpp"

namespace sluice::server::store {

// One change, as the trail keeps it. Views: the row's owner outlives it.
struct AuditRow {
  std::string_view organization_id;
  std::int64_t seq = 0;  // 1, 2, 3 … in its organization
  std::string_view tenant_id;
  std::int64_t made_at_us = 0;
  std::string_view actor_id;
  std::string_view actor_role;
  std::string_view source;
  std::string_view request_id;
  std::string_view action;
  std::string_view kind;
  std::string_view object_id;
  std::int64_t version = 0;
  std::string_view before;  // "": there was none
  std::string_view after;
  std::int64_t revision = 0;
};

Sha256Digest chained(const Sha256Digest& before, const AuditRow& row);

}  // namespace sluice::server::store
