// The recorded checks of all workers: a ring for each, and since when each tenant is recorded.
//
// Thread safety: the rings as request_ring.hpp says; any thread may call the other functions.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "common/policy/snapshot.hpp"
#include "engine/whatif/request_ring.hpp"

namespace sluice::whatif {

// The recorded checks of one tenant and time, of all workers.
struct RecordedChecks {
  std::vector<std::vector<char>> memory;  // of each worker; the records lie here
  std::vector<const char*> records;       // by time
  std::int64_t fallen = 0;                // checks of the asked time that fell out
  std::int64_t complete_since_us = 0;     // nothing is missing from then on
};

class Recording {
 public:
  // The least that `bytes` may be for so many workers.
  static constexpr std::size_t least_bytes(std::size_t workers) { return workers * RequestRing::kMinBytes; }

  // `bytes`: of all rings together.
  Recording(std::size_t workers, std::size_t bytes);

  RequestRing& worker(std::size_t index) { return rings_.at(index); }

  // Another snapshot is in force: which tenants it records, and since when.
  void note_tenants(const policy::Snapshot& snapshot, std::int64_t now_us);

  // nullopt: the policies in force do not ask for a record of this tenant. Takes as much memory again as the tenant's
  // records do.
  std::optional<RecordedChecks> of(std::string_view tenant_id, std::int64_t from_us, std::int64_t to_us) const;

 private:
  std::deque<RequestRing> rings_;  // a ring cannot be moved

  mutable std::mutex mutex_;
  std::map<std::string, std::int64_t, std::less<>> recorded_since_us_;  // by tenant
};

}  // namespace sluice::whatif
