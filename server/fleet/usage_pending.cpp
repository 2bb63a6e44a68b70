#include "server/fleet/usage_pending.hpp"

#include <algorithm>
#include <iterator>
#include <utility>

namespace sluice::server::fleet {
namespace {

// The report itself counts as one row, so empty reports are limited too.
std::size_t rows_of(const sluice::sync::UsageReport& report) {
  return report.counts.size() + report.subjects.size() + report.unmatched.size() + report.quotas.size() +
         report.keys.size() + report.utilization.size() + 1;
}

ShareOwner owner_of(const AgentBoot& boot, const AgentScope& scope) {
  return {.organization_id = scope.organization_id, .scope = boot.agent.scope};
}

}  // namespace

UsagePending::AddResult UsagePending::add(const sync::AgentCaller& caller, const std::string& agent_id,
                                          const std::string& boot_id, std::vector<sluice::sync::UsageReport> reports,
                                          FleetTime now) {
  AddResult result;
  const AgentBoot key{.agent = key_of(caller, agent_id), .boot_id = boot_id};
  const ShareOwner owner{.organization_id = caller.organization_id, .scope = key.agent.scope};
  auto found = boots_.find(key);
  if (found == boots_.end()) {
    if (reports.empty()) return result;
    if (!boot_places_.fits(owner, 1)) {
      result.over_limit = reports.size();
      return result;
    }
    found = boots_.emplace(key, Boot{}).first;
    found->second.scope = scope_of(caller);
    boot_places_.add(owner, 1);
  }
  Boot& boot = found->second;
  boot.heard_at = now;
  for (sluice::sync::UsageReport& report : reports) {
    if (report.number <= boot.accepted) {
      ++result.replayed;
      continue;
    }
    const std::size_t rows = rows_of(report);
    // After a report over the limit, no later report is accepted. Otherwise, when the agent sends that report again,
    // it would look like a replay.
    if (result.over_limit > 0 || !rows_.fits(owner, rows)) {
      ++result.over_limit;
      continue;
    }
    boot.accepted = report.number;
    rows_.add(owner, rows);
    boot.waiting_rows += rows;
    waiting_rows_ += rows;
    boot.waiting.push_back(std::move(report));
    ++result.accepted;
  }
  result.stored = boot.stored;
  return result;
}

std::vector<BootReports> UsagePending::take() {
  std::vector<BootReports> taken;
  for (auto& [key, boot] : boots_) {
    if (boot.waiting.empty()) continue;
    boot.storing_rows = std::exchange(boot.waiting_rows, 0);
    taken.push_back({.boot = key, .scope = boot.scope, .reports = std::exchange(boot.waiting, {})});
  }
  waiting_rows_ = 0;
  return taken;
}

void UsagePending::confirm_stored(const std::vector<Mark>& marks) {
  for (const Mark& mark : marks) {
    const auto boot = boots_.find(mark.boot);
    if (boot == boots_.end()) continue;
    rows_.remove(owner_of(mark.boot, boot->second.scope), std::exchange(boot->second.storing_rows, 0));
    boot->second.stored = std::max(boot->second.stored, mark.number);
    boot->second.accepted = std::max(boot->second.accepted, mark.number);
  }
}

void UsagePending::put_back(std::vector<BootReports> taken) {
  for (BootReports& reports : taken) {
    const auto found = boots_.find(reports.boot);
    if (found == boots_.end()) continue;
    Boot& boot = found->second;
    waiting_rows_ += boot.storing_rows;
    boot.waiting_rows += std::exchange(boot.storing_rows, 0);
    std::ranges::move(boot.waiting, std::back_inserter(reports.reports));
    boot.waiting = std::move(reports.reports);
  }
}

void UsagePending::forget(FleetTime now) {
  std::erase_if(boots_, [&](const auto& item) {
    const Boot& boot = item.second;
    const bool idle = boot.waiting.empty() && boot.storing_rows == 0 && now - boot.heard_at > kRememberedFor;
    if (idle) boot_places_.remove(owner_of(item.first, boot.scope), 1);
    return idle;
  });
}

}  // namespace sluice::server::fleet
