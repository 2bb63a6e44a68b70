// Adds up the answers of a tenant's agents to one question of what-if, and says what the sum lacks.
//
// Thread safety: none. Pure: no I/O.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "common/json/writer.hpp"
#include "common/sync/whatif.hpp"

namespace sluice::server::admin {

// RFC 3339. `us`: microseconds since 1970, as agents count them.
std::string whatif_time(std::int64_t us);

class WhatIfSum {
 public:
  static constexpr std::size_t kSubjectsShown = 20;

  // `from_us`: where the asked time begins.
  explicit WhatIfSum(std::int64_t from_us) : from_us_(from_us) {}

  // An agent of the tenant that is live, and was asked. nullptr: it has not answered.
  void add(const sluice::sync::WhatIfAnswer* answer);

  bool all_answered() const { return silent_ == 0; }
  // The members of the answer, into the open object.
  void write(json::Writer& out) const;

 private:
  struct Subject {
    std::int64_t admitted = 0;
    std::int64_t denied = 0;
    std::int64_t agents = 0;
  };
  static constexpr std::size_t kStatuses = 5;

  std::int64_t count(sluice::sync::WhatIfStatus status) const { return statuses_[static_cast<std::size_t>(status)]; }
  void add_judged(const sluice::sync::WhatIfAnswer& answer);
  void write_agents(json::Writer& out) const;
  void write_subjects(json::Writer& out) const;
  void write_reasons(json::Writer& out) const;
  std::int64_t recorded() const;

  const std::int64_t from_us_;
  std::array<std::int64_t, kStatuses> statuses_{};  // agents
  std::int64_t silent_ = 0;
  std::string first_failure_;
  sluice::sync::WhatIfCounts totals_;
  std::map<std::int64_t, sluice::sync::WhatIfCounts> minutes_;
  std::map<std::string, Subject, std::less<>> subjects_;
  std::int64_t fallen_ = 0;
  std::optional<std::int64_t> complete_since_us_;
  bool short_of_memory_ = false;
};

}  // namespace sluice::server::admin
