#include "server/sync/metrics.hpp"

namespace sluice::server::sync {

void add_metrics(telemetry::Registry& registry, const Feed& feed, const SyncStatistics& statistics) {
  const Feed::Statistics& fed = feed.statistics();
  registry.gauge("sluice_sync_revision", "The newest revision that agents can be given.", fed.revision);
  registry.gauge("sluice_sync_following", "1 while PostgreSQL could be asked last time.", fed.following);
  registry.counter("sluice_sync_revisions_total", "Revisions heard of.", fed.revisions);
  registry.counter("sluice_sync_rounds_total", "How often PostgreSQL was asked what is new.", fed.rounds);
  registry.counter("sluice_sync_round_failures_total", "How often it could not be asked.", fed.failures);
  registry.counter("sluice_sync_reloads_total",
                   "How often everything was read: at the start, and where the history was another.", fed.wholes);

  registry.gauge("sluice_sync_watches", "Watch streams that are open.", statistics.watches);
  registry.counter("sluice_sync_invalidations_total", "Changes that watches heard of, each watch for itself.",
                   statistics.invalidations);
  registry.counter("sluice_sync_lines_total", "Invalidations written to watches.", statistics.lines);
  registry.counter("sluice_sync_folded_total", "Changes that had no line of their own.", statistics.folded);
  registry.counter("sluice_sync_heartbeats_total", "Heartbeats written to watches.", statistics.heartbeats);

  registry.counter("sluice_sync_fetches_whole_total", "Fetches answered with the whole state.",
                   statistics.fetched_whole);
  registry.counter("sluice_sync_fetches_delta_total", "Fetches answered with a delta.", statistics.fetched_delta);
  registry.counter("sluice_sync_fetches_unchanged_total", "Fetches answered 304.", statistics.fetched_nothing);
  registry.counter("sluice_sync_fetches_resync_total", "Fetches answered 410.", statistics.fetched_resync);
  registry.counter("sluice_sync_fetched_bytes_total", "Bytes of documents, as sent.", statistics.document_bytes);
  registry.counter("sluice_sync_documents_built_total", "Documents built; those who share one count once.",
                   statistics.built);
  registry.counter("sluice_sync_built_bytes_total", "Bytes of documents built, as sent.", statistics.built_bytes);
  registry.counter("sluice_sync_reports_total", "Reports of agents taken.", statistics.reports);
  registry.counter("sluice_sync_looks_total", "Requests that PostgreSQL was looked at for before their answer.",
                   statistics.asked);
  registry.counter("sluice_sync_auth_failures_total", "Requests without a token that opens something.",
                   statistics.refused);
}

}  // namespace sluice::server::sync
