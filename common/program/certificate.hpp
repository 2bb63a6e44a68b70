// The certificate of a TLS listener: loaded at the start, and checked for changes every 5 s. New connections use a
// renewed certificate; after a faulty renewal the old one stays in force, and the log says so.
//
// Thread safety: belongs to the loop's thread; the object behind get() may be used by any thread.
#pragma once

#include <chrono>
#include <memory>
#include <utility>

#include <prometheus/metric_type.h>
#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>

#include "common/http/tls.hpp"
#include "common/program/config_reader.hpp"
#include "common/telemetry/log.hpp"

namespace sluice::program {

// Reads the flags `tls-cert` and `tls-key`: both or none. Both paths are "" without TLS.
http::CertificateFiles read_certificate(ConfigReader& reader);

// Registers the metric of the certificate's expiry. `metrics` has a function add(name, help, type, read).
template <class Metrics>
void expose_end(Metrics& metrics, std::shared_ptr<const http::Certificates> certificates) {
  metrics.add("sluice_tls_certificate_not_after_seconds", "Expiry of the TLS certificate in force, in Unix time.",
              prometheus::MetricType::Gauge, [shown = std::move(certificates)] {
                return static_cast<double>(shown->not_after().time_since_epoch().count());
              });
}

class Certificate {
 public:
  Certificate(boost::asio::io_context& loop, telemetry::Log& log,
              std::chrono::milliseconds check_every = std::chrono::seconds(5))
      : log_(log), check_every_(check_every), timer_(loop) {}

  // Loads the files and registers the metric. False: they are faulty, which was logged. REQUIRES: before the loop runs.
  template <class Metrics>
  bool load(const http::CertificateFiles& files, Metrics& metrics) {
    if (!load(files)) return false;
    if (certificates_) expose_end(metrics, certificates_);
    return true;
  }
  void stop() { timer_.cancel(); }  // ends the checks for changes

  const std::shared_ptr<http::Certificates>& get() const { return certificates_; }  // nullptr without TLS

 private:
  bool load(const http::CertificateFiles& files);
  void watch_files();

  telemetry::Log& log_;
  const std::chrono::milliseconds check_every_;
  boost::asio::steady_timer timer_;
  std::shared_ptr<http::Certificates> certificates_;
};

}  // namespace sluice::program
