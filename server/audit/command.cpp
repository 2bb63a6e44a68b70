#include "server/audit/command.hpp"

#include <chrono>
#include <iostream>

#include <fmt/core.h>

#include "common/domain/identifiers.hpp"
#include "server/audit/escaped.hpp"
#include "server/audit/verify.hpp"
#include "server/postgres/failure.hpp"
#include "server/postgres/pool.hpp"

namespace sluice::server::audit {
namespace {

using std::chrono::steady_clock;

constexpr std::chrono::seconds kProgressEvery{2};
enum ExitStatus : int { kGood = 0, kBroken = 1, kNotVerified = 2 };

std::string label(const std::string& organization) {
  if (organization.empty()) return "(platform)";
  return is_id(organization) ? organization : escaped(organization);
}

std::string line(const ChainReport& chain) {
  if (chain.fault)
    return fmt::format("{}: BROKEN at row {}: {}\n", label(chain.organization_id), chain.fault->seq, chain.fault->text);
  return fmt::format("{}: {} rows, head {} {}\n", label(chain.organization_id), chain.rows, chain.end.seq,
                     to_hex(chain.end.hash));
}

void print(const VerifyReport& report, std::ostream& out) {
  for (const ChainReport& chain : report.chains) out << line(chain);
  for (const std::string& text : report.disagreements) out << "DISAGREES: " << text << '\n';
  if (const ChainReport* const broken = report.first_broken()) {
    out << fmt::format("The audit trail is broken; the first bad row is row {} of {}.\n", broken->fault->seq,
                       label(broken->organization_id));
  } else if (!report.good()) {
    out << "The chains of the audit trail are intact, but other tables differ from the trail.\n";
  } else {
    out << fmt::format("{} rows in {} chains: the audit trail is intact.\n", report.rows, report.chains.size());
  }
}

SavedHeads heads_of(const VerifyReport& report) {
  SavedHeads heads;
  for (const ChainReport& chain : report.chains) {
    if (chain.end.seq > 0) heads.emplace(chain.organization_id, chain.end);
  }
  return heads;
}

auto progress_to(std::ostream& errors) {
  return [&errors, next = steady_clock::now() + kProgressEvery](std::int64_t rows) mutable {
    if (steady_clock::now() < next) return;
    errors << fmt::format("{} rows so far\n", rows) << std::flush;
    next = steady_clock::now() + kProgressEvery;
  };
}

int fail(const Error& error, std::ostream& errors) {
  errors << "The audit trail could not be verified: " << error.text << '\n';
  return kNotVerified;
}

}  // namespace

int audit_verify(const AuditVerifyOptions& options) { return audit_verify(options, std::cout, std::cerr); }

int audit_verify(const AuditVerifyOptions& options, std::ostream& out, std::ostream& errors) {
  try {
    VerifyOptions wanted{.saved = {}, .progress = progress_to(errors)};
    if (!options.head_file.empty()) {
      auto saved = read_saved_heads(options.head_file);
      if (!saved) return fail(saved.error(), errors);
      wanted.saved = std::move(*saved);
    }
    const auto connection = postgres::connect({.url = options.database_url});
    const VerifyReport report = verify(*connection, wanted);
    print(report, out);
    if (!report.good()) return kBroken;
    if (options.write_head_file.empty()) return kGood;
    const auto written = write_saved_heads(options.write_head_file, heads_of(report));
    return written ? kGood : fail(written.error(), errors);
  } catch (const std::exception& error) {
    return fail({.code = std::string(to_string(postgres::classify(error))), .text = postgres::describe(error)}, errors);
  }
}

}  // namespace sluice::server::audit
