// Many rows at once: what store/objects.hpp does for one, in statements of a few thousand.
//
// Every function works in the scope its transaction has entered. They throw what libpqxx throws.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "server/store/objects.hpp"

namespace sluice::server::store {

// Rows of these keys that are there, in the order of (tenant_id, id). REQUIRES: the keys are of one kind.
std::vector<StoredObject> find_all(postgres::Transaction& tx, Kind kind, std::span<const ObjectKey> keys);
// All rows of some tenants, in the order of (tenant_id, id).
std::vector<StoredObject> find_of_tenants(postgres::Transaction& tx, Kind kind,
                                          const std::vector<std::string>& tenant_ids);

// Locks rows in the order of (tenant_id, id). False where one is not there any more, or has another version.
bool lock_all(postgres::Transaction& tx, Kind kind, std::span<const StoredObject> rows, Lock lock);

// What is to be written. All rows of one call have the same extra columns.
struct RowDraft {
  ObjectKey key;
  std::string document;
  std::vector<ExtraColumn> extra;
};

// Versions, in the order of the rows; 0: the key is taken, maybe by a row that is not in scope.
std::vector<std::int64_t> insert_all(postgres::Transaction& tx, Kind kind, std::span<const RowDraft> rows);
// REQUIRES: all are locked. Versions, in the order of the rows.
std::vector<std::int64_t> update_all(postgres::Transaction& tx, Kind kind, std::span<const RowDraft> rows);
void remove_rows(postgres::Transaction& tx, Kind kind, std::span<const StoredObject> rows);

}  // namespace sluice::server::store
