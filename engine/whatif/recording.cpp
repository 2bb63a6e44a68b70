#include "engine/whatif/recording.hpp"

#include <algorithm>
#include <functional>

namespace sluice::whatif {

Recording::Recording(std::size_t workers, std::size_t bytes) {
  for (std::size_t i = 0; i < workers; ++i) rings_.emplace_back(bytes / workers);
}

void Recording::note_tenants(const policy::Snapshot& snapshot, std::int64_t now_us) {
  std::map<std::string, std::int64_t, std::less<>> recorded;
  const std::lock_guard lock(mutex_);
  snapshot.tenants.for_each([&](const auto& view) {
    if (!view->tenant.record_requests) return;
    const auto before = recorded_since_us_.find(view->tenant.id);
    recorded.emplace(view->tenant.id, before == recorded_since_us_.end() ? now_us : before->second);
  });
  recorded_since_us_ = std::move(recorded);
}

std::optional<RecordedChecks> Recording::of(std::string_view tenant_id, std::int64_t from_us,
                                            std::int64_t to_us) const {
  RecordedChecks checks;
  {
    const std::lock_guard lock(mutex_);
    const auto since = recorded_since_us_.find(tenant_id);
    if (since == recorded_since_us_.end()) return std::nullopt;
    checks.complete_since_us = since->second;
  }
  const std::uint64_t tenant = policy::hash_of_id(tenant_id);
  for (const RequestRing& ring : rings_) {
    // The copy comes first: what falls out meanwhile counts as fallen, although it may have been copied.
    ring.copy(tenant, from_us, to_us, checks.memory.emplace_back());
    const Fallen fallen = ring.fallen(tenant, from_us, to_us);
    checks.fallen += fallen.requests;
    if (fallen.newest_us != INT64_MIN)
      checks.complete_since_us = std::max(checks.complete_since_us, fallen.newest_us + 1);
  }
  for (const std::vector<char>& memory : checks.memory) {
    for (std::size_t at = 0; at < memory.size(); at += read_head(memory.data() + at).bytes) {
      checks.records.push_back(memory.data() + at);
    }
  }
  // Of the same microsecond, the checks of one worker keep their order: they lie in it.
  std::ranges::sort(checks.records, [](const char* a, const char* b) {
    const std::int64_t a_us = read_head(a).at_us, b_us = read_head(b).at_us;
    return a_us != b_us ? a_us < b_us : std::less<>()(a, b);
  });
  return checks;
}

}  // namespace sluice::whatif
