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

// Returns a list in SQL.
std::string followed_kinds() {
  std::string names = fmt::format("'{}','{}','{}','{}'", info(Kind::token).name, info(Kind::agent_token).name,
                                  info(Kind::binding).name, info(Kind::quota).name);
  for (const Kind kind : kAllKinds) {
    if (info(kind).to_agents()) names += fmt::format(",'{}'", info(kind).name);
  }
  return names;
}

// In PostgreSQL, the settings have the id 'global', and a tenant has its own id as tenant_id. For agents, both are "".
ObjectId wire_id(Kind kind, const char* tenant_id, const char* id) {
  return {.kind = kind, .tenant_id = info(kind).in_tenant() ? tenant_id : "", .id = kind == Kind::setting ? "" : id};
}

std::string columns(Kind kind) {
  return fmt::format("SELECT t.organization_id, t.tenant_id, t.id, t.version, t.document{} FROM {} t",
                     kind == Kind::token || kind == Kind::agent_token ? ", t.secret_hash" : "", info(kind).table());
}

sluice::sync::ObjectPtr read_object(Kind kind, const pqxx::row& row) {
  return sluice::sync::make_object(wire_id(kind, row[1].c_str(), row[2].c_str()).view(),
                                   store::bundle_document(kind, row[3].as<std::int64_t>(), row[4].c_str()));
}

// nullptr: the hash is unreadable, so the token gives no access.
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

// nullptr: the hash is unreadable, so the token gives no access.
std::shared_ptr<const auth::KnownToken> read_admin_token(const pqxx::row& row) {
  const auto hash = parse_key_hash(row[5].c_str());
  if (!hash) return nullptr;
  return std::make_shared<const auth::KnownToken>(
      auth::KnownToken{.document = auth::stored_token(row[4].c_str(), auth::TokenType::admin), .hash = *hash});
}

// The result lacks the changed objects: note() adds them.
std::vector<RevisionChanges> read_revisions(postgres::Transaction& tx, const sluice::sync::Position& from,
                                            const sluice::sync::Position& head) {
  std::vector<RevisionChanges> by_revision;
  for (std::int64_t revision = from.revision + 1; revision <= head.revision; ++revision) {
    by_revision.push_back({.at = {.revision = revision, .chain = {}}, .objects = {}});
  }
  const auto changes_of = [&](const pqxx::field& revision) -> RevisionChanges& {
    return by_revision[static_cast<std::size_t>(revision.as<std::int64_t>() - from.revision - 1)];
  };
  for (const auto& row : tx.exec(
           "SELECT revision, encode(chain, 'hex'), traceparent FROM revisions WHERE revision > $1", from.revision)) {
    RevisionChanges& changes = changes_of(row[0]);
    changes.at.chain = row[1].c_str();
    if (!row[2].is_null()) changes.traceparent = row[2].c_str();
  }
  // Servers of an earlier schema write no row into `revisions`, so a revision may lack its chain.
  if (!by_revision.empty()) by_revision.back().at.chain = head.chain;
  return by_revision;
}

struct ChangeRow {
  std::int64_t revision = 0;
  ObjectId key;  // as the tables hold it; wire_id() gives the form for agents
  std::string organization_id;
};

// Reads the newest changes after a revision, at most `most`. Returns the oldest first.
std::vector<ChangeRow> read_changes(postgres::Transaction& tx, std::int64_t after, std::size_t most) {
  static const std::string kChanges = fmt::format(
      "SELECT revision, kind, organization_id, tenant_id, id FROM changes WHERE revision > $1 AND kind IN ({}) "
      "ORDER BY revision DESC, ordinal DESC LIMIT $2",
      followed_kinds());
  std::vector<ChangeRow> changes;
  for (const auto& row : tx.exec(kChanges, after, most)) {
    changes.push_back({.revision = row[0].as<std::int64_t>(),
                       .key = {*kind_from(row[1].c_str()), row[3].c_str(), row[4].c_str()},
                       .organization_id = row[2].c_str()});
  }
  std::ranges::reverse(changes);
  return changes;
}

// `from`: the revision before the first one of `by_revision`.
void note(const ChangeRow& change, std::vector<RevisionChanges>& by_revision, std::int64_t from) {
  if (!info(change.key.kind).to_agents()) return;
  by_revision[static_cast<std::size_t>(change.revision - from - 1)].objects.push_back(
      {.id = wire_id(change.key.kind, change.key.tenant_id.c_str(), change.key.id.c_str()),
       .organization_id = change.organization_id});
}

// The history begins after the latest gap in the table `revisions`.
History read_history(postgres::Transaction& tx, const sluice::sync::Position& head) {
  std::int64_t from = std::max<std::int64_t>(0, head.revision - kRecentRevisions);
  const std::vector<ChangeRow> changes = read_changes(tx, from, History::kMaxObjects);
  // kMaxObjects may have cut off changes of the oldest revision, so the history begins after that revision.
  if (changes.size() == History::kMaxObjects) from = changes.front().revision;
  const pqxx::result rows =
      tx.exec("SELECT revision, encode(chain, 'hex') FROM revisions WHERE revision >= $1 ORDER BY revision", from);
  sluice::sync::Position base = head;
  if (!rows.empty() && rows[rows.size() - 1][0].as<std::int64_t>() == head.revision) {
    auto first = rows.size() - 1;
    while (first > 0 && rows[first - 1][0].as<std::int64_t>() + 1 == rows[first][0].as<std::int64_t>()) --first;
    base = {.revision = rows[first][0].as<std::int64_t>(), .chain = rows[first][1].c_str()};
  }
  std::vector<RevisionChanges> by_revision = read_revisions(tx, base, head);
  for (const ChangeRow& change : changes) {
    if (change.revision > base.revision) note(change, by_revision, base.revision);
  }
  History history(base);
  for (RevisionChanges& revision : by_revision) history.append(std::move(revision));
  return history;
}

pqxx::result read_rows(postgres::Transaction& tx, Kind kind, const std::vector<const ObjectId*>& keys) {
  std::vector<std::string> tenants;
  std::vector<std::string> ids;
  for (const ObjectId* key : keys) {
    tenants.push_back(key->tenant_id);
    ids.push_back(key->id);
  }
  return tx.exec(columns(kind) +
                     " JOIN (SELECT DISTINCT * FROM unnest($1::text[], $2::text[]) AS k (tenant_id, id)) k "
                     "ON t.tenant_id = k.tenant_id AND t.id = k.id",
                 postgres::text_array(tenants), postgres::text_array(ids));
}

using KeysOfKind = std::map<Kind, std::vector<const ObjectId*>>;

// Returns `before` with the present form of the tokens that changed. `read` reads a token from its row.
template <class Tokens, class Read>
std::shared_ptr<const Tokens> renewed_tokens(postgres::Transaction& tx, Kind kind, const KeysOfKind& keys,
                                             std::shared_ptr<const Tokens> before, Read read) {
  const auto touched = keys.find(kind);
  if (touched == keys.end()) return before;
  auto tokens = std::make_shared<Tokens>(*before);
  for (const ObjectId* key : touched->second) tokens->erase(key->id);
  for (const auto& row : read_rows(tx, kind, touched->second)) {
    if (auto token = read(row)) tokens->insert_or_assign(row[2].c_str(), std::move(token));
  }
  return tokens;
}

// `read` reads a token from its row.
template <class Tokens, class Read>
std::shared_ptr<const Tokens> all_tokens(postgres::Transaction& tx, Kind kind, Read read) {
  auto tokens = std::make_shared<Tokens>();
  for (const auto& row : tx.exec_text(columns(kind))) {
    if (auto token = read(row)) tokens->emplace(row[2].c_str(), std::move(token));
  }
  return tokens;
}

void read_quotas(const pqxx::result& rows, auth::KnownQuotas& quotas) {
  for (const auto& row : rows) quotas.set(row[1].c_str(), row[2].c_str(), row[4].c_str());
}

// Returns `before` with the present form of the quotas that changed.
auth::KnownQuotasPtr renewed_quotas(postgres::Transaction& tx, const KeysOfKind& keys, auth::KnownQuotasPtr before) {
  const auto touched = keys.find(Kind::quota);
  if (touched == keys.end()) return before;
  auto quotas = std::make_shared<auth::KnownQuotas>(*before);
  for (const ObjectId* key : touched->second) quotas->erase(key->tenant_id, key->id);
  read_quotas(read_rows(tx, Kind::quota, touched->second), *quotas);
  return quotas;
}

auth::KnownQuotasPtr all_quotas(postgres::Transaction& tx) {
  auto quotas = std::make_shared<auth::KnownQuotas>();
  read_quotas(tx.exec_text(columns(Kind::quota)), *quotas);
  return quotas;
}

// For each namespace, the last revision that changed its bindings. Moving a binding to another namespace changes both
// namespaces.
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
  for (const auto& row : tx.exec_text(columns(Kind::binding)))
    bindings->add(identity::read_stored_binding(row[4].c_str()));
  for (const auto& row : tx.exec_text(kBindingChanges))
    bindings->set_changed_at(row[0].c_str(), row[1].as<std::int64_t>());
  return bindings;
}

void renew_objects(postgres::Transaction& tx, const KeysOfKind& keys, SyncState& state) {
  std::vector<sluice::sync::Edit> edits;
  std::vector<ObjectId> ids;  // must not reallocate, because `edits` points into it
  std::size_t most = 0;
  for (const auto& [kind, touched] : keys) most += touched.size();
  ids.reserve(most);
  for (const auto& [kind, touched] : keys) {
    if (!info(kind).to_agents()) continue;
    // The last edit of an id counts, so objects that still exist are added after all removals.
    for (const ObjectId* key : touched) {
      ids.push_back(wire_id(kind, key->tenant_id.c_str(), key->id.c_str()));
      edits.push_back(sluice::sync::Edit::removal(ids.back().view()));
    }
    std::shared_ptr<TenantOwners> owners;
    if (kind == Kind::tenant) {
      owners = std::make_shared<TenantOwners>(*state.owners);
      for (const ObjectId* key : touched) owners->erase(key->id);
    }
    for (const auto& row : read_rows(tx, kind, touched)) {
      edits.emplace_back(read_object(kind, row));
      if (owners) owners->insert_or_assign(row[2].c_str(), row[0].c_str());
    }
    if (owners) state.owners = std::move(owners);
  }
  state.objects = state.objects.with(std::move(edits));
}

}  // namespace

SyncState read_full(postgres::Transaction& tx) {
  const pqxx::result at = tx.exec_text("SELECT revision, encode(chain, 'hex') FROM revision");
  SyncState state(read_history(tx, {.revision = at[0][0].as<std::int64_t>(), .chain = at[0][1].c_str()}));
  std::vector<sluice::sync::Edit> edits;
  auto owners = std::make_shared<TenantOwners>();
  for (const Kind kind : kAllKinds) {
    if (!info(kind).to_agents()) continue;
    for (const auto& row : tx.exec_text(columns(kind))) {
      edits.emplace_back(read_object(kind, row));
      if (kind == Kind::tenant) owners->emplace(row[2].c_str(), row[0].c_str());
    }
  }
  state.objects = sluice::sync::ObjectSet().with(std::move(edits));
  state.owners = std::move(owners);
  state.tokens = all_tokens<AgentTokens>(tx, Kind::agent_token, read_token);
  state.admin_tokens = all_tokens<auth::KnownTokens>(tx, Kind::token, read_admin_token);
  state.quotas = all_quotas(tx);
  state.bindings = read_bindings(tx);
  return state;
}

Advance read_next(postgres::Transaction& tx, const SyncState& before, PublishSpans& published) {
  const sluice::sync::Position& from = before.head();
  const pqxx::result rows = tx.exec(
      "SELECT r.revision, encode(r.chain, 'hex'), encode(mine.chain, 'hex') FROM revision r LEFT JOIN revisions mine "
      "ON "
      "mine.revision = $1",
      from.revision);
  const sluice::sync::Position head{.revision = rows[0][0].as<std::int64_t>(), .chain = rows[0][1].c_str()};
  if (head == from) return {.progress = Progress::unchanged, .state = before, .revisions = 0};
  const std::int64_t revisions = head.revision - from.revision;
  // The chain shows whether a backup was restored, even if new writes have since reached later revisions than `from`.
  const bool same_history = revisions > 0 && !rows[0][2].is_null() && from.chain == rows[0][2].c_str();
  if (!same_history || revisions > static_cast<std::int64_t>(History::kMaxRevisions)) {
    return {.progress = Progress::diverged, .state = before, .revisions = 0};
  }
  std::vector<RevisionChanges> by_revision = read_revisions(tx, from, head);
  const std::vector<ChangeRow> changes = read_changes(tx, from.revision, History::kMaxObjects);
  if (changes.size() == History::kMaxObjects) return {.progress = Progress::diverged, .state = before, .revisions = 0};
  KeysOfKind keys;
  for (const ChangeRow& change : changes) {
    note(change, by_revision, from.revision);
    keys[change.key.kind].push_back(&change.key);
  }
  Advance advance{.progress = Progress::advanced, .state = before, .revisions = revisions};
  advance.state.tokens = renewed_tokens(tx, Kind::agent_token, keys, before.tokens, read_token);
  advance.state.admin_tokens = renewed_tokens(tx, Kind::token, keys, before.admin_tokens, read_admin_token);
  advance.state.quotas = renewed_quotas(tx, keys, before.quotas);
  if (keys.contains(Kind::binding)) advance.state.bindings = read_bindings(tx);
  renew_objects(tx, keys, advance.state);
  for (RevisionChanges& revision : by_revision) {
    published.begin(revision);
    advance.state.history.append(std::move(revision));
  }
  return advance;
}

}  // namespace sluice::server::sync
