// Which node of a Redis Cluster holds which slot, and what MOVED and ASK say. A slot is one of the 16,384 parts into
// which a Cluster divides its keys. Source: Redis Cluster specification,
// https://redis.io/docs/latest/operate/oss_and_stack/reference/cluster-spec/
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "common/base/error.hpp"
#include "common/redis/reply.hpp"
#include "common/redis/target.hpp"

namespace sluice::redis {

inline constexpr std::size_t kSlots = 16'384;

// CRC-16/XMODEM, modulo kSlots, of the key's hash tag (the text between the first '{' and the next '}') or of the whole
// key.
std::uint16_t slot_of(std::string_view key);

class SlotMap {
 public:
  SlotMap() = default;

  // Reads the reply of the node at `asked` to CLUSTER SLOTS. Error `protocol`: the reply is malformed.
  static Result<SlotMap> read(const Reply& reply, const HostPort& asked);

  // The primaries that have slots, in the order of their first slots.
  const std::vector<HostPort>& primaries() const { return primaries_; }
  // An index into primaries(), or nullopt if no node has the slot.
  std::optional<std::size_t> owner(std::uint16_t slot) const {
    if (owners_.empty() || owners_[slot] == kNobody) return std::nullopt;
    return owners_[slot];
  }
  bool empty() const { return primaries_.empty(); }
  bool covers_all_slots() const { return covered_ == kSlots; }
  // A hash of the slots that one primary has. `primary` is an index into primaries().
  std::uint64_t hash_of(std::size_t primary) const;

 private:
  static constexpr std::uint16_t kNobody = 0xffff;

  std::size_t number_of(HostPort primary);

  std::vector<HostPort> primaries_;
  std::size_t covered_ = 0;            // number of slots that have a primary
  std::vector<std::uint16_t> owners_;  // for each slot an index into primaries_, or kNobody
};

struct Redirect {
  HostPort node;
  bool asking = false;  // true for ASK: only this command goes to the node, and ASKING is sent before it
};
// Reads "MOVED SLOT HOST:PORT" and "ASK SLOT HOST:PORT"; returns nullopt for any other reply. An empty host stands for
// the host of `asked`, the node that sent the reply.
std::optional<Redirect> read_redirect(const Reply& reply, const HostPort& asked);

}  // namespace sluice::redis
