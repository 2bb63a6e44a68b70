// Which node of a Redis Cluster holds which slot, and what MOVED and ASK say. Source: Redis Cluster specification,
// https://redis.io/docs/latest/operate/oss_and_stack/reference/cluster-spec/
//
// Immutable values. No I/O.
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

// The slot of a key: CRC-16/XMODEM of its hash tag, or of the whole key if it has none.
std::uint16_t slot_of(std::string_view key);

class SlotMap {
 public:
  SlotMap() = default;  // no slot has a primary

  // Reads a reply to CLUSTER SLOTS of the node at `asked`. Error `protocol`.
  static Result<SlotMap> read(const Reply& reply, const HostPort& asked);

  // The primaries that have slots, each once, in the order of their first slots.
  const std::vector<HostPort>& primaries() const { return primaries_; }
  // An index into primaries(). nullopt: no node has the slot.
  std::optional<std::size_t> owner(std::uint16_t slot) const {
    if (owners_.empty() || owners_[slot] == kNobody) return std::nullopt;
    return owners_[slot];
  }
  bool empty() const { return primaries_.empty(); }
  // Differs, in all likelihood, if the primary has other slots. `primary`: an index into primaries().
  std::uint64_t hash_of(std::size_t primary) const;

 private:
  static constexpr std::uint16_t kNobody = 0xffff;

  std::size_t number_of(HostPort primary);

  std::vector<HostPort> primaries_;
  std::vector<std::uint16_t> owners_;  // by slot; empty: nobody has any
};

struct Redirect {
  HostPort node;
  bool asking = false;  // ASK: for this one command, and after ASKING
};
// Reads "MOVED SLOT HOST:PORT" and "ASK SLOT HOST:PORT". An empty host is that of the node that answered, `asked`.
// nullopt: the reply is another error.
std::optional<Redirect> read_redirect(const Reply& reply, const HostPort& asked);

}  // namespace sluice::redis
