#include "server/audit/chain_check.hpp"

#include <fmt/core.h>

namespace sluice::server::audit {
namespace {

std::string rows_text(std::int64_t first, std::int64_t last) {
  return first == last ? fmt::format("row {}", first) : fmt::format("rows {} to {}", first, last);
}

}  // namespace

ChainCheck::ChangedRow::ChangedRow(const TrailRow& row) : fields(row.fields), hash(row.hash) {
  std::size_t used = 0;
  for (std::string_view* const text :
       {&fields.organization_id, &fields.tenant_id, &fields.actor_id, &fields.actor_role, &fields.source,
        &fields.request_id, &fields.action, &fields.kind, &fields.object_id, &fields.before, &fields.after}) {
    *text = texts[used++] = *text;
  }
}

Sha256Digest ChainCheck::ChangedRow::hash_at(std::int64_t seq, const Sha256Digest& before) const {
  store::AuditRow row = fields;
  row.seq = seq;
  return store::chained(before, row);
}

ChainCheck::ChainCheck(std::string organization_id, std::optional<ChainHead> saved) : saved_(saved) {
  report_.organization_id = std::move(organization_id);
}

void ChainCheck::fail(ChainFault::Kind kind, std::int64_t seq, std::string text) {
  report_.fault = ChainFault{.kind = kind, .seq = seq, .text = std::move(text)};
}

void ChainCheck::add(const TrailRow& row) {
  if (!report_.fault) {
    check(row);
  } else if (changed_) {
    check_swap(row);
  }
  ++report_.rows;
  report_.end = {.seq = row.fields.seq, .hash = row.hash};
}

void ChainCheck::blame_last() {
  const std::int64_t seq = report_.end.seq;
  fail(ChainFault::Kind::changed, seq, fmt::format("row {} was changed or removed after it was checked", seq));
}

void ChainCheck::check(const TrailRow& row) {
  const std::int64_t wanted = report_.end.seq + 1;
  const std::int64_t seq = row.fields.seq;
  if (seq > wanted) {
    return fail(ChainFault::Kind::missing, wanted,
                rows_text(wanted, seq - 1) + " missing: removed from the middle of the chain");
  }
  if (seq < wanted) {
    return fail(ChainFault::Kind::repeated, seq,
                fmt::format("row {} does not belong here: row {} was expected", seq, wanted));
  }
  if (!row.well_formed || store::chained(report_.end.hash, row.fields) != row.hash) {
    fail(ChainFault::Kind::changed, seq, fmt::format("row {} was changed: its hash does not match its content", seq));
    report_.claimed = ClaimedObject{.tenant_id = std::string(row.fields.tenant_id),
                                    .kind = std::string(row.fields.kind),
                                    .object_id = std::string(row.fields.object_id),
                                    .version = row.fields.version,
                                    .revision = row.fields.revision};
    changed_.emplace(row);
    return;
  }
  if (saved_ && saved_->seq == seq && saved_->hash != row.hash) {
    fail(ChainFault::Kind::rewritten, seq,
         fmt::format("row {} differs from the saved head: this row or an earlier one was rewritten", seq));
  }
}

// Checks whether the changed row and `row` were swapped. `here` is the hash that the content of the changed row would
// have as row number `seq`.
// - Only the contents were swapped: `row` has the hash `here`.
// - The hashes were swapped too: the changed row has the hash `here`.
// - The rows are neighbours, and the hashes were swapped too: the changed row first had the hash that `row` has now. So
//   its present hash is changed_->hash_at(seq, row.hash).
void ChainCheck::check_swap(const TrailRow& row) {
  const std::int64_t seq = row.fields.seq;
  const Sha256Digest here = changed_->hash_at(seq, report_.end.hash);
  if (here != row.hash && here != changed_->hash && changed_->hash_at(seq, row.hash) != changed_->hash) return;
  const std::int64_t at = report_.fault->seq;
  fail(ChainFault::Kind::swapped, at, fmt::format("row {} has the content of row {}: they were swapped", at, seq));
  report_.claimed.reset();
  changed_.reset();
}

void ChainCheck::check_end(const std::optional<ChainHead>& stored) {
  const ChainHead& end = report_.end;
  if (stored && stored->seq > end.seq) {
    return fail(ChainFault::Kind::truncated, end.seq + 1,
                rows_text(end.seq + 1, stored->seq) + " missing at the end: the head in audit_heads is a later row");
  }
  if (saved_ && saved_->seq > end.seq) {
    return fail(ChainFault::Kind::truncated, end.seq + 1,
                rows_text(end.seq + 1, saved_->seq) + " missing at the end: the saved head is a later row");
  }
  if (stored && stored->seq < end.seq) {
    return fail(ChainFault::Kind::added, stored->seq + 1,
                rows_text(stored->seq + 1, end.seq) + " added after the head in audit_heads");
  }
  if (!stored && end.seq > 0) {
    return fail(ChainFault::Kind::head, end.seq, "audit_heads has no head of this chain: somebody removed it");
  }
  if (stored && stored->hash != end.hash) {
    fail(ChainFault::Kind::head, end.seq,
         fmt::format("row {} is the last row, but audit_heads has another hash for it", end.seq));
  }
}

ChainReport ChainCheck::finish(const std::optional<ChainHead>& stored) {
  if (!report_.fault) check_end(stored);
  return std::move(report_);
}

}  // namespace sluice::server::audit
