#include "server/sync/metrics.hpp"

namespace sluice::server::sync {

using telemetry::kCounter;
using telemetry::kGauge;

const telemetry::MetricTable<Feed::Statistics>& feed_metrics() {
  using Counted = Feed::Statistics;
  static const telemetry::MetricTable<Counted> table{
      {"sluice_feed_revision", kGauge, "The newest revision that agents can fetch from this server.",
       &Counted::revision},
      {"sluice_feed_snapshot_bytes", kGauge,
       "Bytes of all objects that agents get, as JSON without compression: the snapshot of an agent whose token has "
       "the "
       "scope of the platform. Others get a part of it.",
       &Counted::snapshot_bytes},
      {"sluice_feed_up", kGauge,
       "1 if the last read of PostgreSQL succeeded, else 0. While it is 0, agents get what is in the server's memory.",
       &Counted::following},
      {"sluice_feed_revisions_total", kCounter, "Revisions that the server read from PostgreSQL.", &Counted::revisions},
      {"sluice_feed_reads_total",
       kCounter,
       "Reads of PostgreSQL for new revisions. Their number does not depend on the number of agents.",
       "result",
       {{"ok", &Counted::rounds}, {"error", &Counted::failures}}},
      {"sluice_feed_full_reads_total", kCounter,
       "How often the server read all objects: at its start, and after it found that PostgreSQL has another history.",
       &Counted::full_reads},
  };
  return table;
}

const telemetry::MetricTable<Retention::Statistics>& retention_metrics() {
  static const telemetry::MetricTable<Retention::Statistics> table{
      {"sluice_changes_forgotten_total", kCounter,
       "Revisions older than --changes-retention that this server removed from PostgreSQL.",
       &Retention::Statistics::forgotten},
  };
  return table;
}

const telemetry::MetricTable<SyncStatistics>& metrics() {
  using Counted = SyncStatistics;
  static const telemetry::MetricTable<Counted> table{
      {"sluice_sync_watches", kGauge, "Open watches.", &Counted::watches},
      {"sluice_sync_watch_changes_total", kCounter, "Changes in the scope of an open watch, counted for each watch.",
       &Counted::changes},
      {"sluice_sync_announcements_total", kCounter, "Announcements that the server wrote to watches.",
       &Counted::announcements},
      {"sluice_sync_merged_changes_total", kCounter,
       "Changes that needed no announcement of their own, because another announcement covered them.",
       &Counted::merged_changes},
      {"sluice_sync_heartbeats_total", kCounter, "Heartbeats that the server wrote to watches.", &Counted::heartbeats},
      {"sluice_sync_fetches_total",
       kCounter,
       "Fetches that the server answered: with a full snapshot, with a delta, with 304 (unchanged), or with 410 "
       "(resync), because the agent's revision is not part of this server's history.",
       "result",
       {{"full", &Counted::fetched_full},
        {"delta", &Counted::fetched_delta},
        {"unchanged", &Counted::fetched_unchanged},
        {"resync", &Counted::fetched_resync}}},
      {"sluice_sync_fetched_bytes_total", kCounter, "Bytes of snapshots and deltas that the server sent.",
       &Counted::document_bytes},
      {"sluice_sync_built_documents_total", kCounter,
       "Snapshots and deltas that the server built. If several fetches share one, it counts once.", &Counted::built},
      {"sluice_sync_built_bytes_total", kCounter, "Bytes of the snapshots and deltas that the server built.",
       &Counted::built_bytes},
      {"sluice_sync_reports_total", kCounter, "Reports of agents that the server accepted.", &Counted::reports},
      {"sluice_sync_delayed_requests_total", kCounter,
       "Agents' requests that waited for a read of PostgreSQL, because the server did not know the agent's token or "
       "revision.",
       &Counted::delayed},
      {"sluice_sync_auth_failures_total", kCounter, "Requests of agents without a valid token or binding.",
       &Counted::auth_failures},
  };
  return table;
}

}  // namespace sluice::server::sync
