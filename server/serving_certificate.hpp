// The certificate of the server's listeners. It comes from files, or from the server's own authority (CA) in a
// Kubernetes Secret.
//
// Thread: the event loop's; any thread may use the object behind get(), and degraded().
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>

#include <boost/asio/io_context.hpp>

#include "common/base/clock.hpp"
#include "common/program/certificate.hpp"
#include "common/telemetry/log.hpp"
#include "common/telemetry/registry.hpp"
#include "server/kubernetes/certificate_keeper.hpp"

namespace sluice::server {

class ServingCertificate {
 public:
  // REQUIRES: the references outlive this object.
  ServingCertificate(boost::asio::io_context& loop, const Clock& clock, telemetry::Log& log,
                     telemetry::Registry& metrics);

  // REQUIRES: either load() or use_own_authority() is called once, before the loop runs and before anything listens.

  // Without files there is no TLS. Returns false, and logs why, if the files are faulty. `ca_file`: the authority's
  // certificate; "": unknown.
  bool load(const sluice::http::CertificateFiles& files, std::string ca_file);
  // REQUIRES: `api` outlives this object.
  void use_own_authority(kubernetes::Api& api, const kubernetes::CertificateKeeper::Options& options);

  // Calls `ready` as soon as a certificate is in force. If load() was used, that is before start() returns.
  void start(std::function<void()> ready);
  void stop();

  // nullptr: no TLS. Listeners refuse connections until start() has called `ready`.
  const std::shared_ptr<sluice::http::Certificates>& get() const;

  // The authorities' certificates (PEM) that clients must trust; "": unknown. If load() was used, each call reads
  // the file again.
  std::string ca_pem() const;

  // A sentence for /readyz while the certificate cannot be checked or renewed.
  std::optional<std::string> degraded() const;

 private:
  boost::asio::io_context& loop_;
  const Clock& clock_;
  telemetry::Log& log_;
  telemetry::Registry& metrics_;
  program::Certificate from_files_;
  std::string ca_file_;
  std::optional<kubernetes::CertificateKeeper> keeper_;
};

}  // namespace sluice::server
