#include "agent/app.hpp"

#include <csignal>
#include <deque>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <unistd.h>
#include <boost/asio/io_context.hpp>

#include "agent/authz_key.hpp"
#include "agent/listeners.hpp"
#include "agent/metrics.hpp"
#include "agent/metrics_token.hpp"
#include "agent/rls/rate_limit_folder.hpp"
#include "agent/startup.hpp"
#include "agent/worker.hpp"
#include "common/base/version.hpp"
#include "common/otlp/metrics.hpp"
#include "common/program/certificate.hpp"
#include "common/program/client_ca.hpp"
#include "common/program/config_reader.hpp"
#include "common/program/descriptors.hpp"
#include "common/program/listener_log.hpp"
#include "common/program/probes.hpp"
#include "common/program/shutdown.hpp"
#include "common/program/unknown_variables.hpp"
#include "common/telemetry/alias_metrics.hpp"
#include "common/telemetry/log_metrics.hpp"
#include "common/telemetry/outage_log.hpp"
#include "engine/core/core.hpp"

namespace sluice::agent {
namespace {

using std::chrono::steady_clock;

constexpr std::size_t kMaxWaitingOutput = std::size_t{16} << 20;  // bytes, of all workers together
constexpr std::chrono::seconds kStuckAfter{10};                   // /livez fails if a worker's loop is stuck longer

constexpr telemetry::OutageLog::Lines kDecisionLogLines{
    .lasts_event = "decision_log_still_failing",
    .lasts_message = "The decision log still cannot be written. The newest lines wait, older ones are dropped.",
    .ended_event = "decision_log_back",
    .ended_message = "The decision log is written again."};

class App {
 public:
  explicit App(const Config& config)
      : config_(config),
        log_lines_(STDERR_FILENO),
        log_(log_lines_, config.log_level, config.log_format),
        decision_lines_(line_sinks::make_sink(config.decision_log_to, "sluice-agent", "decision"),
                        telemetry::LineWriter::Outage{&decision_outage_, "decision_log_failed",
                                                      "The decision log cannot be written. The newest lines wait."}),
        decision_log_(config.decision_log, decision_lines_, clock_),
        metrics_(metrics_options(config), clock_),
        core_(core_options(), clock_, metrics_, log_, decision_log_),
        shared_{.engine = core_.shared(), .options = front_end_options(config), .http = http_options(config)},
        metrics_page_(
            admin_loop_, [this] { return metrics_.render(); }, metrics_readers()),
        probes_("The admin port",
                {.alive = [this] { return alive(); },
                 .degraded = [this] { return degraded(); },
                 .starting = [this] { return starting(); },
                 .equipped = [this] { return equipped(); }},
                config.metrics_listen.empty() ? &metrics_page_ : nullptr),
        startup_(steady_clock::now() + config.startup_wait),
        admin_server_(admin_loop_, http::ServerOptions{}, probes_),
        metrics_server_(admin_loop_, http::ServerOptions{}, metrics_page_),
        shutdown_(admin_loop_, log_, config.drain_timeout),
        certificate_(admin_loop_, log_),
        client_ca_(admin_loop_, log_),
        authz_key_(admin_loop_, log_) {
    if (!config.grpc.empty()) {
      shared_.grpc = &grpc_metrics_.emplace(config.workers, !config.ratelimit_folder.empty());
      metrics_.add(grpc_metrics_->calls);
      metrics_.add(rpc::connection_metrics(), *grpc_metrics_);
    }
    if (config.ratelimit.rule_metrics) shared_.rule_metrics = &rule_metrics_.emplace();
    if (config.metrics_aliases) {
      metrics_.add(telemetry::alias_metrics(), metrics_);
      metrics_.add(alias_requests_);
      metrics_.add(alias_latency_);
    }
    if (config.tracing) {
      core_.shared().tracer = &exporter_.emplace(*config.tracing, log_).tracer();
      metrics_.add(otlp::trace_metrics(), *exporter_);
    }
    metrics_.add(telemetry::log_metrics(), log_lines_);
    metrics_.add(telemetry::decision_log_metrics(), decision_lines_);
  }

  int run() {
    std::signal(SIGPIPE, SIG_IGN);
    std::signal(SIGHUP, SIG_IGN);   // a source of policies that reads files again takes the signal over
    std::signal(SIGXFSZ, SIG_IGN);  // beyond the limit of file sizes, write() fails instead
    if (!certificate_.load(config_.certificate, metrics_) || !client_ca_.load(config_.client_ca)) return 1;
    if (!load_metrics_token() || !load() || !load_authz_key() || !listen()) return 1;
    shutdown_.await_signal(workers_.size(), [this] { drain(); });
    std::vector<std::jthread> threads;
    threads.reserve(workers_.size());
    for (Worker& worker : workers_) threads.emplace_back([&worker] { worker.run(); });
    if (exporter_) exporter_->start();
    core_.start();
    if (rate_limits_) rate_limits_->start();
    probes_.set_ready();
    admin_loop_.run();
    core_.stop();
    if (rate_limits_) rate_limits_->stop();
    for (Worker& worker : workers_) worker.stop();
    threads.clear();  // joins
    if (exporter_) exporter_->stop();
    shutdown_.ignore_signals();
    log_.info("stopped", "The agent has stopped.");
    return 0;
  }

 private:
  engine::CoreOptions core_options();
  static FrontEndOptions front_end_options(const Config& config) {
    return {.headers = config.headers,
            .ratelimit = config.ratelimit_folder.empty() ? std::nullopt : std::optional(config.ratelimit),
            .callers_have_certificates = !config.client_ca.empty(),
            .authz = config.authz};
  }
  static http::ServerOptions http_options(const Config& config) {
    http::ServerOptions options;
    const std::size_t listeners = config.workers * (config.grpc.empty() ? 1 : 2);
    options.max_connections =
        program::connections_per_worker(program::raise_descriptor_limit(), listeners, options.max_connections);
    options.max_waiting_output = kMaxWaitingOutput / config.workers;
    return options;
  }
  bool load();  // returns false if the agent must not start
  bool load_rate_limits();
  bool load_metrics_token();
  bool load_authz_key();
  program::MetricsPage::Admit metrics_readers();
  bool listen();
  void drain();
  bool alive() const;
  std::vector<std::string> degraded() const;
  bool equipped() const;
  std::vector<std::string> starting();

  const Config& config_;
  SystemClock clock_;
  telemetry::LineWriter log_lines_;
  telemetry::Log log_;
  telemetry::OutageLog decision_outage_{log_, kDecisionLogLines};
  telemetry::LineWriter decision_lines_;
  telemetry::DecisionLog decision_log_;
  telemetry::Metrics metrics_;
  const telemetry::AliasRequests alias_requests_{metrics_.http};
  const telemetry::AliasLatency alias_latency_{metrics_.decision_duration};
  std::optional<otlp::Exporter> exporter_;  // only with --otlp-endpoint; outlives those that make spans
  engine::Core core_;
  WorkerShared shared_;
  std::optional<rpc::Metrics> grpc_metrics_;         // only with --grpc
  std::optional<rls::RuleMetrics> rule_metrics_;     // only with --ratelimit-metrics
  std::optional<rls::RateLimitFolder> rate_limits_;  // only with --ratelimit-config
  std::deque<Worker> workers_;
  boost::asio::io_context admin_loop_{1};
  std::optional<MetricsToken> metrics_token_;  // only with --metrics-token-file
  program::MetricsPage metrics_page_;
  program::Probes probes_;
  Startup startup_;
  http::Server admin_server_;
  http::Server metrics_server_;  // listens only with --metrics-listen
  program::Shutdown shutdown_;
  program::Certificate certificate_;
  program::ClientCa client_ca_;
  AuthzKey authz_key_;
};

engine::CoreOptions App::core_options() {
  return {.policies_file = config_.policies_file,
          .server = config_.server,
          .mode = config_.mode,
          .redis = config_.redis,
          .memory_limit = config_.memory_limit,
          .one_thread = config_.workers == 1,
          .record_decisions = config_.record_decisions,
          .lanes = {.lanes = config_.workers,
                    .max_in_flight = config_.max_in_flight,
                    .max_waiting = config_.max_waiting,
                    .max_wait = config_.max_wait,
                    .matching_budget = config_.matching_budget,
                    .redis_budget = config_.redis_budget,
                    .allow_without_snapshot = config_.allow_without_snapshot,
                    .policy_label = config_.metrics_policy_label},
          .without_source =
              std::string("the agent was started without --server and --policies") +
              (config_.ratelimit_folder.empty() ? "" : "; with --ratelimit-config alone it answers POST /json"),
          .on_head = [this](const sync::Position& head, std::int64_t confirmed_us) {
            const auto revision = static_cast<std::uint64_t>(head.revision);
            for (Worker& worker : workers_) worker.set_head({revision, head.chain, confirmed_us});
          }};
}

bool App::load() {
  log_.info("starting", "The agent is starting.",
            {{"version", version()}, {"workers", config_.workers}, {"max_connections", shared_.http.max_connections}});
  for (const Fault& warning : config_.warnings) {
    log_.warn(program::kPasswordOnCommandLine, warning.text + ".", {{"flag", warning.pointer}});
  }
  for (const Fault& unknown : config_.unknown_variables) {
    log_.warn(program::kUnknownVariable, unknown.text, {{"variable", unknown.pointer}});
  }
  for (std::size_t i = 0; i < config_.workers; ++i) core_.add(workers_.emplace_back(i, shared_).lane());
  if (!core_.load()) return false;
  if (!core_.has_source() && config_.ratelimit_folder.empty()) {
    log_.warn("no_snapshot",
              "There are no policies (--server URL, --policies FILE): checks are answered with no_snapshot.");
  }
  return load_rate_limits();
}

bool App::load_rate_limits() {
  if (config_.ratelimit_folder.empty()) return true;
  if (config_.ratelimit.stands_alone) core_.counters().set_tenants(1);
  metrics_.add(rls::count_metrics(), shared_.ratelimit_counts);
  rate_limits_.emplace(config_.ratelimit_folder, clock_, log_, [this](const rls::RateLimitConfig& config) {
    const rls::InForce in_force{.config = config, .metrics = rule_metrics_ ? rule_metrics_->index(*config) : nullptr};
    for (Worker& worker : workers_) worker.set_rate_limits(in_force);
  });
  metrics_.add(rls::RateLimitFolder::metric_table(), *rate_limits_);
  if (rule_metrics_) {
    for (const auto& instrument : rule_metrics_->instruments()) metrics_.add(*instrument);
    metrics_.add(rls::error_metrics(), shared_.ratelimit_counts);
    metrics_.add(rls::RateLimitFolder::load_metrics(), *rate_limits_);
  }
  return rate_limits_->load_first();
}

bool App::load_metrics_token() {
  if (config_.metrics_token_file.empty()) return true;
  const auto loaded = metrics_token_.emplace(config_.metrics_token_file, log_).load();
  if (!loaded) log_.error("metrics_token_faulty", loaded.error().text, {{"code", loaded.error().code}});
  return loaded.has_value();
}

bool App::load_authz_key() {
  return authz_key_.load(config_.authz_key_file, [this](const std::string& key) {
    for (Worker& worker : workers_) worker.set_authz_key(key);
  });
}

// Empty: everybody may read the metrics.
program::MetricsPage::Admit App::metrics_readers() {
  if (config_.metrics_token_file.empty()) return {};
  return [this](std::string_view token) { return metrics_token_->matches(token); };
}

bool App::listen() {
  const Listeners listeners{.config = config_,
                            .log = log_,
                            .workers = workers_,
                            .certificates = certificate_.get(),
                            .clients = client_ca_.get(),
                            .loop = admin_loop_,
                            .handler = probes_};
  if (!listeners.listen()) return false;
  if (!program::log_listener(log_, admin_server_.listen_tcp(config_.admin, false), "admin", "--admin", config_.admin))
    return false;
  const std::string& address = config_.metrics_listen;
  return address.empty() || program::log_listener(log_, metrics_server_.listen_tcp(address, false), "metrics",
                                                  "--metrics-listen", address);
}

void App::drain() {
  probes_.set_draining();
  certificate_.stop();
  client_ca_.stop();
  authz_key_.stop();
  for (Worker& worker : workers_) worker.drain([this] { shutdown_.drained(); });
}

bool App::alive() const {
  auto oldest = steady_clock::now() - kStuckAfter;
  for (const Worker& worker : workers_) {
    if (worker.last_turn() < oldest) return false;
  }
  return true;
}

std::vector<std::string> App::degraded() const {
  std::vector<std::string> found = core_.degraded_source();
  if (!core_.has_source() && !rate_limits_)
    found.emplace_back("no policies are loaded: checks are answered with no_snapshot");
  if (rate_limits_) {
    if (auto refusal = rate_limits_->refusal()) found.push_back(std::move(*refusal));
  }
  for (std::string& reason : core_.degraded_counters()) found.push_back(std::move(reason));
  return found;
}

// An agent that would answer every check with no_snapshot gets no traffic, unless it is there for other requests.
bool App::equipped() const {
  if (rate_limits_ && config_.ratelimit.stands_alone) return true;
  return config_.allow_without_snapshot || core_.had_policies();
}

std::vector<std::string> App::starting() {
  return startup_.waits_for(steady_clock::now(), !core_.has_source() || core_.had_policies(), core_.counters_ready());
}

}  // namespace

int run(const Config& config) { return App(config).run(); }

}  // namespace sluice::agent
