// The hash chain of the audit trail: defines what a row's hash covers.
//
// hash(n) = SHA-256(hash(n − 1) ‖ every field of row n), where hash(0) is 32 zero bytes. A number is hashed as 8 bytes
// (big-endian). Before a text, its length in bytes is hashed as a number.
//
// Each organization has its own chain. If a row was changed, removed, swapped or copied from another organization, the
// hashes no longer match. If rows were cut off at the end, the hashes still match. To find that, compare the last row
// with a saved head (number and hash of the last row), from the table audit_heads or from outside the database. (These
// are Crosby and Wallach's hash-chained logs, "Efficient Data Structures for Tamper-Evident Logging", 2009, without the
// tree.)
//
// Thread safety: pure functions.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "common/base/crypto.hpp"

namespace sluice::server::store {

// One change as an audit row. The row does not own its texts.
struct AuditRow {
  std::string_view organization_id;
  std::int64_t seq = 0;  // the number of the row: 1, 2, 3 … in each organization
  std::string_view tenant_id;
  std::int64_t made_at_us = 0;
  std::string_view actor_id;
  std::string_view actor_role;
  std::string_view source;  // address of the caller
  std::string_view request_id;
  std::string_view action;
  std::string_view kind;
  std::string_view object_id;
  std::int64_t version = 0;
  std::string_view before;  // the document before the change; "": the object did not exist
  std::string_view after;   // "": the change removed the object
  std::int64_t revision = 0;
};

// Returns the hash of the row. `before`: the hash of the previous row of the chain; 32 zero bytes for the first row.
Sha256Digest chained(const Sha256Digest& before, const AuditRow& row);

}  // namespace sluice::server::store
