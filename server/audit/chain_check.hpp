// Does one organization's chain hold? Given its rows one by one, it finds the first that is not what was written.
//
// Thread safety: none. Pure: it knows no database.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>

#include "server/audit/trail_reader.hpp"
#include "server/store/chain.hpp"

namespace sluice::server::audit {

// The end of a chain.
struct ChainHead {
  std::int64_t seq = 0;  // 0: it has not begun
  Sha256Digest hash{};

  bool operator==(const ChainHead&) const = default;
};

struct ChainFault {
  enum class Kind : std::uint8_t {
    changed,    // the row is not what was written: one of its fields, or all of them
    missing,    // rows in the middle are gone
    repeated,   // a second row of this number, or one before the first
    swapped,    // the row holds what belongs to another row of this organization
    copied,     // … what is in another row too
    foreign,    // … what belongs to another organization
    truncated,  // rows at the end are gone
    added,      // rows behind the head
    head,       // the head that is kept beside the trail is not its end
    rewritten,  // the chain fits by itself but is not the one that the saved head was taken from
  };
  Kind kind = Kind::changed;
  std::int64_t seq = 0;  // of the first bad row
  std::string text;
};

// What a changed row claims to be: for those who look where it came from.
struct Stray {
  std::string tenant_id;
  std::string kind;
  std::string object_id;
  std::int64_t version = 0;
  std::int64_t revision = 0;
};

struct ChainReport {
  std::string organization_id;
  std::int64_t rows = 0;
  ChainHead end;  // the last row, good or not
  std::optional<ChainFault> fault;
  std::optional<Stray> stray;  // where the fault is a changed row
};

class ChainCheck {
 public:
  // `saved`: a head of this chain that was kept elsewhere.
  ChainCheck(std::string organization_id, std::optional<ChainHead> saved);

  void add(const TrailRow& row);
  // `kept`: the head beside the trail (audit_heads).
  ChainReport finish(const std::optional<ChainHead>& kept);

 private:
  // A row whose hash does not fit, which outlives its reader's buffer.
  struct Kept {
    explicit Kept(const TrailRow& row);
    Kept(const Kept&) = delete;  // fields point into texts
    Kept& operator=(const Kept&) = delete;

    // Its hash, were it row `seq` and behind a row of the hash `before`.
    Sha256Digest hash_at(std::int64_t seq, const Sha256Digest& before) const;

    std::array<std::string, 11> texts;
    store::AuditRow fields;
    Sha256Digest hash;
  };

  void check(const TrailRow& row);
  void look_for_origin(const TrailRow& row);
  void check_end(const std::optional<ChainHead>& kept);
  void fail(ChainFault::Kind kind, std::int64_t seq, std::string text);

  ChainReport report_;
  std::optional<ChainHead> saved_;
  std::optional<Kept> changed_;  // until it is known where it belongs
};

}  // namespace sluice::server::audit
