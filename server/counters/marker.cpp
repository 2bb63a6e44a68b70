#include "server/counters/marker.hpp"

#include "common/redis/handshake.hpp"

namespace sluice::server::counters {
namespace {

// No tenant's: their tags hold a '|'. One tag, so that RENAME works in a cluster.
constexpr const char* kMarker = "sl:{marker}";
constexpr const char* kNext = "sl:{marker}:next";

}  // namespace

Result<Marker::Look> Marker::look() {
  redis::ServerInfo info;
  for (const char* const section : {"server", "memory"}) {
    const auto text = link_.ask({"INFO", section});
    if (!text) return std::unexpected(text.error());
    redis::read_info(text->value_or(""), info);
  }
  const auto marker = link_.ask({"GET", kMarker});
  if (!marker) return std::unexpected(marker.error());
  return Look{
      .intact = *marker && **marker == info.run_id, .run_id = info.run_id, .maxmemory_policy = info.maxmemory_policy};
}

Result<> Marker::begin(const Look& look) {
  const auto set = link_.ask({"SET", kNext, look.run_id});
  if (!set) return std::unexpected(set.error());
  return {};
}

Result<> Marker::end() {
  const auto renamed = link_.ask({"RENAME", kNext, kMarker});
  if (!renamed) return std::unexpected(renamed.error());
  return {};
}

}  // namespace sluice::server::counters
