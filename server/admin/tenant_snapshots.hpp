// Caches the compiled policies of tenants, for `explain`. Compiling 100,000 policies takes 1 s, so a snapshot is kept
// until the next revision.
//
// Thread safety: from any thread.
#pragma once

#include <cstdint>
#include <list>
#include <memory>
#include <mutex>
#include <string>

#include "common/policy/snapshot.hpp"
#include "server/store/change_log.hpp"
#include "server/store/objects.hpp"

namespace sluice::server::admin {

class TenantSnapshots {
 public:
  static constexpr std::size_t kMaxTenants = 16;        // kept; the least recently used is dropped first
  static constexpr std::size_t kMaxPolicies = 200'000;  // kept, in all snapshots together

  // The plans and policies of a tenant at a revision, without keys and overrides. REQUIRES: the transaction reads one
  // snapshot of the database, at `revision`, and its scope contains the tenant.
  std::shared_ptr<const policy::Snapshot> get(postgres::Transaction& tx, const store::StoredObject& tenant,
                                              const store::Revision& revision, std::int64_t now_us);

 private:
  struct Entry {
    std::string tenant_id;
    std::shared_ptr<const policy::Snapshot> snapshot;  // its chain names the revision that it was compiled from
  };

  std::shared_ptr<const policy::Snapshot> find(const std::string& tenant_id, const std::string& chain);
  void insert(Entry entry);

  std::mutex mutex_;
  std::list<Entry> entries_;  // the most recently used comes first
};

}  // namespace sluice::server::admin
