#include "server/counters/marker.hpp"

#include <utility>

#include <fmt/core.h>

#include "common/redis/handshake.hpp"

namespace sluice::server::counters {

namespace {

// The key that begin() writes, and that end() renames to `marker`. It has the hash tag of `marker`, because RENAME in a
// Cluster needs both keys on one node.
std::string next_of(const std::string& marker) { return marker + ":next"; }

struct NodeStatus {
  std::string marker;  // the marker's value, or ""
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
  status.marker = marker->value_or("");
  return status;
}

}  // namespace

std::string marker_key(unsigned number) {
  return number == 0 ? std::string("sl:{marker}") : fmt::format("sl:{{marker:{}}}", number);
}

Result<Marker::Status> Marker::read() {
  Status all;
  Error error{"unavailable", "the slots of the Redis Cluster are not known yet"};
  const std::map<std::string, std::uint64_t> before = std::exchange(slots_, {});
  for (const RedisLink::NodeKey& each : link_.key_of_each_node(marker_key)) {
    Result<NodeStatus> node = read_node(link_, each.key);
    if (!node) {
      all.not_answered.push_back(error = node.error());
      continue;
    }
    slots_[each.key] = each.slots;
    const std::string& run_id = node->info.run_id;
    std::string value = each.slots == 0 ? run_id : fmt::format("{}:{:016x}", run_id, each.slots);
    // While slots move, their hash differs at every read. One republication after the last move is enough.
    const auto seen = before.find(each.key);
    const bool moving = seen != before.end() && seen->second != each.slots && node->marker.starts_with(run_id);
    if (node->marker != value && !moving) all.lost.push_back({each.key, std::move(value)});
    if (all.maxmemory_policy.empty() || all.maxmemory_policy == "noeviction") {
      all.maxmemory_policy = std::move(node->info.maxmemory_policy);
    }
  }
  if (all.maxmemory_policy.empty()) return std::unexpected(std::move(error));
  return all;
}

Result<> Marker::begin(Status& status) {
  Result<> refused;
  std::erase_if(status.lost, [&](const Lost& each) {
    const auto set = link_.command(each.key, {"SET", next_of(each.key), each.value});
    if (!set) refused = std::unexpected(set.error());
    return !set;
  });
  if (status.lost.empty()) return refused;
  return {};
}

Result<> Marker::end(const Status& status) {
  Result<> lost;
  for (const Lost& each : status.lost) {
    const auto renamed = link_.command(each.key, {"RENAME", next_of(each.key), each.key});
    if (!renamed) lost = std::unexpected(renamed.error());
  }
  return lost;
}

}  // namespace sluice::server::counters
