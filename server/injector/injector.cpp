#include "server/injector/injector.hpp"

#include <utility>

#include "server/injector/metrics.hpp"

namespace sluice::server::injector {
namespace {

constexpr std::chrono::seconds kReadFileEvery{10};

}  // namespace

Injector::Injector(boost::asio::io_context& loop, const InjectorOptions& options, kubernetes::Api* api,
                   ServerCa server_ca, const Clock& clock, telemetry::Log& log, tracing::Tracer* tracer)
    : log_(log),
      listen_(options.listen),
      settings_(options.settings),
      server_ca_(std::move(server_ca)),
      counters_ca_(options.counters_ca_file),
      webhook_([this]() -> const InjectorSettings& { return settings(); }, log, tracer),
      server_(loop, sluice::http::ServerOptions{}, webhook_),
      timer_(loop) {
  if (api != nullptr) missed_ = std::make_unique<MissedPods>(loop, *api, settings_, clock, log, options.missed_every);
}

// While the server's CA certificates are unknown, pods get the last known ones.
const InjectorSettings& Injector::settings() {
  if (std::string now = server_ca_(); !now.empty()) settings_.server_ca = std::move(now);
  return settings_;
}

void Injector::add_metrics(telemetry::Registry& registry) const {
  registry.add(webhook_.reviews);
  registry.add(webhook_.skipped);
  registry.add(webhook_.duration);
  if (missed_) registry.add(missed_pods_metrics(), missed_->statistics());
}

Result<std::uint16_t> Injector::start(std::shared_ptr<const sluice::http::Certificates> certificates,
                                      std::shared_ptr<const sluice::http::ClientAuthorities> clients) {
  auto port = server_.listen_tls(listen_, false, std::move(certificates), std::move(clients));
  if (!port) return port;
  reload_periodically();
  if (missed_) missed_->scan();
  return port;
}

void Injector::drain(std::function<void()> drained) {
  timer_.cancel();
  if (missed_) missed_->stop();
  server_.drain(std::move(drained));
}

Result<> Injector::load() {
  auto read = counters_ca_.read();
  if (!read) return std::unexpected(std::move(read.error()));
  settings_.counters_ca = *std::move(read);
  return {};
}

// While the file of counters_ca_ is invalid, its last valid content stays in use.
void Injector::reload_periodically() {
  timer_.expires_after(kReadFileEvery);
  timer_.async_wait([this](const boost::system::error_code& stopped) {
    if (stopped) return;
    const auto read = load();
    if (!read && !std::exchange(ca_file_invalid_, true)) {
      log_.warn("inject_ca_faulty", read.error().text, {{"code", read.error().code}});
    } else if (read && std::exchange(ca_file_invalid_, false)) {
      log_.info("inject_ca_good", "The CA certificates for pods can be read again.");
    }
    reload_periodically();
  });
}

}  // namespace sluice::server::injector
