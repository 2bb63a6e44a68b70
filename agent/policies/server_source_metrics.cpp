// The metrics of an agent that follows a server.
#include <chrono>
#include <mutex>
#include <string>
#include <vector>

#include "agent/policies/server_source.hpp"

namespace sluice::agent::policies {

void ServerSource::add_metrics() {
  const auto locked = [this](auto read) {
    return [this, read] {
      const std::lock_guard lock(mutex_);
      return static_cast<double>(read());
    };
  };
  metrics_.gauge("sluice_sync_connected", "1 while the agent receives the server's watch stream, else 0.",
                 locked([this] { return connected_ ? 1 : 0; }));
  metrics_.counter("sluice_sync_invalidations_total", "Changes that the server announced.",
                   locked([this] { return counters_.invalidations; }));
  metrics_.counter("sluice_sync_folded_total", "Changes that needed no fetch of their own.",
                   locked([this] { return counters_.folded; }));
  std::vector<telemetry::Registry::Labelled> results;
  for (std::size_t i = 0; i < follow::kFetchResults; ++i) {
    results.push_back({std::string(to_string(static_cast<follow::FetchResult>(i))),
                       locked([this, i] { return counters_.results[i]; })});
  }
  metrics_.counter("sluice_sync_fetches_total", "Requests for policies, by result.", "result", std::move(results));
  metrics_.counter("sluice_sync_refused_total", "States from the server that this agent refused.", locked([this] {
                     return counters_.results[static_cast<std::size_t>(follow::FetchResult::refused)];
                   }));
  metrics_.counter("sluice_sync_streams_lost_total", "Watch streams that ended or could not be opened.",
                   locked([this] { return counters_.streams_lost; }));
  metrics_.counter("sluice_sync_reports_total", "Reports that the server has answered.",
                   locked([this] { return counters_.reports; }));
  metrics_.counter("sluice_sync_report_errors_total", "Reports that failed; they are sent again.",
                   locked([this] { return counters_.reports_failed; }));
  metrics_.gauge(
      "sluice_sync_snapshot_age_seconds",
      "Time since the server last confirmed the policies in force; -1 before there are any.", locked([this] {
        if (!shown_confirmed_at_) return -1.0;
        return std::chrono::duration<double>(std::chrono::steady_clock::now() - *shown_confirmed_at_).count();
      }));
  if (!saver_) return;
  metrics_.counter("sluice_sync_last_known_good_errors_total", "Attempts to save policies on the disk that failed.",
                   [this] { return saver_->errors(); });
}

}  // namespace sluice::agent::policies
