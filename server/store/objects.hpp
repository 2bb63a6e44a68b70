// Reads, locks, lists and writes objects as rows. It does not interpret documents.
//
// Every function works in the scope of `tx`: rows outside the scope do not exist for the function. Every function
// throws what libpqxx throws (postgres/failure.hpp).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "common/objects/object_id.hpp"
#include "server/postgres/transaction.hpp"

namespace sluice::server::store {

struct StoredObject {
  ObjectId key;                 // if the object is a tenant, its `tenant_id` equals its `id`
  std::string organization_id;  // "": the platform
  std::int64_t version = 0;
  std::string document;    // canonical JSON
  std::string created_at;  // RFC 3339, UTC
  std::string updated_at;
};

// A new id: "key-3f9a0c41d2e7".
std::string random_id(Kind kind);

// Returns the document as bundles and agents get it. A policy's document gets the member `version`, which breaks ties
// between policies of equal precedence. Version 1 is the default and is left out. Documents of other kinds are
// unchanged.
std::string bundle_document(Kind kind, std::int64_t version, std::string_view document);

enum class Lock : std::uint8_t {
  none,
  share,   // nobody may change the row until the end of the transaction
  update,  // the caller will change the row
};

// Returns nullopt if there is no such row in the scope. `tenant_id` is ignored for kinds whose ids are unique without a
// tenant.
std::optional<StoredObject> find(postgres::Transaction& tx, Kind kind, std::string_view tenant_id, std::string_view id,
                                 Lock lock = Lock::none);

// A condition on a column or on a field of the document, as SQL with one parameter: "plan_id = $", "document ->> 'mode'
// = $". The SQL is a constant of this program; the value comes from outside.
struct Filter {
  std::string_view sql;
  std::string value;
};

struct Page {
  std::size_t limit = 100;  // 1 to 1,000
  // The key of the last row of the previous page; for the first page, both texts are "".
  std::string after_tenant_id;
  std::string after_id;
};

// Returns rows sorted by tenant and id: limit + 1 of them if there is a next page.
std::vector<StoredObject> list(postgres::Transaction& tx, Kind kind, const std::vector<Filter>& filters,
                               const Page& page);

// A column that only the tables of some kinds have, such as secret_hash of tokens.
struct ExtraColumn {
  std::string_view name;
  std::string_view type;  // the SQL type
  std::optional<std::string> value;
};

// Writes a new row. Its version is 1, or one more than the last version that a removed object with this key had in this
// organization.
StoredObject insert(postgres::Transaction& tx, const ObjectId& key, const std::string& organization_id,
                    const std::string& document, const std::vector<ExtraColumn>& extra = {});
// Replaces the document of a locked row and increases its version by one.
StoredObject update(postgres::Transaction& tx, const StoredObject& before, const std::string& document,
                    const std::vector<ExtraColumn>& extra = {});
void remove(postgres::Transaction& tx, const ObjectIdView& key);
// Removes all rows that match all filters, and returns their former content.
std::vector<StoredObject> remove_all(postgres::Transaction& tx, Kind kind, const std::vector<Filter>& filters);

}  // namespace sluice::server::store
