#include "server/counters/marker.hpp"

#include "common/redis/handshake.hpp"

namespace sluice::server::counters {
namespace {

// These keys cannot collide with counter keys, because every hash tag of a counter key contains a '|'. Both have the
// same hash tag, because RENAME in a cluster needs both keys on one node.
constexpr const char* kMarker = "sl:{marker}";
constexpr const char* kNext = "sl:{marker}:next";

}  // namespace

Result<Marker::Status> Marker::read() {
  redis::ServerInfo info;
  for (const char* const section : {"server", "memory"}) {
    const auto text = link_.command({"INFO", section});
    if (!text) return std::unexpected(text.error());
    redis::read_info(text->value_or(""), info);
  }
  const auto marker = link_.command({"GET", kMarker});
  if (!marker) return std::unexpected(marker.error());
  return Status{
      .intact = *marker && **marker == info.run_id, .run_id = info.run_id, .maxmemory_policy = info.maxmemory_policy};
}

Result<> Marker::begin(const Status& status) {
  const auto set = link_.command({"SET", kNext, status.run_id});
  if (!set) return std::unexpected(set.error());
  return {};
}

Result<> Marker::end() {
  const auto renamed = link_.command({"RENAME", kNext, kMarker});
  if (!renamed) return std::unexpected(renamed.error());
  return {};
}

}  // namespace sluice::server::counters
