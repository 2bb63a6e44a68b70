#include "common/program/certificate.hpp"

#include <utility>

namespace sluice::program {
http::CertificateFiles read_certificate(ConfigReader& reader) {
  http::CertificateFiles files{.chain = reader.file("tls-cert"), .key = reader.file("tls-key")};
  reader.require_use("tls-cert", !files.key.empty(), "needs its key; add --tls-key");
  reader.require_use("tls-key", !files.chain.empty(), "needs its certificate; add --tls-cert");
  return files;
}

void expose_end(telemetry::Registry& metrics, std::shared_ptr<const http::Certificates> certificates) {
  metrics.gauge("sluice_tls_certificate_not_after_seconds", "Expiry of the TLS certificate in force, in Unix time.",
                [shown = std::move(certificates)] { return shown->not_after().time_since_epoch().count(); });
}

bool Certificate::load(const http::CertificateFiles& files, telemetry::Registry& metrics) {
  if (files.chain.empty()) return true;
  auto loaded = http::Certificates::load(files);
  if (!loaded) {
    log_.error("tls_failed", loaded.error().text, {{"code", loaded.error().code}});
    return false;
  }
  certificates_ = std::move(*loaded);
  expose_end(metrics, certificates_);
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
