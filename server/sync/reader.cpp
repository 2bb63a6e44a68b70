#include "server/sync/reader.hpp"

#include <algorithm>
#include <array>
#include <map>
#include <optional>

#include <fmt/core.h>
#include <pqxx/pqxx>

#include "common/objects/kind.hpp"
#include "server/store/objects.hpp"

namespace sluice::server::sync {
namespace {

// The feed also follows tokens and bindings, but not overrides and counters.
std::string followed_kinds() {
  std::string names = fmt::format("'{}','{}'", info(Kind::agent_token).name, info(Kind::binding).name);
  for (const Kind kind : kAllKinds) {
    if (info(kind).to_agents()) names += fmt::format(",'{}'", info(kind).name);
  }
  return names;
}

// The id that agents know an object by. In PostgreSQL the settings have the id 'global', and a tenant has its own id as
// tenant_id.
ObjectId wire_id(Kind kind, const char* tenant_id, const char* id) {
  return {.kind = kind, .tenant_id = info(kind).in_tenant() ? tenant_id : "", .id = kind == Kind::setting ? "" : id};
}

// Columns: organization_id, tenant_id, id, version, document.
std::string columns(Kind kind) {
  return fmt::format("SELECT t.organization_id, t.tenant_id, t.id, t.version, t.document{} FROM {} t",
                     kind == Kind::agent_token ? ", t.secret_hash" : "", info(kind).table());
}

sluice::sync::ObjectPtr read_object(Kind kind, const pqxx::row& row) {
  return sluice::sync::make_object(wire_id(kind, row[1].c_str(), row[2].c_str()).view(),
                                   store::bundle_document(kind, row[3].as<std::int64_t>(), row[4].c_str()));
}

// A token with an unreadable hash gives no access.
std::shared_ptr<const AgentToken> read_token(const pqxx::row& row) {
  const auto hash = parse_key_hash(row[5].c_str());
  if (!hash) return nullptr;
  auto token = std::make_shared<AgentToken>();
  token->document = auth::stored_token(row[4].c_str(), auth::TokenType::agent);
  token->hash = *hash;
  token->caller = {
      .token_id = row[2].c_str(), .organization_id = row[0].c_str(), .tenant_ids = token->document.tenant_ids};
  std::ranges::sort(token->caller.tenant_ids);
  return token;
}

// Returns one step for each revision after `from` up to `head`: with its chain, still without objects.
std::vector<Step> read_steps(postgres::Transaction& tx, const sluice::sync::Position& from,
                             const sluice::sync::Position& head) {
  std::vector<Step> steps;
  for (std::int64_t revision = from.revision + 1; revision <= head.revision; ++revision) {
    steps.push_back({.at = {.revision = revision, .chain = {}}, .touched = {}});
  }
  const auto step_of = [&](const pqxx::field& revision) -> Step& {
    return steps[static_cast<std::size_t>(revision.as<std::int64_t>() - from.revision - 1)];
  };
  for (const auto& row :
       tx.exec("SELECT revision, encode(chain, 'hex') FROM revisions WHERE revision > $1", from.revision)) {
    step_of(row[0]).at.chain = row[1].c_str();
  }
  // Servers of an earlier schema write no row into `revisions`. Without a row a revision has no chain, so it matches no
  // agent's position. The newest revision always has one.
  if (!steps.empty()) steps.back().at.chain = head.chain;
  return steps;
}

// A change of an object that agents follow.
struct ChangeRow {
  std::int64_t revision = 0;
  Kind kind = Kind::policy;
  store::ObjectKey key;
};

// Reads the newest `most` changes after a revision, oldest first.
std::vector<ChangeRow> read_changes(postgres::Transaction& tx, std::int64_t after, std::size_t most) {
  static const std::string kChanges = fmt::format(
      "SELECT revision, kind, organization_id, tenant_id, id FROM changes WHERE revision > $1 AND kind IN ({}) "
      "ORDER BY revision DESC, ordinal DESC LIMIT $2",
      followed_kinds());
  std::vector<ChangeRow> changes;
  for (const auto& row : tx.exec(kChanges, after, most)) {
    const Kind kind = *kind_from(row[1].c_str());
    changes.push_back({.revision = row[0].as<std::int64_t>(),
                       .kind = kind,
                       .key = {kind, row[2].c_str(), row[3].c_str(), row[4].c_str()}});
  }
  std::ranges::reverse(changes);
  return changes;
}

// Adds a change to the step of its revision. `from`: the revision before the first step.
void note(const ChangeRow& change, std::vector<Step>& steps, std::int64_t from) {
  if (!info(change.kind).to_agents()) return;
  steps[static_cast<std::size_t>(change.revision - from - 1)].touched.push_back(
      {.id = wire_id(change.kind, change.key.tenant_id.c_str(), change.key.id.c_str()),
       .organization_id = change.key.organization_id});
}

// Reads the recent revisions, back to the first gap in the table `revisions` or to the bounds of a history.
History read_history(postgres::Transaction& tx, const sluice::sync::Position& head) {
  std::int64_t from = std::max<std::int64_t>(0, head.revision - kRecentRevisions);
  const std::vector<ChangeRow> changes = read_changes(tx, from, History::kMostTouched);
  // The oldest revision may be incomplete.
  if (changes.size() == History::kMostTouched) from = changes.front().revision;
  const pqxx::result rows =
      tx.exec("SELECT revision, encode(chain, 'hex') FROM revisions WHERE revision >= $1 ORDER BY revision", from);
  sluice::sync::Position base = head;
  if (!rows.empty() && rows[rows.size() - 1][0].as<std::int64_t>() == head.revision) {
    auto first = rows.size() - 1;
    while (first > 0 && rows[first - 1][0].as<std::int64_t>() + 1 == rows[first][0].as<std::int64_t>()) --first;
    base = {.revision = rows[first][0].as<std::int64_t>(), .chain = rows[first][1].c_str()};
  }
  std::vector<Step> steps = read_steps(tx, base, head);
  for (const ChangeRow& change : changes) {
    if (change.revision > base.revision) note(change, steps, base.revision);
  }
  History history(base);
  for (Step& step : steps) history.append(std::move(step));
  return history;
}

// Reads the present rows of these keys.
pqxx::result read_rows(postgres::Transaction& tx, Kind kind, const std::vector<const store::ObjectKey*>& keys) {
  std::vector<std::string> tenants;
  std::vector<std::string> ids;
  for (const store::ObjectKey* key : keys) {
    tenants.push_back(key->tenant_id);
    ids.push_back(key->id);
  }
  return tx.exec(columns(kind) +
                     " JOIN (SELECT DISTINCT * FROM unnest($1::text[], $2::text[]) AS k (tenant_id, id)) k "
                     "ON t.tenant_id = k.tenant_id AND t.id = k.id",
                 postgres::text_array(tenants), postgres::text_array(ids));
}

using KeysOfKind = std::map<Kind, std::vector<const store::ObjectKey*>>;

// Reads the changed agent tokens into the state.
void renew_tokens(postgres::Transaction& tx, const KeysOfKind& keys, World& world) {
  const auto touched = keys.find(Kind::agent_token);
  if (touched == keys.end()) return;
  auto tokens = std::make_shared<AgentTokens>(*world.tokens);
  for (const store::ObjectKey* key : touched->second) tokens->erase(key->id);
  for (const auto& row : read_rows(tx, Kind::agent_token, touched->second)) {
    if (auto token = read_token(row)) tokens->insert_or_assign(row[2].c_str(), std::move(token));
  }
  world.tokens = std::move(tokens);
}

// The last revision that changed the bindings of each namespace, including removals and moves to another namespace.
constexpr const char* kBindingChanges = R"(
SELECT namespace, max(revision) FROM (
  SELECT document ->> 'namespace' AS namespace, revision FROM versions WHERE kind = 'binding'
  UNION ALL
  SELECT before.document ->> 'namespace', after.revision FROM versions AS after JOIN versions AS before
    ON (before.kind, before.tenant_id, before.id, before.version, before.organization_id) =
       (after.kind, after.tenant_id, after.id, after.version - 1, after.organization_id)
  WHERE after.kind = 'binding') AS changed
WHERE namespace IS NOT NULL GROUP BY namespace)";

// Reads all bindings at once, because they are few and change rarely.
std::shared_ptr<const identity::Bindings> read_bindings(postgres::Transaction& tx) {
  auto bindings = std::make_shared<identity::Bindings>();
  for (const auto& row : tx.exec_text(columns(Kind::binding))) bindings->add(identity::stored_binding(row[4].c_str()));
  for (const auto& row : tx.exec_text(kBindingChanges)) bindings->changed(row[0].c_str(), row[1].as<std::int64_t>());
  return bindings;
}

// Reads the changed objects into the state, and the owners of changed tenants.
void renew_objects(postgres::Transaction& tx, const KeysOfKind& keys, World& world) {
  std::vector<sluice::sync::Edit> edits;
  std::vector<ObjectId> ids;  // ids of removals; must not reallocate, because edits point into it
  std::size_t most = 0;
  for (const auto& [kind, touched] : keys) most += touched.size();
  ids.reserve(most);
  for (const auto& [kind, touched] : keys) {
    if (!info(kind).to_agents()) continue;
    // Removes all ids first, then adds the objects that still exist: the last edit of an id counts.
    for (const store::ObjectKey* key : touched) {
      ids.push_back(wire_id(kind, key->tenant_id.c_str(), key->id.c_str()));
      edits.push_back(sluice::sync::Edit::removal(ids.back().view()));
    }
    std::shared_ptr<TenantOwners> owners;
    if (kind == Kind::tenant) {
      owners = std::make_shared<TenantOwners>(*world.owners);
      for (const store::ObjectKey* key : touched) owners->erase(key->id);
    }
    for (const auto& row : read_rows(tx, kind, touched)) {
      edits.emplace_back(read_object(kind, row));
      if (owners) owners->insert_or_assign(row[2].c_str(), row[0].c_str());
    }
    if (owners) world.owners = std::move(owners);
  }
  world.objects = world.objects.with(std::move(edits));
}

}  // namespace

World read_world(postgres::Transaction& tx) {
  const pqxx::result at = tx.exec_text("SELECT revision, encode(chain, 'hex') FROM revision");
  World world(read_history(tx, {.revision = at[0][0].as<std::int64_t>(), .chain = at[0][1].c_str()}));
  std::vector<sluice::sync::Edit> edits;
  auto owners = std::make_shared<TenantOwners>();
  for (const Kind kind : kAllKinds) {
    if (!info(kind).to_agents()) continue;
    for (const auto& row : tx.exec_text(columns(kind))) {
      edits.emplace_back(read_object(kind, row));
      if (kind == Kind::tenant) owners->emplace(row[2].c_str(), row[0].c_str());
    }
  }
  auto tokens = std::make_shared<AgentTokens>();
  for (const auto& row : tx.exec_text(columns(Kind::agent_token))) {
    if (auto token = read_token(row)) tokens->emplace(row[2].c_str(), std::move(token));
  }
  world.objects = sluice::sync::ObjectSet().with(std::move(edits));
  world.owners = std::move(owners);
  world.tokens = std::move(tokens);
  world.bindings = read_bindings(tx);
  return world;
}

Followed follow(postgres::Transaction& tx, const World& before) {
  const sluice::sync::Position& from = before.head();
  const pqxx::result rows = tx.exec(
      "SELECT r.revision, encode(r.chain, 'hex'), encode(mine.chain, 'hex') FROM revision r LEFT JOIN revisions mine "
      "ON "
      "mine.revision = $1",
      from.revision);
  const sluice::sync::Position head{.revision = rows[0][0].as<std::int64_t>(), .chain = rows[0][1].c_str()};
  if (head == from) return {.course = Course::same, .world = before, .revisions = 0};
  const std::int64_t revisions = head.revision - from.revision;
  // The chain shows whether the database was set back, even if it has grown past the old revision since.
  const bool ours = revisions > 0 && !rows[0][2].is_null() && from.chain == rows[0][2].c_str();
  if (!ours || revisions > static_cast<std::int64_t>(History::kMostSteps)) {
    return {.course = Course::broken, .world = before, .revisions = 0};
  }
  std::vector<Step> steps = read_steps(tx, from, head);
  const std::vector<ChangeRow> changes = read_changes(tx, from.revision, History::kMostTouched);
  if (changes.size() == History::kMostTouched) return {.course = Course::broken, .world = before, .revisions = 0};
  KeysOfKind keys;
  for (const ChangeRow& change : changes) {
    note(change, steps, from.revision);
    keys[change.kind].push_back(&change.key);
  }
  Followed followed{.course = Course::moved, .world = before, .revisions = revisions};
  renew_tokens(tx, keys, followed.world);
  if (keys.contains(Kind::binding)) followed.world.bindings = read_bindings(tx);
  renew_objects(tx, keys, followed.world);
  for (Step& step : steps) followed.world.history.append(std::move(step));
  return followed;
}

}  // namespace sluice::server::sync
