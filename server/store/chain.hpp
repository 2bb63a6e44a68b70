// The hash chain of the audit trail: defines what a row's hash covers.
//
// hash(n) = SHA-256(hash(n − 1) ‖ every field of row n, each after its length in bytes), starting from 32 zero bytes.
// Each organization has its own chain. If a row was changed, removed, swapped or copied from another organization, the
// hashes no longer match. Rows cut off at the end only show by comparison with a head saved elsewhere. (Crosby and
// Wallach's hash-chained logs, "Efficient Data Structures for Tamper-Evident Logging", 2009, without the tree.)
//
// Thread safety: pure functions.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "common/base/crypto.hpp"

namespace sluice::server::store {

// One change as an audit row. The views belong to the owner of the row.
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
  std::string_view before;  // "": the object did not exist
  std::string_view after;
  std::int64_t revision = 0;
};

// Returns the hash of the row. `before`: the hash of the row before it; 32 zero bytes for the first row.
Sha256Digest chained(const Sha256Digest& before, const AuditRow& row);

}  // namespace sluice::server::store
