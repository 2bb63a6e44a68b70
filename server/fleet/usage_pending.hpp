// Holds usage reports between their arrival and the transaction that stores them. Each report is accepted once. Until
// the server confirms that a report is stored, the agent sends it again.
//
// Thread safety: none.
// Invariant: all reports of a boot (one run of an agent) up to Boot::accepted are stored, waiting, or being stored.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "common/sync/report.hpp"
#include "server/fleet/agent_key.hpp"
#include "server/fleet/agent_table.hpp"
#include "server/fleet/fair_share.hpp"

namespace sluice::server::fleet {

// Reports of one boot, in the order of their numbers.
struct BootReports {
  AgentBoot boot;
  AgentScope scope;
  std::vector<sluice::sync::UsageReport> reports;
};

// The number of a boot's last stored report.
struct Mark {
  AgentBoot boot;
  std::int64_t number = 0;
};

class UsagePending {
 public:
  // Both are divided by FairShare, so a tenant cannot use up the room of others.
  static constexpr std::size_t kMaxRows =
      600'000;  // counts, subjects, resources, quotas, utilization and reports together; about 150 bytes each
  static constexpr std::size_t kMaxBoots = 60'000;

  explicit UsagePending(std::size_t max_rows = kMaxRows, std::size_t max_boots = kMaxBoots)
      : max_rows_(max_rows), rows_(max_rows), boot_places_(max_boots) {}

  struct AddResult {
    std::int64_t stored = 0;     // number of the boot's last stored report, as far as this server knows
    std::size_t accepted = 0;    // how many of the reports were accepted
    std::size_t replayed = 0;    // how many an earlier call accepted
    std::size_t over_limit = 0;  // how many were refused for lack of room in the scope's share
  };
  // REQUIRES: the reports' numbers increase.
  AddResult add(const sync::AgentCaller& caller, const std::string& agent_id, const std::string& boot_id,
                std::vector<sluice::sync::UsageReport> reports, FleetTime now);

  // Returns all waiting reports, sorted by boot. The caller must then call confirm_stored(), or put_back() if the
  // reports could not be stored.
  std::vector<BootReports> take();
  void confirm_stored(const std::vector<Mark>& marks);
  void put_back(std::vector<BootReports> taken);

  std::size_t rows() const { return rows_.used(); }  // waiting or being stored
  // More than half of what one scope may use waits, so it is time to store.
  bool is_filling() const { return waiting_rows_ * 6 > max_rows_; }

  // Forgets each boot that sent nothing for kRememberedFor and has no waiting reports.
  void forget(FleetTime now);

 private:
  struct Boot {
    AgentScope scope;
    std::int64_t accepted = 0;  // number of the last accepted report
    std::int64_t stored = 0;    // number of the last stored report
    FleetTime heard_at;
    std::vector<sluice::sync::UsageReport> waiting;
    std::size_t waiting_rows = 0;
    std::size_t storing_rows = 0;  // 0: nothing is being stored
  };

  std::size_t max_rows_;
  FairShare rows_;
  FairShare boot_places_;
  std::size_t waiting_rows_ = 0;
  std::map<AgentBoot, Boot> boots_;
};

}  // namespace sluice::server::fleet
