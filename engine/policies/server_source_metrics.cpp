#include <chrono>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "engine/policies/server_source.hpp"

namespace sluice::policies {

const telemetry::MetricTable<ServerSource>& ServerSource::metric_table() {
  using telemetry::kCounter;
  using telemetry::kGauge;
  using Source = ServerSource;
  static const auto locked = [](auto read) {
    return [read](const Source& source) {
      const std::lock_guard lock(source.mutex_);
      return static_cast<double>(read(source));
    };
  };
  static const auto counted = [](std::uint64_t follow::SyncCounters::* counter) {
    return locked([counter](const Source& source) { return source.counters_.*counter; });
  };
  static const auto fetches = [] {
    std::vector<telemetry::LabelledReading<Source>> results;
    for (std::size_t i = 0; i < follow::kFetchResults; ++i) {
      results.push_back({std::string(to_string(static_cast<follow::FetchResult>(i))),
                         locked([i](const Source& source) { return source.counters_.results[i]; })});
    }
    return results;
  };
  static const telemetry::MetricTable<Source> table{
      {"sluice_sync_connected", kGauge, "1 while the agent's watch is open, else 0.",
       locked([](const Source& source) { return source.connected_ ? 1 : 0; })},
      {"sluice_sync_announcements_total", kCounter, "Announcements of new revisions that the agent received.",
       counted(&follow::SyncCounters::announcements)},
      {"sluice_sync_merged_announcements_total", kCounter,
       "Announcements that needed no fetch of their own, because another fetch covered them.",
       counted(&follow::SyncCounters::merged)},
      {"sluice_sync_fetches_total", kCounter,
       "Fetches of policies. `unchanged`: the server has nothing newer. `revision_only`: only the revision is newer. "
       "`resync`: the next fetch asks for a full snapshot. `refused`: the agent does not accept the policies, and the "
       "snapshot in force stays.",
       "result", fetches()},
      {"sluice_sync_watches_lost_total", kCounter, "Watches that ended or could not be opened.",
       counted(&follow::SyncCounters::streams_lost)},
      {"sluice_sync_reports_total",
       kCounter,
       "Reports to the server: answered, or failed. The agent sends a failed report again.",
       "result",
       {{"ok", counted(&follow::SyncCounters::reports)}, {"error", counted(&follow::SyncCounters::reports_failed)}}},
      {"sluice_sync_snapshot_age_seconds", kGauge,
       "Time since the server confirmed the snapshot in force, in seconds; -1 before the first snapshot.",
       locked([](const Source& source) {
         if (!source.shown_confirmed_at_) return -1.0;
         return std::chrono::duration<double>(std::chrono::steady_clock::now() - *source.shown_confirmed_at_).count();
       })},
      {"sluice_sync_snapshot_bytes", kGauge,
       "Bytes of the objects of the snapshot in force, as JSON without compression. Absent before the first snapshot.",
       [](const Source& source) -> std::optional<double> {
         const std::lock_guard lock(source.mutex_);
         if (!source.snapshot_bytes_) return std::nullopt;
         return static_cast<double>(*source.snapshot_bytes_);
       }},
      {"sluice_sync_last_good_state_errors_total", kCounter,
       "Failed attempts to write the last good state to the disk, or to record there that the server confirmed it.",
       [](const Source& source) -> std::optional<double> {
         if (!source.saver_) return std::nullopt;
         return static_cast<double>(source.saver_->errors());
       },
       "with `--server` and `--snapshot-cache`"},
  };
  return table;
}

}  // namespace sluice::policies
