#include "server/audit/steps.hpp"

#include <algorithm>

#include <fmt/core.h>
#include <pqxx/pqxx>

#include "server/audit/trail_reader.hpp"

namespace sluice::server::audit {
namespace {

using std::chrono::steady_clock;

// Between two looks at the clock. A row has up to two documents of 1 MiB.
constexpr std::int64_t kRowsPerRead = 250;
constexpr std::int64_t kRowsPerChain = 10;  // what a chain costs besides its rows

std::optional<std::string> first_chain(postgres::Transaction& tx) {
  const auto rows = tx.exec_text(
      "SELECT min(o) FROM (SELECT min(organization_id) AS o FROM audit_heads UNION ALL "
      "SELECT min(organization_id) FROM audit) AS both_tables");
  return rows[0][0].is_null() ? std::nullopt : std::optional<std::string>(rows[0][0].c_str());
}

std::optional<std::string> chain_after(postgres::Transaction& tx, const std::string& organization) {
  const auto rows = tx.exec(
      "SELECT min(o) FROM (SELECT min(organization_id) AS o FROM audit_heads WHERE organization_id > $1 UNION ALL "
      "SELECT min(organization_id) FROM audit WHERE organization_id > $1) AS both_tables",
      organization);
  return rows[0][0].is_null() ? std::nullopt : std::optional<std::string>(rows[0][0].c_str());
}

std::optional<ChainHead> stored_head(postgres::Transaction& tx, const std::string& organization) {
  const auto rows =
      tx.exec("SELECT seq, encode(hash, 'hex') FROM audit_heads WHERE organization_id = $1", organization);
  if (rows.empty()) return std::nullopt;
  ChainHead head{.seq = rows[0][0].as<std::int64_t>(), .hash = {}};
  from_hex(rows[0][1].c_str(), head.hash);  // a hash of another length stays zero, which matches no row
  return head;
}

class Step {
 public:
  Step(postgres::Transaction& tx, const StepOptions& options) : tx_(tx), options_(options) {}

  StepResult run(const std::optional<StepProgress>& from) {
    tx_.exec_text("SET LOCAL client_encoding TO 'UTF8'; SET LOCAL jit TO off");
    count_total();
    std::optional<std::string> chain;
    if (from) {
      out_.progress = *from;
      chain = from->organization_id;
    } else {
      chain = options_.only ? options_.only : first_chain(tx_);
    }
    while (chain) {
      out_.progress.organization_id = *chain;
      if (!check(*chain)) return std::move(out_);
      chain = options_.only ? std::nullopt : chain_after(tx_, *chain);
      out_.progress.at = {};
      cost_ += kRowsPerChain;
    }
    out_.complete = true;
    return std::move(out_);
  }

 private:
  void count_total() {
    const auto rows =
        options_.only
            ? tx_.exec("SELECT coalesce(sum(seq), 0) FROM audit_heads WHERE organization_id = $1", *options_.only)
            : tx_.exec_text("SELECT coalesce(sum(seq), 0) FROM audit_heads");
    out_.total = rows[0][0].as<std::int64_t>();
  }

  bool spent() const { return cost_ >= options_.max_rows || steady_clock::now() >= end_; }

  // Returns false if the step ends within this chain: its time is spent, or a row is bad.
  bool check(const std::string& organization) {
    ChainCheck chain(organization, std::nullopt);
    chain.resume(out_.progress.at);
    for (bool more = true; more;) {
      if (spent()) return false;
      more = check_rows(chain, organization);
      if (chain.fault() != nullptr) return fail(organization, *chain.fault());
    }
    const ChainReport report = chain.finish(stored_head(tx_, organization));
    if (!report.fault) {
      ++out_.progress.chains;
      return true;
    }
    broken_ = {};
    return fail(organization, *report.fault);
  }

  // Returns false if these were the last rows of the chain.
  bool check_rows(ChainCheck& chain, const std::string& organization) {
    StepProgress& progress = out_.progress;
    TrailReader reader(tx_.work(),
                       {.organization_id = organization, .from_seq = progress.at.seq, .limit = kRowsPerRead});
    std::int64_t read = 0;
    bool found_last = progress.at.seq == 0;  // the row that was checked last
    while (const TrailRow* const row = reader.next()) {
      ++read;
      if (chain.fault() != nullptr) continue;  // the stream must be read to its end
      broken_ = {.organization_id = organization,
                 .fault = {},
                 .tenant_id = std::string(row->fields.tenant_id),
                 .kind = std::string(row->fields.kind),
                 .object_id = std::string(row->fields.object_id),
                 .made_at_us = row->fields.made_at_us};
      if (!found_last && row->fields.seq == progress.at.seq && row->hash == progress.at.hash) {
        found_last = true;
        continue;
      }
      if (!found_last) {
        chain.blame_last();
        continue;
      }
      chain.add(*row);
      if (chain.fault() != nullptr) continue;
      progress.at = {.seq = row->fields.seq, .hash = row->hash};
      const std::int64_t at_us = row->fields.made_at_us;
      progress.first_us = progress.rows == 0 ? at_us : std::min(progress.first_us, at_us);
      progress.last_us = progress.rows == 0 ? at_us : std::max(progress.last_us, at_us);
      ++progress.rows;
      ++cost_;
    }
    if (!found_last && read == 0) chain.blame_last();
    return read == kRowsPerRead;
  }

  bool fail(const std::string& organization, const ChainFault& fault) {
    // A missing row says nothing of itself, and neither does one that only audit_heads tells of.
    if (fault.kind != ChainFault::Kind::changed && fault.kind != ChainFault::Kind::repeated) broken_ = {};
    broken_.organization_id = organization;
    broken_.fault = fault;
    out_.broken = std::move(broken_);
    out_.complete = true;
    return false;
  }

  postgres::Transaction& tx_;
  const StepOptions& options_;
  const steady_clock::time_point end_ = steady_clock::now() + options_.max_time;
  std::int64_t cost_ = 0;  // in rows
  StepResult out_;
  BrokenRow broken_;  // the row that is checked now
};

}  // namespace

StepResult verify_step(postgres::Transaction& tx, const std::optional<StepProgress>& from, const StepOptions& options) {
  return Step(tx, options).run(from);
}

}  // namespace sluice::server::audit
