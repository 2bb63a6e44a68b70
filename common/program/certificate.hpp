// The certificate of a program's TLS listener: loaded at the start, and looked at again every few seconds. A renewed
// one counts from the next connection on; a faulty one leaves the former in force, and the log says so.
//
// Thread: the loop's; what get() gives may be used by all.
#pragma once

#include <memory>

#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>

#include "common/http/tls.hpp"
#include "common/program/config_reader.hpp"
#include "common/telemetry/log.hpp"

namespace sluice::program {

// The flags `tls-cert` and `tls-key`: both or none. Both are "" where there is no TLS.
http::CertificateFiles read_certificate(ConfigReader& reader);

class Certificate {
 public:
  Certificate(boost::asio::io_context& loop, telemetry::Log& log) : log_(log), timer_(loop) {}

  // Before the loop runs. False: it is faulty, which was logged.
  bool load(const http::CertificateFiles& files);
  void stop() { timer_.cancel(); }  // no more looks

  const std::shared_ptr<http::Certificates>& get() const { return certificates_; }  // nullptr: no TLS

 private:
  void look_again();

  telemetry::Log& log_;
  boost::asio::steady_timer timer_;
  std::shared_ptr<http::Certificates> certificates_;
};

}  // namespace sluice::program
