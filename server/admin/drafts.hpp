// Turns the body of a call into a draft: the row to be stored.
//
// The body becomes part of a small bundle, together with the objects that it refers to and those that refer to it. The
// code that agents use reads and compiles this bundle. So all faults are found at once, and the server stores nothing
// that an agent would refuse. The bundle is compiled only once: the draft keeps the compiled rules. With them,
// the server later finds the counter keys that the change affects, and publishes their overrides.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "common/base/error.hpp"
#include "common/domain/bundle.hpp"
#include "common/json/tree.hpp"
#include "common/json/writer.hpp"
#include "server/counters/rules.hpp"
#include "server/postgres/transaction.hpp"
#include "server/store/objects.hpp"

namespace sluice::server::admin {

// An object that is read from a request and valid, but not stored yet.
struct Draft {
  ObjectId key;
  std::string organization_id;
  std::string document;
  std::vector<store::ExtraColumn> extra;
  Faults warnings;                     // pointers into the document
  counters::RulesPtr rules = nullptr;  // the compiled bundle; nullptr unless the object is a plan, policy or override
};

// Members that the server adds to answers. A body may contain them too, and the server ignores them there: so a caller
// can change an answer and send it back.
inline constexpr std::array<std::string_view, 6> kReadOnly{"version",    "revision", "created_at",
                                                           "updated_at", "warnings", "secret_already_shown"};

// `body`: an object without read-only members, with `tenant_id` and `id` if the kind has them. Each function refuses a
// faulty body with all its faults, and locks the plans and policies that the body refers to until the end of the
// transaction.
Draft draft_organization(postgres::Transaction& tx, const json::Value& body);
Draft draft_tenant(postgres::Transaction& tx, const json::Value& body);
Draft draft_plan(postgres::Transaction& tx, const json::Value& body);
Draft draft_policy(postgres::Transaction& tx, const json::Value& body);
Draft draft_override(postgres::Transaction& tx, const json::Value& body);
// Drafts an object of a kind that refers only to its tenant. The body of a key must already have `key_hash`.
Draft draft_in_tenant(postgres::Transaction& tx, Kind kind, const json::Value& body);

// The canonical form of an object, which is what the server stores. `write`: write_plan() or the writer of another
// kind.
template <class Item, class Write>
std::string canonical(const Item& item, Write write) {
  json::Writer out(json::Writer::Layout::compact);
  write(out, item);
  return out.take();
}
// The canonical form of object number `index` in the bundle's list of this kind.
std::string canonical(const Bundle& bundle, Kind kind, std::size_t index);

// The values of the columns that the tables of policies and overrides have beside the document.
std::vector<store::ExtraColumn> policy_columns(const Policy& policy);
std::vector<store::ExtraColumn> override_columns(const Override& item);

// Returns a fault if the override has the id "clear", because /v1/admin/overrides/clear is another route; else nullopt.
std::optional<std::string> reserved_id_fault(const Override& item);

}  // namespace sluice::server::admin
