// Reports of agents between their arrival and the transaction that counts them. Each is taken once; agents are told
// that it is stored when it is, and send it again until then. What is over the bounds is not taken: they keep it.
//
// Thread safety: none; one at a time. No clock, no I/O.
// Invariant: of each boot all reports up to `taken` are stored, waiting, or on their way to be stored.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "common/sync/report.hpp"
#include "server/fleet/agent_key.hpp"
#include "server/fleet/agent_table.hpp"

namespace sluice::server::fleet {

// Reports of one boot, in the order of their numbers, above all that were taken before.
struct TakenReports {
  AgentBoot from;
  AgentScope scope;
  std::vector<sluice::sync::UsageReport> reports;
};

// How far a boot's reports are stored.
struct Mark {
  AgentBoot from;
  std::int64_t number = 0;
};

class UsagePending {
 public:
  static constexpr std::size_t kMostRows = 400'000;  // counts and subjects, about 150 bytes each
  static constexpr std::size_t kMostBoots = 50'000;

  explicit UsagePending(std::size_t most_rows = kMostRows) : most_rows_(most_rows) {}

  struct Taken {
    std::int64_t stored = 0;      // the last number of this boot that is stored
    std::size_t fresh = 0;        // reports
    std::size_t replayed = 0;     // taken before
    std::size_t over_bounds = 0;  // not taken
  };
  // REQUIRES: numbers increase.
  Taken add(const sync::AgentCaller& caller, const std::string& agent_id, const std::string& boot_id,
            std::vector<sluice::sync::UsageReport> reports, FleetTime now);

  // All that wait, in the order of boots, to be stored now; then one of settled() and put_back() is called with it.
  std::vector<TakenReports> take();
  void settled(const std::vector<Mark>& marks);
  void put_back(std::vector<TakenReports> taken);

  std::size_t rows() const { return rows_; }  // waiting or on their way
  // So much is waiting that it should be stored now.
  bool crowded() const { return waiting_rows_ * 2 > most_rows_; }

  // Boots that nobody has heard of for long, and of which nothing waits.
  void forget(FleetTime now);

 private:
  struct Boot {
    AgentScope scope;
    std::int64_t taken = 0;
    std::int64_t stored = 0;
    FleetTime heard;
    std::vector<sluice::sync::UsageReport> waiting;
    bool on_the_way = false;
  };

  std::size_t most_rows_;
  std::size_t rows_ = 0;
  std::size_t waiting_rows_ = 0;
  std::map<AgentBoot, Boot> boots_;
};

}  // namespace sluice::server::fleet
