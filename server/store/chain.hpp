// The hash chain of the audit trail.
//
// hash(n) = SHA-256(hash(n − 1) ‖ every field of row n), where hash(0) is 32 zero bytes. A number is hashed as 8 bytes
// (big-endian). Before a text, its length in bytes is hashed as a number.
//
// Each organization has its own chain. The hashes show if a row was changed, removed, swapped or copied from another
// organization. Only a saved head (number and hash of the last row) shows if rows were cut off at the end. These are
// Crosby and Wallach's hash-chained logs ("Efficient Data Structures for Tamper-Evident Logging", 2009) without the
// tree.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "common/base/crypto.hpp"

namespace sluice::server::store {

// The row does not own its texts.
struct AuditRow {
  std::string_view organization_id;
  std::int64_t seq = 0;  // 1, 2, 3 … in each organization
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
  std::string_view before;  // the document; "": the object did not exist
  std::string_view after;   // "": the change removed the object
  std::int64_t revision = 0;
};

// `before`: the hash of the previous row; 32 zero bytes for the first row.
Sha256Digest chained(const Sha256Digest& before, const AuditRow& row);

}  // namespace sluice::server::store
