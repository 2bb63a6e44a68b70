// From the body of a call to the row that is written. The body is read as part of a small bundle that holds what it
// refers to and what refers to it, by the code that reads bundles and compiles snapshots. So there is one set of rules,
// every fault is found at once, and nothing is stored that an agent would refuse. The body was parsed once, and the
// bundle is compiled once: the draft carries the result to whoever needs it.
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

// What will be stored.
struct Draft {
  store::ObjectKey key;
  std::string document;
  std::vector<store::ExtraColumn> extra;
  Faults warnings;                     // pointers into the document
  counters::RulesPtr rules = nullptr;  // of plans, policies and overrides: the bundle they were compiled in
};

// Members that only answers have. They are ignored in bodies, so that an answer can be sent back.
inline constexpr std::array<std::string_view, 6> kReadOnly{"version",    "revision", "created_at",
                                                           "updated_at", "warnings", "secret_already_shown"};

// `body`: an object without read-only members, with `tenant_id` and `id` where the kind has them.
// Each refuses a faulty body, naming every fault, and locks what it refers to until the end of the transaction.
Draft draft_organization(postgres::Transaction& tx, const json::Value& body);
Draft draft_tenant(postgres::Transaction& tx, const json::Value& body);
Draft draft_plan(postgres::Transaction& tx, const json::Value& body);
Draft draft_policy(postgres::Transaction& tx, const json::Value& body);
Draft draft_override(postgres::Transaction& tx, const json::Value& body);
Draft draft_key(postgres::Transaction& tx, const json::Value& body);  // with its key_hash

// The canonical form that is stored. `write`: write_plan and the like.
template <class Item, class Write>
std::string canonical(const Item& item, Write write) {
  json::Writer out(json::Writer::Layout::compact);
  write(out, item);
  return out.take();
}

// Columns of the table that are stored beside the document.
std::vector<store::ExtraColumn> policy_columns(const Policy& policy);
std::vector<store::ExtraColumn> override_columns(const Override& item);

// The fault of an id that is also a path segment of another route; nullopt where there is none.
std::optional<std::string> reserved_id_fault(const Override& item);

}  // namespace sluice::server::admin
