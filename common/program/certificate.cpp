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

bool Certificate::load(const http::CertificateFiles& files, telemetry::Registry& metrics) {
  if (files.chain.empty()) return true;
  auto loaded = http::Certificates::load(files);
  if (!loaded) {
    log_.error("tls_failed", loaded.error().text, {{"code", loaded.error().code}});
    return false;
  }
  certificates_ = std::move(*loaded);
  metrics.add(certificate_metrics(), *certificates_);
  watch_files();
  return true;
}

void Certificate::watch_files() {
  timer_.expires_after(check_every_);
  timer_.async_wait([this](const boost::system::error_code& stopped) {
    if (stopped) return;
    const auto renewed = certificates_->reload_if_changed();
    if (!renewed) {
      log_.warn("tls_refused", renewed.error().text, {{"code", renewed.error().code}});
    } else if (*renewed) {
      log_.info("tls_renewed", "New connections use the renewed certificate.");
    }
    watch_files();
  });
}

}  // namespace sluice::program
