#include "server/fleet/usage_pending.hpp"

#include <algorithm>
#include <iterator>
#include <utility>

namespace sluice::server::fleet {
namespace {

std::size_t rows_of(const sluice::sync::UsageReport& report) {
  return report.counts.size() + report.subjects.size() + 1;
}

std::size_t rows_of(const std::vector<sluice::sync::UsageReport>& reports) {
  std::size_t rows = 0;
  for (const sluice::sync::UsageReport& report : reports) rows += rows_of(report);
  return rows;
}

}  // namespace

UsagePending::Taken UsagePending::add(const sync::AgentCaller& caller, const std::string& agent_id,
                                      const std::string& boot_id, std::vector<sluice::sync::UsageReport> reports,
                                      FleetTime now) {
  Taken taken;
  const AgentBoot key{.agent = key_of(caller, agent_id), .boot_id = boot_id};
  auto found = boots_.find(key);
  if (found == boots_.end()) {
    if (reports.empty()) return taken;
    if (boots_.size() >= kMaxBoots) {
      taken.over_bounds = reports.size();
      return taken;
    }
    found = boots_.emplace(key, Boot{}).first;
    found->second.scope = scope_of(caller);
  }
  Boot& boot = found->second;
  boot.heard = now;
  for (sluice::sync::UsageReport& report : reports) {
    if (report.number <= boot.taken) {
      ++taken.replayed;
      continue;
    }
    const std::size_t rows = rows_of(report);
    // Accept no report after one that was not accepted: the mark would pass it, and it would never be counted.
    if (taken.over_bounds > 0 || rows_ + rows > max_rows_) {
      ++taken.over_bounds;
      continue;
    }
    boot.taken = report.number;
    rows_ += rows;
    waiting_rows_ += rows;
    boot.waiting.push_back(std::move(report));
    ++taken.fresh;
  }
  taken.stored = boot.stored;
  return taken;
}

std::vector<TakenReports> UsagePending::take() {
  std::vector<TakenReports> taken;
  for (auto& [key, boot] : boots_) {
    if (boot.waiting.empty()) continue;
    boot.storing = true;
    taken.push_back({.from = key, .scope = boot.scope, .reports = std::exchange(boot.waiting, {})});
  }
  waiting_rows_ = 0;
  return taken;
}

void UsagePending::settled(const std::vector<Mark>& marks) {
  for (const Mark& mark : marks) {
    const auto boot = boots_.find(mark.from);
    if (boot == boots_.end()) continue;
    boot->second.storing = false;
    boot->second.stored = std::max(boot->second.stored, mark.number);
    boot->second.taken = std::max(boot->second.taken, mark.number);
  }
  rows_ = waiting_rows_;
}

void UsagePending::put_back(std::vector<TakenReports> taken) {
  for (TakenReports& reports : taken) {
    const auto found = boots_.find(reports.from);
    if (found == boots_.end()) continue;
    Boot& boot = found->second;
    boot.storing = false;
    waiting_rows_ += rows_of(reports.reports);
    std::ranges::move(boot.waiting, std::back_inserter(reports.reports));
    boot.waiting = std::move(reports.reports);
  }
}

void UsagePending::forget(FleetTime now) {
  std::erase_if(boots_, [now](const auto& item) {
    const Boot& boot = item.second;
    return boot.waiting.empty() && !boot.storing && now - boot.heard > kRememberedFor;
  });
}

}  // namespace sluice::server::fleet
