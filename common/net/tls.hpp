// TLS of an outgoing connection: the trusted authorities and the server name to verify.
//
// Thread safety: none.
#pragma once

#include <optional>
#include <string>

#include <boost/asio/ssl/context.hpp>

#include "common/base/error.hpp"
#include "common/net/stream.hpp"

namespace sluice::net {

struct TlsFiles {          // paths of PEM files
  std::string ca = {};     // trusted authorities; "": those of the operating system
  std::string chain = {};  // the client's certificate and intermediates; "": the client has none
  std::string key = {};    // the private key of the client's certificate
};

// Fills `context` for TLS 1.2 or later with verification of the server's certificate. Reads the files at each call, so
// the next connect uses renewed files. Error `tls`: a file cannot be used.
Result<> make_tls(const TlsFiles& files, std::optional<boost::asio::ssl::context>& context);

// Makes the handshake fail unless the server's certificate is for `host`, a name or an IP address. A name is also sent
// to the server (SNI). Error: `tls`. REQUIRES: called before the handshake.
Result<> expect_host(Stream::TlsStream& stream, const std::string& host);

// Why the handshake on `stream` failed with `error`, as text for a log line.
std::string explain_tls(Stream::TlsStream& stream, const boost::system::error_code& error);

}  // namespace sluice::net
