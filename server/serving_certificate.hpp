// The certificate of the server's listeners. It comes from files, or from the server's own certificate authority, which
// is kept in a Kubernetes Secret (kubernetes::CertificateKeeper). This class also supplies the authority's certificate,
// which agents and webhooks must trust.
//
// Thread: the event loop's; any thread may use the object behind get().
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

  // REQUIRES: exactly one of load() and use_own_authority() is called, one time, before the loop runs and before
  // anything listens.

  // Loads the certificate from files. Without files there is no TLS. Returns false if the files are faulty; the log
  // says why. `ca_file`: the file with the authority's certificate; "": unknown.
  bool load(const sluice::http::CertificateFiles& files, std::string ca_file);
  // Makes the server create, store and renew the certificate itself, through `api`. REQUIRES: `api` outlives this
  // object.
  void use_own_authority(kubernetes::Api& api, const kubernetes::CertificateKeeper::Options& options);

  // After use_own_authority(): starts to create and renew the certificate, and calls `ready` as soon as the first
  // certificate is in force. After load(): calls `ready` before start() returns.
  void start(std::function<void()> ready);
  void stop();

  // The certificates for listeners; nullptr: no TLS. With use_own_authority(), listeners refuse connections until
  // start() has called `ready`.
  const std::shared_ptr<sluice::http::Certificates>& get() const;

  // The certificates (PEM) of the authorities that clients of this server must trust; at least two while a new
  // authority replaces the old one. "": unknown. After load(), each call reads `ca_file` again.
  std::string ca_pem() const;

  // A sentence for /readyz while the server's own certificate cannot be checked or renewed, else nullopt.
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
