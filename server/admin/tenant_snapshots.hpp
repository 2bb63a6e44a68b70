// Caches the compiled policies of tenants for POST /v1/admin/explain. Compiling 100,000 policies takes 1 s.
//
// Thread safety: any thread.
#pragma once

#include <cstdint>
#include <list>
#include <memory>
#include <mutex>
#include <string>

#include "common/policy/snapshot.hpp"
#include "server/http/request_memory.hpp"
#include "server/store/change_log.hpp"
#include "server/store/objects.hpp"

namespace sluice::server::admin {

class TenantSnapshots {
 public:
  static constexpr std::size_t kMaxTenants = 16;
  static constexpr std::size_t kMaxPolicies = 200'000;  // in all snapshots together

  // The plans and policies of a tenant, without keys and overrides. REQUIRES: all reads of the transaction see the
  // database at `revision`, and the transaction's scope contains the tenant.
  std::shared_ptr<const policy::Snapshot> get(postgres::Transaction& tx, const store::StoredObject& tenant,
                                              const store::Revision& revision, std::int64_t now_us,
                                              http::RequestMemory::Share& memory);

 private:
  struct Entry {
    std::string tenant_id;
    std::shared_ptr<const policy::Snapshot> snapshot;
  };

  std::shared_ptr<const policy::Snapshot> find(const std::string& tenant_id, const std::string& chain);
  void insert(Entry entry);

  std::mutex mutex_;
  std::list<Entry> entries_;  // the most recently used first
};

}  // namespace sluice::server::admin
