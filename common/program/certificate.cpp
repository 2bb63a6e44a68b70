#include "common/program/certificate.hpp"

#include <utility>

namespace sluice::program {
http::CertificateFiles read_certificate(ConfigReader& reader) {
  http::CertificateFiles files{.chain = reader.file("tls-cert"), .key = reader.file("tls-key")};
  reader.require_use("tls-cert", !files.key.empty(), "needs its key; add --tls-key");
  reader.require_use("tls-key", !files.chain.empty(), "needs its certificate; add --tls-cert");
  return files;
}

std::int64_t expiry(const http::Certificates& certificates) {
  return certificates.not_after().time_since_epoch().count();
}

const telemetry::MetricTable<http::Certificates>& certificate_metrics() {
  static const telemetry::MetricTable<http::Certificates> table{
      {kCertificateExpiry, telemetry::kGauge, kCertificateExpiryHelp, "certificate", {{"serving", &expiry}}}};
  return table;
}

Certificate::Certificate(boost::asio::io_context& loop, telemetry::Log& log, std::chrono::milliseconds check_every)
    : log_(log),
      reloads_(loop, log,
               {.refused = "tls_refused",
                .renewed = "tls_renewed",
                .renewed_text = "New connections use the renewed certificate."},
               check_every) {}

bool Certificate::load(const http::CertificateFiles& files, telemetry::Registry& metrics) {
  if (files.chain.empty()) return true;
  auto loaded = http::Certificates::load(files);
  if (!loaded) {
    log_.error("tls_failed", loaded.error().text, {{"code", loaded.error().code}});
    return false;
  }
  certificates_ = std::move(*loaded);
  metrics.add(certificate_metrics(), *certificates_);
  reloads_.start([this] { return certificates_->reload_if_changed(); });
  return true;
}

}  // namespace sluice::program
