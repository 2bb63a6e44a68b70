#include "server/counters/outbox.hpp"

#include <algorithm>
#include <map>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <pqxx/pqxx>

namespace sluice::server::counters {
namespace {

// SQL for the number of an identity's advisory lock. $1: the tenant. `hash`: one of TenantIdentities::hashes. Two
// identities with equal numbers share a lock, which only costs waiting time.
constexpr std::string_view kLockNumber = "hash # hashtextextended($1, 1)";

std::string number_array(const std::vector<std::int64_t>& numbers) {
  return fmt::format("{{{}}}", fmt::join(numbers, ","));
}

// The columns of `rows` are tenant_id, organization_id and hash.
std::vector<TenantIdentities> by_tenant(const pqxx::result& rows) {
  std::map<std::string, TenantIdentities> found;
  for (const auto& row : rows) {
    TenantIdentities& identities = found[row[0].c_str()];
    identities.tenant_id = row[0].c_str();
    identities.organization_id = row[1].c_str();
    identities.hashes.push_back(row[2].as<std::int64_t>());
  }
  std::vector<TenantIdentities> all;
  for (auto& [tenant, identities] : found) all.push_back(std::move(identities));
  return all;
}

}  // namespace

void enqueue(postgres::Transaction& tx, std::span<const CounterRef> counters) {
  if (counters.empty()) return;
  std::vector<std::string> columns[7];
  for (const CounterRef& counter : counters) {
    std::size_t column = 0;
    for (const std::string& text :
         {counter.organization_id, counter.tenant_id, counter.policy_id, counter.plan_id, counter.identity,
          counter.counter_key, std::string(counter.reset ? "true" : "false")}) {
      columns[column++].push_back(text);
    }
  }
  tx.exec(
      "INSERT INTO outbox (organization_id, tenant_id, policy_id, plan_id, identity, state_key, reset) SELECT * FROM "
      "unnest($1::text[], $2::text[], $3::text[], $4::text[], $5::text[], $6::text[], $7::boolean[])",
      postgres::text_array(columns[0]), postgres::text_array(columns[1]), postgres::text_array(columns[2]),
      postgres::text_array(columns[3]), postgres::text_array(columns[4]), postgres::text_array(columns[5]),
      postgres::text_array(columns[6]));
}

std::vector<TenantIdentities> identities_of(postgres::Transaction& tx, std::span<const CounterRef> counters) {
  std::vector<std::string> organizations;
  std::vector<std::string> tenants;
  std::vector<std::string> identities;
  for (const CounterRef& counter : counters) {
    organizations.push_back(counter.organization_id);
    tenants.push_back(counter.tenant_id);
    identities.push_back(counter.identity);
  }
  return by_tenant(
      tx.exec("SELECT DISTINCT tenant, organization, hashtextextended(identity, 0) FROM unnest($1::text[], $2::text[], "
              "$3::text[]) AS c (tenant, organization, identity)",
              postgres::text_array(tenants), postgres::text_array(organizations), postgres::text_array(identities)));
}

std::vector<TenantIdentities> waiting_identities(postgres::Transaction& tx, std::int64_t& seq, std::size_t limit) {
  const pqxx::result rows = tx.exec(
      fmt::format(
          "SELECT tenant_id, organization_id, identity_hash, max(seq) FROM (SELECT * FROM outbox WHERE seq > $1 "
          "ORDER BY seq LIMIT {}) oldest GROUP BY 1, 2, 3",
          limit),
      seq);
  for (const auto& row : rows) seq = std::max(seq, row[3].as<std::int64_t>());
  return by_tenant(rows);
}

// Takes the locks in ascending order, so that two publishers cannot deadlock.
void lock(postgres::Transaction& tx, const TenantIdentities& identities) {
  tx.exec(
      fmt::format("SELECT pg_advisory_xact_lock(number) FROM (SELECT DISTINCT {} AS number FROM unnest($2::bigint[]) "
                  "AS i (hash) ORDER BY number) n",
                  kLockNumber),
      identities.tenant_id, number_array(identities.hashes));
}

void try_lock(postgres::Transaction& tx, TenantIdentities& identities) {
  const pqxx::result rows = tx.exec(
      fmt::format("SELECT hash FROM unnest($2::bigint[]) AS i (hash) WHERE pg_try_advisory_xact_lock({})", kLockNumber),
      identities.tenant_id, number_array(identities.hashes));
  identities.hashes.clear();
  for (const auto& row : rows) identities.hashes.push_back(row[0].as<std::int64_t>());
}

std::vector<OutboxRow> waiting_rows(postgres::Transaction& tx, const TenantIdentities& identities) {
  std::vector<OutboxRow> found;
  for (const auto& row :
       tx.exec("SELECT seq, organization_id, tenant_id, policy_id, plan_id, identity, state_key, reset "
               "FROM outbox WHERE tenant_id = $1 AND identity_hash = ANY ($2::bigint[]) ORDER BY seq",
               identities.tenant_id, number_array(identities.hashes))) {
    found.push_back({.seq = row[0].as<std::int64_t>(),
                     .counter = {.organization_id = row[1].c_str(),
                                 .tenant_id = row[2].c_str(),
                                 .policy_id = row[3].c_str(),
                                 .plan_id = row[4].c_str(),
                                 .identity = row[5].c_str(),
                                 .counter_key = row[6].c_str(),
                                 .reset = row[7].as<bool>()}});
  }
  return found;
}

void remove(postgres::Transaction& tx, const std::vector<std::int64_t>& seqs) {
  if (!seqs.empty()) tx.exec("DELETE FROM outbox WHERE seq = ANY ($1::bigint[])", number_array(seqs));
}

std::int64_t count_waiting(postgres::Transaction& tx) {
  return tx.exec_text("SELECT count(*) FROM outbox")[0][0].as<std::int64_t>();
}

std::set<std::pair<std::string, std::string>> unpublished(postgres::Transaction& tx,
                                                          std::span<const store::StoredObject> overrides) {
  std::vector<std::string> tenants;
  std::vector<std::string> ids;
  for (const store::StoredObject& item : overrides) {
    tenants.push_back(item.key.tenant_id);
    ids.push_back(item.key.id);
  }
  const pqxx::result rows = tx.exec(
      "SELECT DISTINCT o.tenant_id, o.id FROM unnest($1::text[], $2::text[]) AS asked (tenant_id, id) "
      "JOIN overrides o USING (tenant_id, id) JOIN outbox w USING (tenant_id, identity_hash) "
      "WHERE NOT w.reset AND (w.policy_id = o.policy_id OR w.plan_id = o.plan_id)",
      postgres::text_array(tenants), postgres::text_array(ids));
  std::set<std::pair<std::string, std::string>> found;
  for (const auto& row : rows) found.emplace(row[0].c_str(), row[1].c_str());
  return found;
}

}  // namespace sluice::server::counters
