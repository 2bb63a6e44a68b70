// A cache of tenants' policies as agents compile them, for `explain`. Compiling 100,000 policies takes a second, so a
// snapshot is kept until its tenant changes.
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
  static constexpr std::size_t kTenants = 16;        // kept; the one asked for longest ago goes first
  static constexpr std::size_t kPolicies = 200'000;  // kept, of all together

  // Plans and policies of a tenant at a revision, without keys and overrides.
  // REQUIRES: the transaction sees one state, that of the revision, and the whole tenant.
  std::shared_ptr<const policy::Snapshot> of(postgres::Transaction& tx, const store::StoredObject& tenant,
                                             const store::Revision& revision, std::int64_t now_us);

 private:
  struct Entry {
    std::string tenant_id;
    std::shared_ptr<const policy::Snapshot> snapshot;  // its chain says of which state
  };

  std::shared_ptr<const policy::Snapshot> known(const std::string& tenant_id, const std::string& chain);
  void keep(Entry entry);

  std::mutex mutex_;
  std::list<Entry> entries_;  // the one asked for last comes first
};

}  // namespace sluice::server::admin
