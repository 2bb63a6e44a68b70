// The certificate of a TLS listener, checked for changes every 5 s. If changed files are faulty, the old certificate
// stays in force.
//
// Thread safety: a Certificate belongs to the loop's thread; any thread may use the object that get() returns.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>

#include <boost/asio/io_context.hpp>

#include "common/http/tls.hpp"
#include "common/program/config_reader.hpp"
#include "common/program/reload_timer.hpp"
#include "common/telemetry/log.hpp"
#include "common/telemetry/registry.hpp"

namespace sluice::program {

// Reads the flags `tls-cert` and `tls-key`. Without TLS, both paths are "".
http::CertificateFiles read_certificate(ConfigReader& reader);

inline constexpr const char* kCertificateExpiry = "sluice_tls_certificate_expiry_timestamp_seconds";
inline constexpr const char* kCertificateExpiryHelp = "Expiry of the certificate in force, in Unix time.";
std::int64_t expiry(const http::Certificates& certificates);  // in Unix time
const telemetry::MetricTable<http::Certificates>& certificate_metrics();

class Certificate {
 public:
  Certificate(boost::asio::io_context& loop, telemetry::Log& log,
              std::chrono::milliseconds check_every = ReloadTimer::kEvery);

  // Does nothing without TLS. Returns false, and logs why, if the files are faulty.
  // REQUIRES: called before the loop runs; this object lives as long as `metrics` is read.
  bool load(const http::CertificateFiles& files, telemetry::Registry& metrics);
  void stop() { reloads_.stop(); }

  const std::shared_ptr<http::Certificates>& get() const { return certificates_; }  // nullptr without TLS

 private:
  telemetry::Log& log_;
  ReloadTimer reloads_;
  std::shared_ptr<http::Certificates> certificates_;
};

}  // namespace sluice::program
