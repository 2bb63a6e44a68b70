#include "server/counters/marker.hpp"

#include <utility>

#include <fmt/core.h>

#include "common/redis/handshake.hpp"

namespace sluice::server::counters {
namespace {

// These keys cannot collide with counter keys, because every hash tag of a counter key contains a '|'.
std::string marker_key(unsigned number) {
  return number == 0 ? std::string("sl:{marker}") : fmt::format("sl:{{marker:{}}}", number);
}

// The key for the next marker. Both keys have the same hash tag, because RENAME in a Cluster needs them on one node.
std::string next_of(const std::string& marker) { return marker + ":next"; }

struct NodeStatus {
  bool intact = false;  // the marker holds the present run id
  redis::ServerInfo info;
};

Result<NodeStatus> read_node(RedisLink& link, const std::string& key) {
  NodeStatus status;
  for (const char* const section : {"server", "memory"}) {
    const auto text = link.command(key, {"INFO", section});
    if (!text) return std::unexpected(text.error());
    redis::read_info(text->value_or(""), status.info);
  }
  const auto marker = link.command(key, {"GET", key});
  if (!marker) return std::unexpected(marker.error());
  status.intact = *marker && **marker == status.info.run_id;
  return status;
}

}  // namespace

Result<Marker::Status> Marker::read() {
  Status all;
  Error error{"unavailable", "the slots of the Redis Cluster are not known yet"};
  for (std::string& key : link_.key_of_each_node(marker_key)) {
    Result<NodeStatus> node = read_node(link_, key);
    if (!node) {
      all.not_answered.push_back(error = node.error());
      continue;
    }
    if (!node->intact) all.lost.push_back({std::move(key), std::move(node->info.run_id)});
    if (all.maxmemory_policy.empty() || all.maxmemory_policy == "noeviction") {
      all.maxmemory_policy = std::move(node->info.maxmemory_policy);
    }
  }
  if (all.maxmemory_policy.empty()) return std::unexpected(std::move(error));
  return all;
}

Result<> Marker::begin(const Status& status) {
  for (const Lost& each : status.lost) {
    const auto set = link_.command(each.key, {"SET", next_of(each.key), each.run_id});
    if (!set) return std::unexpected(set.error());
  }
  return {};
}

Result<> Marker::end(const Status& status) {
  for (const Lost& each : status.lost) {
    const auto renamed = link_.command(each.key, {"RENAME", next_of(each.key), each.key});
    if (!renamed) return std::unexpected(renamed.error());
  }
  return {};
}

}  // namespace sluice::server::counters
