#include "server/admin/tenant_snapshots.hpp"

#include <algorithm>
#include <stdexcept>

#include <fmt/core.h>

#include "common/objects/bundle_json.hpp"
#include "server/admin/bundle_text.hpp"

namespace sluice::server::admin {
namespace {

std::shared_ptr<const policy::Snapshot> compile(postgres::Transaction& tx, const store::StoredObject& tenant,
                                                const store::Revision& revision, std::int64_t now_us,
                                                http::RequestMemory::Share& memory) {
  const std::string text = bundle_text(
      tx, {.organization_id = tenant.organization_id, .tenant_id = tenant.key.id, .keys = false, .overrides = false},
      memory);
  memory.raise_to(http::weight_of_json(text));
  return tx.without_idle_timeout([&] {
    // The objects were checked before they were stored, so a fault here is a bug.
    const auto broken = [&](const Faults& faults) {
      return std::runtime_error(fmt::format("tenant {} cannot be compiled: {}: {}", tenant.key.id,
                                            faults.front().pointer, faults.front().text));
    };
    const auto bundle = parse_bundle(text);
    if (!bundle) throw broken(bundle.error());
    auto built = policy::build_snapshot(*bundle, static_cast<std::uint64_t>(revision.number), now_us, revision.chain);
    if (!built) throw broken(built.error());
    return std::move(*built);
  });
}

}  // namespace

std::shared_ptr<const policy::Snapshot> TenantSnapshots::get(postgres::Transaction& tx,
                                                             const store::StoredObject& tenant,
                                                             const store::Revision& revision, std::int64_t now_us,
                                                             http::RequestMemory::Share& memory) {
  if (auto found = find(tenant.key.id, revision.chain)) return found;
  auto made = compile(tx, tenant, revision, now_us, memory);
  insert({.tenant_id = tenant.key.id, .snapshot = made});
  return made;
}

std::shared_ptr<const policy::Snapshot> TenantSnapshots::find(const std::string& tenant_id, const std::string& chain) {
  const std::scoped_lock lock(mutex_);
  const auto found = std::ranges::find_if(
      entries_, [&](const Entry& entry) { return entry.tenant_id == tenant_id && entry.snapshot->chain == chain; });
  if (found == entries_.end()) return nullptr;
  entries_.splice(entries_.begin(), entries_, found);
  return entries_.front().snapshot;
}

void TenantSnapshots::insert(Entry entry) {
  std::list<Entry> dropped;  // freed without the lock
  const std::scoped_lock lock(mutex_);
  const auto stale = std::ranges::find(entries_, entry.tenant_id, &Entry::tenant_id);
  if (stale != entries_.end()) dropped.splice(dropped.begin(), entries_, stale);
  entries_.push_front(std::move(entry));
  std::size_t policies = 0;
  std::size_t kept = 0;
  auto at = entries_.begin();
  for (; at != entries_.end() && kept < kMaxTenants; ++at, ++kept) {
    policies += at->snapshot->policy_count;
    if (policies > kMaxPolicies) break;
  }
  dropped.splice(dropped.end(), entries_, at, entries_.end());
}

}  // namespace sluice::server::admin
