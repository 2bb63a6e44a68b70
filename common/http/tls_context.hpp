// Checks that a certificate and a key fit each other, and makes OpenSSL's server context from them. Any number of
// threads may use one context.
#pragma once

#include <chrono>
#include <memory>

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
Result<TlsContext> make_tls_context(const PemFile& chain, const PemFile& key);

}  // namespace sluice::http
