// Objects as rows: reading, locking, listing, writing. What a document means is not this layer's business.
//
// Every function works in the scope its transaction has entered: what is beyond it is not there. They throw what
// libpqxx throws (postgres/failure.hpp).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "common/objects/kind.hpp"
#include "server/postgres/transaction.hpp"

namespace sluice::server::store {

struct ObjectKey {
  Kind kind = Kind::policy;
  std::string organization_id;  // "": the platform
  std::string tenant_id;        // "": it belongs to none; of a tenant its own id
  std::string id;

  bool operator==(const ObjectKey&) const = default;
};

struct StoredObject {
  ObjectKey key;
  std::int64_t version = 0;
  std::string document;    // canonical JSON
  std::string created_at;  // RFC 3339, UTC
  std::string updated_at;
};

// A new id: "key-3f9a0c41d2e7".
std::string random_id(Kind kind);

// The document as bundles and agents have it: a policy's has its version, by which agents tell which of two equal ones
// wins.
std::string bundle_document(Kind kind, std::int64_t version, std::string_view document);

enum class Lock : std::uint8_t {
  none,
  share,   // nobody may change it until the end of the transaction
  update,  // it is about to be changed
};

// Nothing where there is none in scope. `tenant_id` counts for kinds whose ids are unique in a tenant only.
std::optional<StoredObject> find(postgres::Transaction& tx, Kind kind, std::string_view tenant_id, std::string_view id,
                                 Lock lock = Lock::none);

// A condition on a column or on a member of the document, as SQL with one parameter: "plan_id = $", "document ->>
// 'mode' = $". The SQL is this program's own text, the value comes from outside.
struct Filter {
  std::string_view sql;
  std::string value;
};

struct Page {
  std::size_t limit = 100;      // 1 to 1,000
  std::string after_tenant_id;  // begins behind this one: the last of the page before
  std::string after_id;
};

// Ordered by tenant and id. One more than the limit where there is a next page.
std::vector<StoredObject> list(postgres::Transaction& tx, Kind kind, const std::vector<Filter>& filters,
                               const Page& page);

// Columns that a kind has beside those of all; empty for most.
struct ExtraColumn {
  std::string_view name;
  std::string_view type;  // SQL's
  std::optional<std::string> value;
};

// Writes a new row. Its version follows the last one that any object of this key ever had.
StoredObject insert(postgres::Transaction& tx, const ObjectKey& key, const std::string& document,
                    const std::vector<ExtraColumn>& extra = {});
// Replaces the document of a row that is locked; its version counts up by one.
StoredObject update(postgres::Transaction& tx, const StoredObject& before, const std::string& document,
                    const std::vector<ExtraColumn>& extra = {});
void remove(postgres::Transaction& tx, const ObjectKey& key);
// All that fit; what they were.
std::vector<StoredObject> remove_all(postgres::Transaction& tx, Kind kind, const std::vector<Filter>& filters);

}  // namespace sluice::server::store
