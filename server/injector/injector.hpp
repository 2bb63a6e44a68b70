// Runs the injector: the webhook on a listener of its own, and the search for pods that were created without an agent.
//
// Thread: the loop's; metrics may be read from any thread. REQUIRES: the objects that the constructor gets by
// reference, and `*api`, outlive this object.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>

#include "common/base/clock.hpp"
#include "common/base/error.hpp"
#include "common/http/server.hpp"
#include "common/telemetry/log.hpp"
#include "common/telemetry/registry.hpp"
#include "server/injector/flags.hpp"
#include "server/injector/missed_pods.hpp"
#include "server/injector/pem_file.hpp"
#include "server/injector/webhook.hpp"
#include "server/kubernetes/api_client.hpp"

namespace sluice::server::injector {

class Injector {
 public:
  // `api`: nullptr means no search for missed pods. `server_ca` returns the CA certificates (PEM) that agents trust for
  // --inject-server-url, or "" while they are unknown.
  using ServerCa = std::function<std::string()>;
  Injector(boost::asio::io_context& loop, const InjectorOptions& options, kubernetes::Api* api, ServerCa server_ca,
           const Clock& clock, telemetry::Log& log, tracing::Tracer* tracer);

  void add_metrics(telemetry::Registry& registry) const;  // REQUIRES: this object outlives every scrape
  // Reads --inject-counters-ca. Error: that of PemFile::read().
  Result<> load();
  // Returns the webhook's port. `clients`: as for http::Server. Errors: those of http::Server.
  Result<std::uint16_t> start(std::shared_ptr<const sluice::http::Certificates> certificates,
                              std::shared_ptr<const sluice::http::ClientAuthorities> clients);
  const sluice::http::Server& server() const { return server_; }
  void drain(std::function<void()> drained);

 private:
  const InjectorSettings& settings();
  void reload_periodically();

  telemetry::Log& log_;
  const std::string listen_;
  InjectorSettings settings_;
  const ServerCa server_ca_;
  const PemFile counters_ca_;
  bool ca_file_invalid_ = false;
  Webhook webhook_;
  sluice::http::Server server_;
  boost::asio::steady_timer timer_;
  std::unique_ptr<MissedPods> missed_;
};

}  // namespace sluice::server::injector
