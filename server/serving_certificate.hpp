// The certificate of the server's listeners, wherever it comes from: files (of an administrator, of cert-manager), or
// the server itself, which keeps it in a Secret. And the authority it comes from, for those who are to trust it.
//
// Thread: the loop's; what get() gives may be used by all.
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
  // All of them outlive it.
  ServingCertificate(boost::asio::io_context& loop, const Clock& clock, telemetry::Log& log,
                     telemetry::Registry& metrics);

  // One of the two, once, before the loop runs and before anything listens; without it there is no TLS.
  // From files; false: they are faulty, which was logged. `ca_file`: the authority's certificate; "": not known.
  bool load(const sluice::http::CertificateFiles& files, std::string ca_file);
  // Kept by the server itself, with `api`, which outlives it.
  void keep(kubernetes::Api& api, const kubernetes::CertificateKeeper::Options& options);

  // Begins to look after it. `ready`: told once there is something to serve, from inside where that is so already.
  void start(std::function<void()> ready);
  void stop();

  // For listeners; nullptr: no TLS. Before `ready` it sends away who connects.
  const std::shared_ptr<sluice::http::Certificates>& get() const;

  // The authorities (PEM) whom to trust for this server to be trusted: where one is being replaced, both. Read anew
  // where it is a file. "": not known.
  std::string ca_pem() const;

  // What is not as it should be, for /readyz.
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
