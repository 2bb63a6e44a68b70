// Removes old revisions from the tables `changes` and `revisions`, so that they do not grow for ever.
//
// An agent that is at a removed revision gets a full snapshot. Versions of objects and the audit trail are never
// removed, so every rollback stays possible. All servers may run this at once: an advisory lock lets one at a time
// remove.
//
// Thread safety: one call of run() at a time; the statistics may be read on any thread.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>

#include <pqxx/pqxx>

#include "common/telemetry/log.hpp"

namespace sluice::server::sync {

class Retention {
 public:
  struct Options {
    std::chrono::microseconds age{std::chrono::hours(720)};  // at least one hour
    std::int64_t kept = 10'000;                              // so many of the newest stay, however old they are
  };
  struct Statistics {
    std::atomic<std::uint64_t> forgotten{0};  // revisions that this server removed
  };

  Retention(Options options, telemetry::Log& log) : options_(options), log_(log) {}

  // Removes what is due in short transactions, and at most kMostBatches of them: the next run does the rest. Throws
  // what libpqxx throws.
  void run(pqxx::connection& connection);

  const Statistics& statistics() const { return statistics_; }

 private:
  static constexpr int kMostBatches = 200;
  static constexpr int kBatch = 2'000;  // changes, and revisions

  const Options options_;
  telemetry::Log& log_;
  Statistics statistics_;
};

}  // namespace sluice::server::sync
