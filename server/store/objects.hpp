// Reads, locks, lists and writes objects as rows, without interpreting their documents.
//
// Every function works in the scope of `tx` and throws what libpqxx throws.
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
  ObjectId key;                 // a tenant's `tenant_id` equals its `id`
  std::string organization_id;  // "": the platform
  std::int64_t version = 0;
  std::string document;    // canonical JSON
  std::string created_at;  // RFC 3339, UTC
  std::string updated_at;
  std::string used_at = {};  // only of keys and admin tokens; "" if not since servers record it
};

// "key-3f9a0c41d2e7"
std::string random_id(Kind kind);

// Adds the member `version` to a policy's document, for bundles and agents. Version 1 is the default and is left out.
std::string bundle_document(Kind kind, std::int64_t version, std::string_view document);

// The document as answers and exports show it, and as a person may send it back: with `require_key_by`, which stored
// plans and policies leave out for false.
std::string shown_document(Kind kind, std::string_view document);
// REQUIRES: `document` is the stored document of a plan or policy.
bool requires_key_by(std::string_view document);

enum class Lock : std::uint8_t {
  none,
  share,   // other transactions cannot change the row until `tx` ends
  update,  // the caller will change the row
};

// `tenant_id` is ignored for kinds whose ids are unique without a tenant.
std::optional<StoredObject> find(postgres::Transaction& tx, Kind kind, std::string_view tenant_id, std::string_view id,
                                 Lock lock = Lock::none);

struct Filter {
  std::string_view sql;  // a constant with one parameter: "plan_id = $"
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
  std::string_view type;
  std::optional<std::string> value;
};

// The version is 1, or one more than the last version of a removed object with this key in this organization.
StoredObject insert(postgres::Transaction& tx, const ObjectId& key, const std::string& organization_id,
                    const std::string& document, const std::vector<ExtraColumn>& extra = {});
// Increases the version by one. REQUIRES: the row is locked.
StoredObject update(postgres::Transaction& tx, const StoredObject& before, const std::string& document,
                    const std::vector<ExtraColumn>& extra = {});
void remove(postgres::Transaction& tx, const ObjectIdView& key);
// Removes and returns the rows that match all filters.
std::vector<StoredObject> remove_all(postgres::Transaction& tx, Kind kind, const std::vector<Filter>& filters);

}  // namespace sluice::server::store
