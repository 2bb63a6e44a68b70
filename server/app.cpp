#include "server/app.hpp"

#include <algorithm>
#include <csignal>
#include <cstdlib>
#include <future>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <fmt/core.h>
#include <malloc.h>
#include <unistd.h>
#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>

#include "common/base/clock.hpp"
#include "common/base/version.hpp"
#include "common/otlp/exporter.hpp"
#include "common/otlp/metrics.hpp"
#include "common/program/client_ca.hpp"
#include "common/program/descriptors.hpp"
#include "common/program/listener_log.hpp"
#include "common/program/loop_pulse.hpp"
#include "common/program/probe_port.hpp"
#include "common/program/shutdown.hpp"
#include "common/program/unknown_variables.hpp"
#include "common/telemetry/log_metrics.hpp"
#include "common/telemetry/registry.hpp"
#include "common/tracing/tracer.hpp"
#include "server/admin/caller_gate.hpp"
#include "server/admin/service.hpp"
#include "server/auth/metrics.hpp"
#include "server/auth/token_lookups.hpp"
#include "server/console/console.hpp"
#include "server/fleet/fleet.hpp"
#include "server/fleet/metrics.hpp"
#include "server/fleet/whatif_answers.hpp"
#include "server/housekeeping.hpp"
#include "server/http/dispatch.hpp"
#include "server/http/headers.hpp"
#include "server/http/request_memory.hpp"
#include "server/identity/metrics.hpp"
#include "server/identity/reviewer.hpp"
#include "server/injector/injector.hpp"
#include "server/kubernetes/api_client.hpp"
#include "server/metrics.hpp"
#include "server/oidc/metrics.hpp"
#include "server/oidc/service.hpp"
#include "server/playground/agent_calls.hpp"
#include "server/playground/metrics.hpp"
#include "server/playground/visitors.hpp"
#include "server/postgres/metrics.hpp"
#include "server/redis_side.hpp"
#include "server/schema.hpp"
#include "server/serving_certificate.hpp"
#include "server/sessions/known_sessions.hpp"
#include "server/sessions/metrics.hpp"
#include "server/sessions/session_reads.hpp"
#include "server/sync/metrics.hpp"
#include "server/sync/request.hpp"
#include "server/sync/retention.hpp"
#include "server/sync/service.hpp"
#include "server/webhooks/metrics.hpp"
#include "server/webhooks/worker.hpp"

namespace sluice::server {
namespace {

// Bytes. Larger blocks go back to the system as soon as they are freed; glibc would raise this threshold by itself.
constexpr int kMappedFrom = 256 << 10;
constexpr std::chrono::seconds kStuckAfter{10};  // /livez fails if the event loop is stuck longer
constexpr std::chrono::seconds kFirstState{2};   // longest wait for the feed's first state at the start
constexpr std::chrono::seconds kLastCalls{1};    // longest wait for calls that still run after the drain
// Longest wait after the drain for deliveries to webhooks. Another server repeats what was not recorded.
constexpr std::chrono::seconds kLastDeliveries{2};
// Longest wait after the drain until agents' reports are stored. Agents repeat reports that were not stored.
constexpr std::chrono::milliseconds kLastReports{5'000};

class App {
 public:
  explicit App(const Config& config)
      : config_(config),
        log_lines_(STDERR_FILENO),
        log_(log_lines_, config.log_level, config.log_format),
        exporter_(config.tracing ? std::make_unique<otlp::Exporter>(*config.tracing, log_) : nullptr),
        memory_(config.request_memory),
        pool_(config.database, config.max_waiting),
        calls_(metrics_, sync::kRouteNames),
        fleet_(config.database, {.batch_every = config.usage_batch}, clock_, log_),
        feed_({.database = config.database, .tracer = tracer()}, log_),
        retention_(config.changes_retention, log_),
        redis_(config, fleet_, feed_, clock_, log_),
        lookups_(loop_, [this](auth::TokenLookups::Done done) { read_news(std::move(done)); }),
        sessions_(
            loop_,
            [this](std::vector<std::string> hashes, sessions::KnownSessions::Found found) {
              sessions::read_on(pool_, loop_, std::move(hashes), std::move(found));
            },
            clock_),
        rates_(config.admin_rates, clock_),
        gate_(lookups_, sessions_, throttle_, rates_, clock_),
        executor_(pool_, throttle_, config.admin_rates, clock_, log_),
        service_(loop_, pool_, memory_, gate_, executor_, calls_, log_, config.call_timeout, tracer()),
        sync_(loop_, feed_, fleet_, memory_, throttle_, lookups_, clock_, log_, sync_options()),
        console_(console::embedded_bundle()),
        sign_in_({.loop = loop_,
                  .pool = pool_,
                  .throttle = throttle_,
                  .clock = clock_,
                  .log = log_,
                  .is_view = [this](std::string_view path) { return console_.has_view(path); }},
                 config.oidc ? &*config.oidc : nullptr, config.site),
        dispatch_({{[](std::string_view path) { return path.starts_with(sync::SyncService::kPrefix); }, sync_},
                   {[](std::string_view path) { return path.starts_with(oidc::SignInService::kPrefix); }, sign_in_},
                   {[this](std::string_view path) { return console_.has(path); }, console_}},
                  service_),
        server_(loop_, http_options(), dispatch_),
        shutdown_(loop_, log_, config.drain_timeout),
        housekeeping_(loop_, pool_, retention_, sync_, config.analytics_retention, clock_),
        certificate_(loop_, clock_, log_, metrics_),
        client_ca_(loop_, log_),
        webhook_client_ca_(loop_, log_),
        pulse_(loop_),
        probe_port_(
            "The admin port",
            {.alive = [this] { return pulse_.beat_within(kStuckAfter); }, .degraded = [this] { return degraded(); }},
            [this] { return metrics_.render(); }) {
    executor_.set_outage(feed_.outage());
    if (redis_.publisher() != nullptr) executor_.set_publisher(*redis_.publisher());
    service_.set_site(config.site);
    metrics_.add(telemetry::log_metrics(), log_lines_);
    metrics_.add(admin::memory_metrics(), memory_);
    metrics_.add(admin::rate_metrics(), rates_);
    metrics_.add(admin::stream_metrics(), service_.streams());
    metrics_.add(auth::metrics(), throttle_);
    metrics_.add(auth::lookup_metrics(), lookups_.statistics());
    metrics_.add(sessions::lookup_metrics(), sessions_.statistics());
    metrics_.add(oidc::metrics(), sign_in_.statistics());
    metrics_.add(postgres::metrics(), pool_);
    metrics_.add(fleet::metrics(), fleet_.statistics());
    metrics_.add(sync::feed_metrics(), feed_.statistics());
    metrics_.add(sync::metrics(), sync_.statistics());
    metrics_.add(sync::retention_metrics(), retention_.statistics());
    if (exporter_) metrics_.add(otlp::trace_metrics(), *exporter_);
  }

  int run() {
    std::signal(SIGPIPE, SIG_IGN);
    mallopt(M_MMAP_THRESHOLD, kMappedFrom);
    log_.info("starting", "The server is starting.",
              {{"version", version()}, {"connections", config_.database.connections}});
    for (const Fault& warning : config_.warnings) {
      log_.warn(program::kPasswordOnCommandLine, warning.text + ".", {{"flag", warning.pointer}});
    }
    for (const Fault& unknown : config_.unknown_variables) {
      log_.warn(program::kUnknownVariable, unknown.text, {{"variable", unknown.pointer}});
    }
    if (!prepare_certificate() || !prepare_injector() || !prepare_schema(config_, log_) || !redis_.start(metrics_))
      return 1;
    if (exporter_) exporter_->start();
    start_sync();
    prepare_webhooks();
    start_playground();
    if (!listen()) return 1;
    if (webhooks_) webhooks_->start();
    shutdown_.await_signal(injector_ ? 2 : 1, [this] { drain(); });
    housekeeping_.start();
    pulse_.start();
    certificate_.start([this] { probe_port_.probes().set_ready(); });
    probe_port_.start();
    loop_.run();
    bool ended = pool_.stop_within(kLastCalls);
    ended = sync_.stop_within(kLastCalls) && ended;
    ended = fleet_.stop_within(std::min(kLastReports, config_.drain_timeout)) && ended;
    const bool delivered = !webhooks_ || webhooks_->stop_within(std::min<std::chrono::milliseconds>(
                                             kLastDeliveries, config_.drain_timeout));
    ended = redis_.stop_within(kLastCalls) && ended;
    shutdown_.ignore_signals();
    if (!ended) {
      log_.warn("calls_abandoned",
                "PostgreSQL does not answer; the server stops without waiting for its running calls.",
                {{"calls", pool_.busy()}});
    }
    if (!delivered) {
      log_.warn("deliveries_abandoned",
                "The server stops without waiting for its running deliveries to customers' webhooks; another server "
                "repeats them when their leases end.");
    }
    if (!ended || !delivered) leave();
    probe_port_.stop();
    if (exporter_) exporter_->stop();
    log_.info("stopped", "The server has stopped.");
    return 0;
  }

 private:
  static sluice::http::ServerOptions http_options() {
    sluice::http::ServerOptions options;
    options.refusal_headers = http::kCommonHeaders;
    options.max_connections =
        program::connections_per_worker(program::raise_descriptor_limit(), 1, options.max_connections);
    return options;
  }
  tracing::Tracer* tracer() const { return exporter_ ? &exporter_->tracer() : nullptr; }
  sync::SyncService::Options sync_options();
  bool prepare_certificate();
  bool prepare_injector();
  void start_sync();
  void prepare_webhooks();
  void start_playground();
  bool listen();
  void drain();
  [[noreturn]] void leave();
  void read_news(auth::TokenLookups::Done done);
  std::vector<std::string> degraded() const;

  const Config& config_;
  SystemClock clock_;
  telemetry::LineWriter log_lines_;
  telemetry::Log log_;
  auth::FailureThrottle throttle_;
  std::unique_ptr<otlp::Exporter> exporter_;  // nullptr: no traces; before all that has spans
  http::RequestMemory memory_;                // before all that keeps requests
  boost::asio::io_context loop_{1};
  postgres::Pool pool_;
  telemetry::Registry metrics_;
  admin::CallMetrics calls_;
  fleet::Fleet fleet_;
  fleet::WhatIfAnswers whatif_answers_{loop_, pool_};
  sync::Feed feed_;
  sync::Retention retention_;
  RedisSide redis_;
  auth::TokenLookups lookups_;
  sessions::KnownSessions sessions_;
  admin::TokenRates rates_;
  admin::CallerGate gate_;
  admin::Executor executor_;
  admin::AdminService service_;
  playground::Visitors visitors_;
  std::optional<playground::AgentCalls> playground_;  // only with --playground-agent
  std::optional<webhooks::Worker> webhooks_;          // only with --notify-secret-file
  std::optional<kubernetes::ApiClient> review_api_;   // only for token reviews, so that they delay nothing else
  std::optional<identity::Reviewer> reviewer_;        // only with --kubernetes
  sync::SyncService sync_;
  console::Console console_;
  oidc::SignInService sign_in_;
  http::Dispatch dispatch_;
  sluice::http::Server server_;
  program::Shutdown shutdown_;
  Housekeeping housekeeping_;
  std::unique_ptr<kubernetes::ApiClient> kubernetes_;  // only with --kubernetes
  ServingCertificate certificate_;
  program::ClientCa client_ca_;                   // of --listen
  program::ClientCa webhook_client_ca_;           // of --webhook
  std::unique_ptr<injector::Injector> injector_;  // only with --webhook
  TlsListeners tls_listeners_{.api = &server_};
  program::LoopPulse pulse_;
  program::ProbePort probe_port_;  // the last one, because its thread reads the others
};

bool App::prepare_certificate() {
  if (config_.kubernetes.api) kubernetes_ = std::make_unique<kubernetes::ApiClient>(loop_, *config_.kubernetes.api);
  if (!client_ca_.load(config_.client_ca)) return false;
  if (!config_.kubernetes.self_managed) return certificate_.load(config_.certificate, config_.tls_ca);
  certificate_.use_own_authority(*kubernetes_, *config_.kubernetes.self_managed);
  return true;
}

bool App::prepare_injector() {
  if (!config_.injector) return true;
  if (!webhook_client_ca_.load(config_.injector->client_ca)) return false;
  if (!config_.client_ca.empty()) {
    log_.warn("sidecars_without_certificate",
              "This server demands client certificates (--tls-client-ca), and the agents that --webhook puts into pods "
              "have none: let --inject-server-url name servers that demand none.",
              {{"inject_server_url", config_.injector->settings.server_url}});
  }
  injector_ = std::make_unique<injector::Injector>(
      loop_, *config_.injector, kubernetes_.get(), [this] { return certificate_.ca_pem(); }, clock_, log_, tracer());
  injector_->add_metrics(metrics_);
  tls_listeners_.webhook = &injector_->server();
  const auto loaded = injector_->load();
  if (!loaded) log_.error("inject_ca_faulty", loaded.error().text, {{"code", loaded.error().code}});
  return loaded.has_value();
}

sync::SyncService::Options App::sync_options() {
  sync::SyncService::Options options;
  options.counters = redis_.login();
  options.tracer = tracer();
  options.answers = &whatif_answers_;
  options.answered = [this](std::optional<sync::SyncRoute> route, unsigned status, std::chrono::nanoseconds took) {
    calls_.count_other(route ? std::optional(static_cast<std::size_t>(*route)) : std::nullopt, status, took);
  };
  // A watch with a revoked token stays open until the cached review expires, and up to `review_every` longer.
  options.watch.review_every =
      std::clamp(config_.identity.review.accepted_for / 8, std::chrono::milliseconds(100), options.watch.review_every);
  return options;
}

// Waits up to kFirstState until the feed has read all objects. Without this wait, all agents that reconnect after a
// restart would be answered at the same moment.
void App::start_sync() {
  fleet_.start();
  if (config_.kubernetes.api) {
    review_api_.emplace(loop_, *config_.kubernetes.api);
    reviewer_.emplace(*review_api_, clock_, log_, config_.identity.review);
    metrics_.add(identity::metrics(), reviewer_->statistics());
    sync_.review_through(*reviewer_);
  }
  sync_.follow([this](const sync::SyncStatePtr& state) {
    gate_.set_tokens(state->admin_tokens, state->quotas);
    fleet_.set_quotas(state->quotas);
    redis_.set_state(state);
  });
  sync_.start();
  const auto read = std::make_shared<std::promise<void>>();
  feed_.poll([read](bool) { read->set_value(); });
  read->get_future().wait_for(kFirstState);
}

void App::prepare_webhooks() {
  if (!config_.webhooks) return;
  executor_.set_webhooks(*config_.webhooks);
  webhooks_.emplace(config_.database, *config_.webhooks, webhooks::Worker::Options{}, log_);
  metrics_.add(webhooks::metrics(), webhooks_->statistics());
}

void App::start_playground() {
  if (!config_.playground) return;
  executor_.set_playground(*config_.playground);
  playground_.emplace(loop_, *config_.playground, log_);
  service_.set_agent(*playground_);
  metrics_.add(playground::metrics(), playground_->statistics());
  if (!config_.playground->public_tenant.empty()) gate_.admit_visitors(visitors_);
}

bool App::listen() {
  using program::log_listener;
  const auto& certificates = certificate_.get();
  if (certificates) metrics_.add(tls_metrics(), tls_listeners_);
  const auto port = certificates ? server_.listen_tls(config_.listen, false, certificates, client_ca_.get())
                                 : server_.listen_tcp(config_.listen, false);
  if (!log_listener(log_, port, certificates ? "API over TLS" : "API", "--listen", config_.listen)) return false;
  const auto probes = probe_port_.listen(config_.admin);
  if (!log_listener(log_, probes, "probes", "--admin", config_.admin)) return false;
  if (!injector_) return true;
  const auto webhook = injector_->start(certificates, webhook_client_ca_.get());
  return log_listener(log_, webhook, "webhook", "--webhook", config_.injector->listen);
}

void App::drain() {
  probe_port_.probes().set_draining();
  housekeeping_.stop();
  certificate_.stop();
  client_ca_.stop();
  webhook_client_ca_.stop();
  service_.end_waiting();
  server_.drain([this] { shutdown_.drained(); });
  if (injector_) injector_->drain([this] { shutdown_.drained(); });
}

// Ends the process while threads still wait for PostgreSQL or for a name server: libpq and the system's resolver cannot
// be interrupted.
void App::leave() {
  if (exporter_) exporter_->stop();
  log_lines_.stop();
  std::_Exit(0);
}

// Lets the feed read what is new in PostgreSQL.
void App::read_news(auth::TokenLookups::Done done) {
  feed_.poll([this, done = std::move(done)](bool succeeded) {
    boost::asio::post(loop_, [done, succeeded] { done(succeeded); });
  });
}

// Called by the probes' thread.
std::vector<std::string> App::degraded() const {
  std::vector<std::string> found = redis_.degraded();
  if (!pool_.reachable()) found.emplace_back("PostgreSQL is not reachable: admin calls are answered 503");
  for (std::string& text : feed_.degraded()) found.push_back(std::move(text));
  if (const std::string why = reviewer_ ? reviewer_->degraded() : ""; !why.empty()) {
    found.push_back("agents' tokens cannot be reviewed: " + why);
  }
  if (auto text = certificate_.degraded()) found.push_back(*std::move(text));
  return found;
}

}  // namespace

int run(const Config& config) { return App(config).run(); }

}  // namespace sluice::server
