// Checks the hash chain of one organization: takes its rows one by one and finds the first bad row.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>

#include "server/audit/trail_reader.hpp"
#include "server/store/chain.hpp"

namespace sluice::server::audit {

// The last row of a chain.
struct ChainHead {
  std::int64_t seq = 0;  // 0 if the chain is empty
  Sha256Digest hash{};

  bool operator==(const ChainHead&) const = default;
};

struct ChainFault {
  enum class Kind : std::uint8_t {
    changed,
    missing,    // rows in the middle are gone
    repeated,   // a second row with the same number, or a row with a number below 1
    swapped,    // with another row of this organization
    copied,     // from another row of this organization
    foreign,    // copied from another organization
    truncated,  // rows at the end are gone
    added,      // rows after the head in audit_heads
    head,       // audit_heads has no head of this chain, or another hash for its last row
    rewritten,  // the chain is consistent, but differs from a head saved outside the database
  };
  Kind kind = Kind::changed;
  std::int64_t seq = 0;
  std::string text;
};

// The object that a changed row names.
struct ClaimedObject {
  std::string tenant_id;
  std::string kind;
  std::string object_id;
  std::int64_t version = 0;
  std::int64_t revision = 0;
};

struct ChainReport {
  std::string organization_id;
  std::int64_t rows = 0;
  ChainHead end;  // the last row, valid or not
  std::optional<ChainFault> fault;
  std::optional<ClaimedObject> claimed;  // only for the fault `changed`
};

class ChainCheck {
 public:
  // `saved`: a head that was saved outside the database.
  ChainCheck(std::string organization_id, std::optional<ChainHead> saved);

  // Goes on after this row, which an earlier check has added. REQUIRES: no row was added.
  void resume(const ChainHead& checked) { report_.end = checked; }

  void add(const TrailRow& row);
  // Of the row after which this check goes on: it is not as it was when it was checked.
  void blame_last();
  // nullptr so far. The pointer is valid until the next call.
  const ChainFault* fault() const { return report_.fault ? &*report_.fault : nullptr; }
  // `stored`: the head in the table audit_heads.
  ChainReport finish(const std::optional<ChainHead>& stored);

 private:
  // A copy of a changed row. The copy owns its texts, because the reader overwrites the row.
  struct ChangedRow {
    explicit ChangedRow(const TrailRow& row);
    ChangedRow(const ChangedRow&) = delete;  // `fields` points into `texts`
    ChangedRow& operator=(const ChangedRow&) = delete;

    // The hash that this content would have as row `seq` after a row with the hash `before`.
    Sha256Digest hash_at(std::int64_t seq, const Sha256Digest& before) const;

    std::array<std::string, 11> texts;
    store::AuditRow fields;
    Sha256Digest hash;
  };

  void check(const TrailRow& row);
  void check_swap(const TrailRow& row);
  void check_end(const std::optional<ChainHead>& stored);
  void fail(ChainFault::Kind kind, std::int64_t seq, std::string text);

  ChainReport report_;
  std::optional<ChainHead> saved_;
  std::optional<ChangedRow> changed_;
};

}  // namespace sluice::server::audit
