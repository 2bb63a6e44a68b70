// Reads, locks, lists and writes objects as rows. It does not interpret documents.
//
// Every function works in its transaction's scope; rows outside it do not exist for it. They throw what libpqxx throws
// (postgres/failure.hpp).
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
  ObjectId key;                 // a tenant's row has the tenant's own id as `tenant_id`, too
  std::string organization_id;  // "": the platform
  std::int64_t version = 0;
  std::string document;    // canonical JSON
  std::string created_at;  // RFC 3339, UTC
  std::string updated_at;
};

// A new id: "key-3f9a0c41d2e7".
std::string random_id(Kind kind);

// The document's form for bundles and agents. A policy's document gets the member `version`, which breaks ties between
// equal policies. Version 1 is the default and is left out. Documents of other kinds are unchanged.
std::string bundle_document(Kind kind, std::int64_t version, std::string_view document);

enum class Lock : std::uint8_t {
  none,
  share,   // nobody may change it until the end of the transaction
  update,  // the caller will change it
};

// Returns nullopt if there is no such row in scope. `tenant_id` matters only for kinds whose ids are unique within a
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
  std::size_t limit = 100;      // 1 to 1,000
  std::string after_tenant_id;  // starts after this key, the last one of the previous page
  std::string after_id;
};

// Sorted by tenant and id. Returns limit + 1 rows if there is a next page.
std::vector<StoredObject> list(postgres::Transaction& tx, Kind kind, const std::vector<Filter>& filters,
                               const Page& page);

// The extra columns of a kind; most kinds have none.
struct ExtraColumn {
  std::string_view name;
  std::string_view type;  // the SQL type
  std::optional<std::string> value;
};

// Writes a new row. Its version follows the last version that any object with this key ever had.
StoredObject insert(postgres::Transaction& tx, const ObjectId& key, const std::string& organization_id,
                    const std::string& document, const std::vector<ExtraColumn>& extra = {});
// Replaces the document of a locked row and increases its version by one.
StoredObject update(postgres::Transaction& tx, const StoredObject& before, const std::string& document,
                    const std::vector<ExtraColumn>& extra = {});
void remove(postgres::Transaction& tx, const ObjectIdView& key);
// Removes all rows that match and returns their former content.
std::vector<StoredObject> remove_all(postgres::Transaction& tx, Kind kind, const std::vector<Filter>& filters);

}  // namespace sluice::server::store
