// Checks the hash chain of one organization: takes its rows one by one and finds the first bad row. `verify` uses it.
//
// Thread safety: none. Pure: no database.
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
  std::int64_t seq = 0;  // 0: the chain is empty
  Sha256Digest hash{};

  bool operator==(const ChainHead&) const = default;
};

struct ChainFault {
  enum class Kind : std::uint8_t {
    changed,    // at least one field of the row was changed
    missing,    // rows in the middle are gone
    repeated,   // a second row with the same number, or a row with a number below 1
    swapped,    // the row holds the content of another row of this organization, and vice versa
    copied,     // the row holds a copy of another row of this organization
    foreign,    // the row holds content of another organization
    truncated,  // rows at the end are gone
    added,      // there are rows after the head
    head,       // the table audit_heads has no head of this chain, or a head that is not the last row
    rewritten,  // the chain is consistent, but differs from the saved head
  };
  Kind kind = Kind::changed;
  std::int64_t seq = 0;  // number of the first bad row
  std::string text;
};

// The object that a changed row names. verify() uses it to find the row from which the changed row was copied.
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
  std::optional<ClaimedObject> claimed;  // set if the fault is a changed row
};

class ChainCheck {
 public:
  // `saved`: a head of this chain, saved outside the database.
  ChainCheck(std::string organization_id, std::optional<ChainHead> saved);

  void add(const TrailRow& row);
  // `stored`: the head in the table audit_heads.
  ChainReport finish(const std::optional<ChainHead>& stored);

 private:
  // A copy of a row with a wrong hash. It owns its texts, because the reader overwrites the row.
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
  std::optional<ChangedRow> changed_;  // the changed row, until check_swap() finds that it was swapped
};

}  // namespace sluice::server::audit
