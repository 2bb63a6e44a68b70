// TLS of a connection to a server: what is trusted, and who we must be talking to. Thread safety: none.
#pragma once

#include <optional>
#include <string>

#include <boost/asio/ssl/context.hpp>

#include "common/base/error.hpp"
#include "common/net/stream.hpp"

namespace sluice::net {

struct TlsFiles {          // all PEM
  std::string ca = {};     // "": the system's authorities
  std::string chain = {};  // our certificate, where the server wants one
  std::string key = {};    // its key
};

// TLS 1.2 or later, the server's certificate demanded. Reads the files, so that renewed ones count from the next
// connect on. Error: `tls`.
Result<> make_tls(const TlsFiles& files, std::optional<boost::asio::ssl::context>& context);

// Sets the name the certificate must carry, and SNI (names only: an address has none). Error: `tls`.
Result<> expect_host(Stream::TlsStream& stream, const std::string& host);

// Why the handshake failed, for people. Call it on the stream that failed.
std::string explain_tls(Stream::TlsStream& stream, const boost::system::error_code& error);

}  // namespace sluice::net
