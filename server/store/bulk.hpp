// Reads, locks and writes many rows at once, up to 2,000 per statement.
//
// Every function works in the scope of `tx` and throws what libpqxx throws. The objects returned have no
// created_at and no updated_at.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "server/store/objects.hpp"

namespace sluice::server::store {

// Sorted by (tenant_id, id). REQUIRES: all keys have the same kind.
std::vector<StoredObject> find_all(postgres::Transaction& tx, Kind kind, std::span<const ObjectId> keys);
// Sorted by (tenant_id, id).
std::vector<StoredObject> find_of_tenants(postgres::Transaction& tx, Kind kind,
                                          const std::vector<std::string>& tenant_ids);

// Locks rows in the order of (tenant_id, id). Returns false if a row is gone or has another version than in `rows`.
bool lock_all(postgres::Transaction& tx, Kind kind, std::span<const StoredObject> rows, Lock lock);

// All rows of one call have the same extra columns.
struct RowDraft {
  ObjectId key;
  std::string organization_id;
  std::string document;
  std::vector<ExtraColumn> extra;
};

// Returns the versions, in the order of `rows`. Version 0 means that the row was not written, because its key is taken
// (perhaps by a row outside the scope).
std::vector<std::int64_t> insert_all(postgres::Transaction& tx, Kind kind, std::span<const RowDraft> rows);
// Returns the new versions, in the order of `rows`. REQUIRES: all rows are locked.
std::vector<std::int64_t> update_all(postgres::Transaction& tx, Kind kind, std::span<const RowDraft> rows);
// An object, and another object of the same kind and tenant with the same name.
struct SharedName {
  ObjectId key;
  std::string name;
  std::string other_id;
};

// Returns the objects of `keys` that share their name with others, each with the first of the other ids. REQUIRES:
// `kind` is plan or policy.
std::vector<SharedName> find_shared_names(postgres::Transaction& tx, Kind kind, std::span<const ObjectId> keys);

void remove_rows(postgres::Transaction& tx, Kind kind, std::span<const StoredObject> rows);

}  // namespace sluice::server::store
