#include "server/sync/metrics.hpp"

namespace sluice::server {

void add_sync_metrics(Metrics& metrics, const Feed& feed, const SyncStatistics& statistics) {
  using prometheus::MetricType;
  const auto add = [&metrics](const char* name, const char* help, MetricType type, const auto& value) {
    metrics.add(name, help, type, [&value] { return static_cast<double>(value.load()); });
  };
  const auto count = [&add](const char* name, const char* help, const auto& value) {
    add(name, help, MetricType::Counter, value);
  };
  const Feed::Statistics& fed = feed.statistics();
  add("sluice_sync_revision", "The newest revision that agents can be given.", MetricType::Gauge, fed.revision);
  add("sluice_sync_following", "1 while PostgreSQL could be asked last time.", MetricType::Gauge, fed.following);
  count("sluice_sync_revisions_total", "Revisions heard of.", fed.revisions);
  count("sluice_sync_rounds_total", "How often PostgreSQL was asked what is new.", fed.rounds);
  count("sluice_sync_round_failures_total", "How often it could not be asked.", fed.failures);
  count("sluice_sync_reloads_total", "How often everything was read: at the start, and where the history was another.",
        fed.wholes);

  add("sluice_sync_watches", "Watch streams that are open.", MetricType::Gauge, statistics.watches);
  count("sluice_sync_invalidations_total", "Changes that watches heard of, each watch for itself.",
        statistics.invalidations);
  count("sluice_sync_lines_total", "Invalidations written to watches.", statistics.lines);
  count("sluice_sync_folded_total", "Changes that had no line of their own.", statistics.folded);
  count("sluice_sync_heartbeats_total", "Heartbeats written to watches.", statistics.heartbeats);

  count("sluice_sync_fetches_whole_total", "Fetches answered with the whole state.", statistics.fetched_whole);
  count("sluice_sync_fetches_delta_total", "Fetches answered with a delta.", statistics.fetched_delta);
  count("sluice_sync_fetches_unchanged_total", "Fetches answered 304.", statistics.fetched_nothing);
  count("sluice_sync_fetches_resync_total", "Fetches answered 410.", statistics.fetched_resync);
  count("sluice_sync_fetched_bytes_total", "Bytes of documents, as sent.", statistics.document_bytes);
  count("sluice_sync_documents_built_total", "Documents built; those who share one count once.", statistics.built);
  count("sluice_sync_built_bytes_total", "Bytes of documents built, as sent.", statistics.built_bytes);
  count("sluice_sync_reports_total", "Reports of agents taken.", statistics.reports);
  count("sluice_sync_looks_total", "Requests that PostgreSQL was looked at for before their answer.", statistics.asked);
  count("sluice_sync_auth_failures_total", "Requests without a token that opens something.", statistics.refused);
}

}  // namespace sluice::server
