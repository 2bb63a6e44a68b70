#include "server/counters/publication.hpp"

#include <iterator>
#include <map>
#include <optional>
#include <set>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <pqxx/pqxx>

namespace sluice::server::counters {
namespace {

using Ids = std::set<std::string>;

std::string array(const Ids& ids) { return postgres::text_array({ids.begin(), ids.end()}); }

void add_unless_empty(Ids& ids, const char* id) {
  if (*id != '\0') ids.insert(id);
}

// Policies and plans to load besides those that the overrides name.
struct ToLoad {
  Ids policies;
  Ids plans;
  bool all_on_plans = false;  // load every policy whose plan has overrides
  bool resets = false;        // load the rules even if there are no overrides, because a counter is reset
};

// Compiles the live (unexpired) overrides of the identities, with their policies and plans. Returns nullptr if there
// are no live overrides, and no counter is reset.
RulesPtr load_rules(postgres::Transaction& tx, const TenantIdentities& identities, ToLoad to_load, std::int64_t now_us,
                    std::span<const RulesPtr> known = {}) {
  const auto tenant = store::find(tx, Kind::tenant, identities.tenant_id, identities.tenant_id);
  RulesBuilder rules(identities.organization_id, identities.tenant_id,
                     tenant ? trailing_slash_of(tenant->document) : TrailingSlash::distinct);
  const pqxx::result overrides = tx.exec(
      "SELECT document, coalesce(policy_id, ''), coalesce(plan_id, ''), id FROM overrides WHERE tenant_id = $1 AND "
      "identity_hash = ANY ($2::bigint[]) AND (expires_at IS NULL OR expires_at > now())",
      identities.tenant_id, fmt::format("{{{}}}", fmt::join(identities.hashes, ",")));
  Ids plans_with_overrides;
  for (const auto& row : overrides) {
    add_unless_empty(to_load.policies, row[1].c_str());
    add_unless_empty(plans_with_overrides, row[2].c_str());
  }
  for (const auto& row : tx.exec(
           "SELECT id, document, coalesce(plan_id, '') FROM policies WHERE tenant_id = $1 AND (id = ANY ($2::text[]) "
           "OR plan_id = ANY ($3::text[]))",
           identities.tenant_id, array(to_load.policies), array(to_load.all_on_plans ? plans_with_overrides : Ids()))) {
    rules.add_policy(row[0].c_str(), row[1].c_str());
    add_unless_empty(to_load.plans, row[2].c_str());
  }
  to_load.plans.merge(plans_with_overrides);
  for (const auto& row : tx.exec("SELECT id, document FROM plans WHERE tenant_id = $1 AND id = ANY ($2::text[])",
                                 identities.tenant_id, array(to_load.plans))) {
    rules.add_plan(row[0].c_str(), row[1].c_str());
  }
  for (const auto& row : overrides) rules.add_override(row[3].c_str(), row[0].c_str());
  if (!to_load.resets && !rules.has_overrides()) return nullptr;
  return rules.build(now_us, known);
}

// The Redis keys of the counter's collections, which a reset deletes too. Empty if the rules no longer contain the
// counter.
std::vector<std::string> collections_of(const Rules& rules, const CounterRef& counter) {
  const policy::Rulebook* const rulebook = rules.find(counter.policy_id, counter.plan_id);
  if (rulebook == nullptr) return {};
  const Identity identity = parse_identity(counter.identity);
  for (std::size_t g = 0; g < rulebook->program->groups.size(); ++g) {
    if (rules.key_of(*rulebook, g, identity) != counter.counter_key) continue;
    return limiter::collection_keys(*rulebook->program, g, counter.counter_key);
  }
  return {};
}

// After a fault that concerns one key, other keys can still be written. Redis does not execute the failed write later.
bool concerns_one_key(limiter::StoreFault fault) {
  using limiter::StoreFault;
  return fault == StoreFault::wrong_type || fault == StoreFault::script || fault == StoreFault::cluster_down;
}

// `counters[i]` is the counter of `writes[i]`. Returns for each write whether it succeeded.
std::vector<bool> write_all(RedisLink& link, const std::vector<KeyWrite>& writes,
                            const std::vector<const CounterRef*>& counters, Published& out) {
  std::vector<bool> written;
  const auto results = link.write(writes);
  for (std::size_t i = 0; i < results.size(); ++i) {
    written.push_back(results[i].has_value());
    if (results[i]) {
      ++out.written;
      continue;
    }
    ++out.failed;
    const limiter::StoreError& error = results[i].error();
    if (concerns_one_key(error.fault)) continue;
    out.unreachable = out.unreachable || !link.has_several_nodes() || !link.ready();
    if (error.executed_unknown) out.uncertain.push_back(*counters[i]);
  }
  return written;
}

}  // namespace

void Published::add(Published more) {
  written += more.written;
  failed += more.failed;
  unreachable = unreachable || more.unreachable;
  std::ranges::move(more.uncertain, std::back_inserter(uncertain));
}

Published publish_waiting(postgres::Transaction& tx, RedisLink& link, const TenantIdentities& identities,
                          std::int64_t now_us, std::span<const RulesPtr> known) {
  const std::vector<OutboxRow> rows = waiting_rows(tx, identities);
  Published out;
  if (rows.empty()) return out;
  ToLoad to_load;
  for (const OutboxRow& row : rows) {
    add_unless_empty(to_load.policies, row.counter.policy_id.c_str());
    add_unless_empty(to_load.plans, row.counter.plan_id.c_str());
    to_load.resets = to_load.resets || row.counter.reset;
  }
  const RulesPtr rules = load_rules(tx, identities, std::move(to_load), now_us, known);
  std::map<std::string_view, const std::vector<limiter::OverrideEntry>*> live;
  if (rules != nullptr) {
    for (const policy::KeyOverrides& key : rules->overrides()) live.emplace(key.counter_key, &key.entries);
  }

  std::vector<KeyWrite> writes;
  std::vector<const CounterRef*> counters;
  std::map<std::pair<std::string_view, bool>, std::size_t> index;  // in `writes`, by counter key and reset
  for (const OutboxRow& row : rows) {
    const CounterRef& counter = row.counter;
    if (!index.try_emplace({counter.counter_key, counter.reset}, writes.size()).second) continue;
    KeyWrite& write = writes.emplace_back();
    write.counter_key = counter.counter_key;
    write.reset = counter.reset;
    counters.push_back(&counter);
    if (counter.reset) {
      write.collections = collections_of(*rules, counter);
    } else if (const auto found = live.find(counter.counter_key); found != live.end()) {
      write.overrides = *found->second;
    }
  }
  const std::vector<bool> written = write_all(link, writes, counters, out);
  std::vector<std::int64_t> done;
  for (const OutboxRow& row : rows) {
    if (written[index.at({row.counter.counter_key, row.counter.reset})]) done.push_back(row.seq);
  }
  remove(tx, done);
  return out;
}

Published publish_live(postgres::Transaction& tx, RedisLink& link, const TenantIdentities& identities,
                       std::int64_t now_us) {
  const RulesPtr rules = load_rules(tx, identities, {.policies = {}, .plans = {}, .all_on_plans = true}, now_us);
  if (rules == nullptr) return {};
  std::vector<KeyWrite> writes;
  std::vector<CounterRef> refs;
  for (const policy::KeyOverrides& key : rules->overrides()) {
    writes.push_back({.counter_key = key.counter_key, .overrides = key.entries, .reset = false, .collections = {}});
    refs.push_back(rules->ref_of(key));
  }
  std::vector<const CounterRef*> counters;
  for (const CounterRef& counter : refs) counters.push_back(&counter);
  Published out;
  const std::vector<bool> written = write_all(link, writes, counters, out);
  std::vector<CounterRef> failed;
  for (std::size_t i = 0; i < written.size(); ++i) {
    if (!written[i]) failed.push_back(std::move(refs[i]));
  }
  if (!out.unreachable) enqueue(tx, failed);  // if Redis is unreachable, everything is published again anyway
  return out;
}

std::vector<TenantIdentities> tenants_with_overrides(postgres::Transaction& tx) {
  std::vector<TenantIdentities> found;
  for (const auto& row : tx.exec_text("SELECT DISTINCT tenant_id, organization_id FROM overrides ORDER BY tenant_id")) {
    found.push_back({.organization_id = row[1].c_str(), .tenant_id = row[0].c_str(), .hashes = {}});
  }
  return found;
}

void read_live_identities(postgres::Transaction& tx, TenantIdentities& tenant) {
  tenant.hashes.clear();
  for (const auto& row :
       tx.exec("SELECT DISTINCT identity_hash FROM overrides WHERE tenant_id = $1 AND (expires_at IS NULL "
               "OR expires_at > now()) ORDER BY identity_hash",
               tenant.tenant_id)) {
    tenant.hashes.push_back(row[0].as<std::int64_t>());
  }
}

}  // namespace sluice::server::counters
