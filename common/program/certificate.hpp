// The certificate of a program's TLS listener: loaded at the start, and looked at again every few seconds. A renewed
// one counts from the next connection on; a faulty one leaves the former in force, and the log says so.
//
// Thread: the loop's; what get() gives may be used by all.
#pragma once

#include <memory>
#include <utility>

#include <prometheus/metric_type.h>
#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>

#include "common/http/tls.hpp"
#include "common/program/config_reader.hpp"
#include "common/telemetry/log.hpp"

namespace sluice::program {

// The flags `tls-cert` and `tls-key`: both or none. Both are "" where there is no TLS.
http::CertificateFiles read_certificate(ConfigReader& reader);

// Exposes when the certificate in force ends. `metrics` is the program's, with add(name, help, type, read).
template <class Metrics>
void expose_end(Metrics& metrics, std::shared_ptr<const http::Certificates> certificates) {
  metrics.add("sluice_tls_certificate_not_after_seconds", "When the certificate in force ends, Unix time.",
              prometheus::MetricType::Gauge, [shown = std::move(certificates)] {
                return static_cast<double>(shown->not_after().time_since_epoch().count());
              });
}

class Certificate {
 public:
  Certificate(boost::asio::io_context& loop, telemetry::Log& log) : log_(log), timer_(loop) {}

  // Before the loop runs; exposes its end in `metrics` (see expose_end). False: it is faulty, which was logged.
  template <class Metrics>
  bool load(const http::CertificateFiles& files, Metrics& metrics) {
    if (!load(files)) return false;
    if (certificates_) expose_end(metrics, certificates_);
    return true;
  }
  void stop() { timer_.cancel(); }  // no more looks

  const std::shared_ptr<http::Certificates>& get() const { return certificates_; }  // nullptr: no TLS

 private:
  bool load(const http::CertificateFiles& files);
  void look_again();

  telemetry::Log& log_;
  boost::asio::steady_timer timer_;
  std::shared_ptr<http::Certificates> certificates_;
};

}  // namespace sluice::program
