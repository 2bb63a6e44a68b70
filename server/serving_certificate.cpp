#include "server/serving_certificate.hpp"

#include <fstream>
#include <iterator>
#include <utility>

#include "server/kubernetes/metrics.hpp"

namespace sluice::server {

ServingCertificate::ServingCertificate(boost::asio::io_context& loop, const Clock& clock, telemetry::Log& log,
                                       telemetry::Registry& metrics)
    : loop_(loop), clock_(clock), log_(log), metrics_(metrics), from_files_(loop, log) {}

bool ServingCertificate::load(const sluice::http::CertificateFiles& files, std::string ca_file) {
  ca_file_ = std::move(ca_file);
  return from_files_.load(files, metrics_);
}

void ServingCertificate::use_own_authority(kubernetes::Api& api,
                                           const kubernetes::CertificateKeeper::Options& options) {
  keeper_.emplace(loop_, api, options, clock_, log_);
  metrics_.add(kubernetes::metrics(), *keeper_);
}

void ServingCertificate::start(std::function<void()> ready) {
  if (keeper_) return keeper_->start(std::move(ready));
  ready();
}

void ServingCertificate::stop() {
  from_files_.stop();
  if (keeper_) keeper_->stop();
}

const std::shared_ptr<sluice::http::Certificates>& ServingCertificate::get() const {
  return keeper_ ? keeper_->certificates() : from_files_.get();
}

std::string ServingCertificate::ca_pem() const {
  if (keeper_) return keeper_->ca_pem();
  if (ca_file_.empty()) return {};
  std::ifstream file(ca_file_, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

std::optional<std::string> ServingCertificate::degraded() const {
  const std::string error = keeper_ ? keeper_->last_error() : "";
  if (error.empty()) return std::nullopt;
  return "the certificate stays in force, but cannot be checked or renewed: " + error;
}

}  // namespace sluice::server
