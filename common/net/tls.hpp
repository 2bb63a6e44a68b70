// TLS of an outgoing connection.
//
// Thread safety: none.
#pragma once

#include <optional>
#include <string>

#include <boost/asio/ssl/context.hpp>

#include "common/base/error.hpp"
#include "common/net/stream.hpp"

namespace sluice::net {

// Paths of PEM files.
struct TlsFiles {
  std::string ca = {};     // trusted authorities; "": those of the operating system
  std::string chain = {};  // the client's certificate and intermediates, if the client has one
  std::string key = {};    // the client's private key
};

// Makes a context for TLS 1.2 or later that verifies the server. Reads the files each time. Error: `tls`.
Result<> make_tls(const TlsFiles& files, std::optional<boost::asio::ssl::context>& context);

// Makes the handshake fail unless the server's certificate is for `host`, a name or an IP address. A name is also sent
// to the server (SNI). Error: `tls`. REQUIRES: called before the handshake.
Result<> expect_host(Stream::TlsStream& stream, const std::string& host);

// Why the handshake failed, for a log line.
std::string explain_tls(Stream::TlsStream& stream, const boost::system::error_code& error);

}  // namespace sluice::net
