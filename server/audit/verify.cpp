#include "server/audit/verify.hpp"

#include <algorithm>
#include <map>
#include <set>

#include <fmt/core.h>
#include <pqxx/pqxx>

#include "server/audit/agreement.hpp"
#include "server/audit/escaped.hpp"
#include "server/audit/trail_reader.hpp"

namespace sluice::server::audit {
namespace {

using Snapshot = pqxx::transaction<pqxx::repeatable_read, pqxx::read_only>;
using Heads = std::map<std::string, ChainHead, std::less<>>;

constexpr std::int64_t kRowsPerProgress = 10'000;

// Makes all rows visible and switches off time limits. PostgreSQL must not convert the hashed texts from UTF-8.
constexpr const char* kSessionSettings =
    "SET LOCAL sluice.organization TO '*'; SET LOCAL client_encoding TO 'UTF8'; SET LOCAL statement_timeout TO 0;"
    "SET LOCAL idle_in_transaction_session_timeout TO 0; SET LOCAL jit TO off; SET LOCAL work_mem TO '64MB'";

std::optional<ChainHead> find_head(const Heads& heads, std::string_view organization) {
  const auto found = heads.find(organization);
  return found == heads.end() ? std::nullopt : std::optional(found->second);
}

Heads read_stored_heads(pqxx::transaction_base& work) {
  Heads heads;
  for (const auto& row : work.exec("SELECT organization_id, seq, encode(hash, 'hex') FROM audit_heads")) {
    ChainHead head{.seq = row[1].as<std::int64_t>(), .hash = {}};
    from_hex(row[2].c_str(), head.hash);  // a hash of another length stays zero, which matches no row
    heads.emplace(row[0].c_str(), head);
  }
  return heads;
}

class TrailCheck {
 public:
  TrailCheck(const VerifyOptions& options, Heads stored) : options_(options), stored_(std::move(stored)) {}

  VerifyReport run(TrailReader reader) {
    while (const TrailRow* const row = reader.next()) {
      if (!chain_ || row->fields.organization_id != organization_) begin(std::string(row->fields.organization_id));
      chain_->add(*row);
      if (++report_.rows % kRowsPerProgress == 0 && options_.progress) options_.progress(report_.rows);
    }
    finish();
    add_chains_without_rows();
    return std::move(report_);
  }

 private:
  void begin(std::string organization) {
    finish();
    organization_ = std::move(organization);
    seen_.insert(organization_);
    chain_.emplace(organization_, find_head(options_.saved, organization_));
  }
  void finish() {
    if (chain_) report_.chains.push_back(chain_->finish(find_head(stored_, organization_)));
  }

  void add_chains_without_rows() {
    for (const Heads* const heads : {&stored_, &options_.saved}) {
      for (const auto& [organization, head] : *heads) {
        if (!seen_.insert(organization).second) continue;
        report_.chains.push_back(
            ChainCheck(organization, find_head(options_.saved, organization)).finish(find_head(stored_, organization)));
      }
    }
    std::ranges::sort(report_.chains, {}, &ChainReport::organization_id);
  }

  const VerifyOptions& options_;
  const Heads stored_;
  VerifyReport report_;
  std::string organization_;
  std::optional<ChainCheck> chain_;
  std::set<std::string> seen_;
};

// Finds out whether the row that breaks `chain` is a copied row, or describes an object of another organization.
void find_origin(pqxx::transaction_base& work, ChainReport& chain) {
  if (!chain.claimed) return;
  const ClaimedObject& claimed = *chain.claimed;
  ChainFault& fault = *chain.fault;
  const pqxx::result rows = work.exec_params(
      "SELECT organization_id, seq FROM audit WHERE kind = $1 AND tenant_id = $2 AND object_id = $3 AND version = $4 "
      "AND "
      "revision = $5 AND (organization_id, seq) <> ($6, $7) ORDER BY organization_id, seq LIMIT 1",
      claimed.kind, claimed.tenant_id, claimed.object_id, claimed.version, claimed.revision, chain.organization_id,
      fault.seq);
  if (!rows.empty()) {
    const std::string organization = rows[0][0].c_str();
    const bool own = organization == chain.organization_id;
    fault.kind = own ? ChainFault::Kind::copied : ChainFault::Kind::foreign;
    fault.text = fmt::format("row {} is a copy of row {}{}", fault.seq, rows[0][1].c_str(),
                             own ? "" : fmt::format(" of organization {}", escaped(organization)));
    return;
  }
  const pqxx::result versions = work.exec_params(
      "SELECT organization_id FROM versions WHERE kind = $1 AND tenant_id = $2 AND id = $3 AND version = $4 AND "
      "revision = $5 AND organization_id <> $6",
      claimed.kind, claimed.tenant_id, claimed.object_id, claimed.version, claimed.revision, chain.organization_id);
  if (versions.empty()) return;
  fault.kind = ChainFault::Kind::foreign;
  fault.text = fmt::format("row {} belongs to organization {}", fault.seq, escaped(versions[0][0].c_str()));
}

}  // namespace

const ChainReport* VerifyReport::first_broken() const {
  const auto found = std::ranges::find_if(chains, [](const ChainReport& chain) { return chain.fault.has_value(); });
  return found == chains.end() ? nullptr : &*found;
}

VerifyReport verify(pqxx::connection& connection, const VerifyOptions& options) {
  Snapshot work(connection);
  work.exec(kSessionSettings);
  VerifyReport report = TrailCheck(options, read_stored_heads(work)).run(TrailReader(work));
  for (ChainReport& chain : report.chains) find_origin(work, chain);
  if (report.first_broken() == nullptr && !tables_agree(work)) {
    report.disagreements = agreement_faults(work);
    if (report.disagreements.empty())
      report.disagreements.emplace_back(
          "the sums of objects, versions, changes and audit differ, though no single row does");
  }
  return report;
}

}  // namespace sluice::server::audit
