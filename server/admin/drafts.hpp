// Turns the body of a call into a draft: the row to be stored.
//
// The body becomes part of a small bundle, together with the objects that it refers to and those that refer to it. The
// server compiles this bundle with the agents' code, so it stores nothing that an agent would refuse.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "common/base/error.hpp"
#include "common/domain/bundle.hpp"
#include "common/json/tree.hpp"
#include "common/json/writer.hpp"
#include "common/objects/enforcement_json.hpp"
#include "server/counters/rules.hpp"
#include "server/postgres/transaction.hpp"
#include "server/store/objects.hpp"

namespace sluice::server::admin {

struct Draft {
  ObjectId key;
  std::string organization_id;
  std::string document;
  std::vector<store::ExtraColumn> extra;
  Faults warnings;                     // with pointers into the document
  counters::RulesPtr rules = nullptr;  // for finding affected counter keys; only for plans, policies and overrides
};

// Members that the server adds to answers, and ignores in bodies. So a caller can change an answer and send it back.
inline constexpr std::array<std::string_view, 7> kReadOnly{
    "version", "revision", "created_at", "updated_at", "last_used_at", "warnings", "secret_already_shown"};

// `body` has no read-only members, and has `tenant_id` and `id` if the kind has them. Each function refuses a faulty
// body with all its faults, and locks the plans and policies that the body refers to.
Draft draft_organization(postgres::Transaction& tx, const json::Value& body);
Draft draft_tenant(postgres::Transaction& tx, const json::Value& body);
Draft draft_plan(postgres::Transaction& tx, const json::Value& body);
Draft draft_policy(postgres::Transaction& tx, const json::Value& body);
Draft draft_override(postgres::Transaction& tx, const json::Value& body);
// For kinds that refer only to their tenant. REQUIRES: the body of an API key has `key_hash`.
Draft draft_in_tenant(postgres::Transaction& tx, Kind kind, const json::Value& body);

// The canonical form of an object, as the server stores it. `write` is the kind's writer, for example write_plan().
template <class Item, class Write>
std::string canonical(const Item& item, Write write) {
  json::Writer out(json::Writer::Layout::compact);
  if constexpr (std::is_invocable_v<Write, json::Writer&, const Item&>) {
    write(out, item);
  } else {
    write(out, item, Form::stored);
  }
  return out.take();
}
// `index` is a position in the bundle's list of this kind.
std::string canonical(const Bundle& bundle, Kind kind, std::size_t index);

// The columns that a table has beside the document.
std::vector<store::ExtraColumn> policy_columns(const Policy& policy);
std::vector<store::ExtraColumn> override_columns(const Override& item);

// An override may not have the id "clear", because /v1/admin/overrides/clear is another route.
std::optional<std::string> reserved_id_fault(const Override& item);

}  // namespace sluice::server::admin
