// Checks that a certificate and a key fit each other, and makes OpenSSL's server context from them. Any number of
// threads may use one context.
#pragma once

#include <chrono>
#include <memory>
#include <string_view>

#include <openssl/types.h>

#include "common/base/error.hpp"
#include "common/http/pem.hpp"

namespace sluice::http {

struct FreeSession {
  void operator()(SSL* session) const;
};
using SessionPtr = std::unique_ptr<SSL, FreeSession>;  // the TLS state of one connection
using ContextPtr = std::shared_ptr<SSL_CTX>;

struct TlsContext {
  ContextPtr context;
  std::chrono::sys_seconds not_after;  // when the server's own certificate expires
};

// `chain` has the server's certificate, then the intermediates. An encrypted key is an error. An expired certificate is
// accepted, because clients that complain show the problem better than a server that does not start. Error: `tls`.
//
// The context allows TLS 1.3, and TLS 1.2 with ephemeral keys and authenticated encryption. Sessions are not resumed:
// OpenSSL would keep one ticket key for the lifetime of the context, and that key could decrypt recorded traffic.
// Without select_protocol(), a session takes HTTP/1.1 of the protocols that a client offers (ALPN).
Result<TlsContext> make_tls_context(const PemFile& chain, const PemFile& key);

// Makes the handshake fail for a client that offers protocols (ALPN) without this one. A client that offers none is
// admitted. `protocol`: a string literal.
void select_protocol(SSL& session, std::string_view protocol);

}  // namespace sluice::http
