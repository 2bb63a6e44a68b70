// The certificate of a TLS listener: loaded at the start, and checked for changes every 5 s. New connections use a
// renewed certificate. If the renewed files are faulty, the old certificate stays in force, and the log says so.
//
// Thread safety: a Certificate belongs to the loop's thread; the object that get() returns may be used by any thread.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>

#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>

#include "common/http/tls.hpp"
#include "common/program/config_reader.hpp"
#include "common/telemetry/log.hpp"
#include "common/telemetry/registry.hpp"

namespace sluice::program {

// Reads the flags `tls-cert` and `tls-key`. Records a fault if only one is given. Without TLS, both paths are "".
http::CertificateFiles read_certificate(ConfigReader& reader);

// The metric of a certificate's expiry. A program with further certificates exposes their expiry under the same name.
inline constexpr const char* kCertificateExpiry = "sluice_tls_certificate_expiry_timestamp_seconds";
inline constexpr const char* kCertificateExpiryHelp = "Expiry of the certificate in force, in Unix time.";
std::int64_t expiry(const http::Certificates& certificates);  // in Unix time
const telemetry::MetricTable<http::Certificates>& certificate_metrics();

class Certificate {
 public:
  Certificate(boost::asio::io_context& loop, telemetry::Log& log,
              std::chrono::milliseconds check_every = std::chrono::seconds(5))
      : log_(log), check_every_(check_every), timer_(loop) {}

  // Loads the files and registers the metric; does nothing if the paths are "". Returns false if the files are faulty;
  // the log says why. REQUIRES: called before the loop runs; this object lives as long as `metrics` is read.
  bool load(const http::CertificateFiles& files, telemetry::Registry& metrics);
  void stop() { timer_.cancel(); }  // ends the checks for changes

  const std::shared_ptr<http::Certificates>& get() const { return certificates_; }  // nullptr without TLS

 private:
  void watch_files();

  telemetry::Log& log_;
  const std::chrono::milliseconds check_every_;
  boost::asio::steady_timer timer_;
  std::shared_ptr<http::Certificates> certificates_;
};

}  // namespace sluice::program
