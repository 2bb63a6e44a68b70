// Checks that a certificate and a key fit each other, and makes OpenSSL's server context from them.
//
// Thread safety: pure functions; a context may be used by any number of threads.
#pragma once

#include <chrono>
#include <memory>
#include <string>
#include <string_view>

#include <openssl/types.h>

#include "common/base/error.hpp"

namespace sluice::http {

struct FreeSession {
  void operator()(SSL* session) const;
};
using SessionPtr = std::unique_ptr<SSL, FreeSession>;  // the TLS state of one connection
using ContextPtr = std::shared_ptr<SSL_CTX>;

struct PemFile {
  std::string path;  // for error texts
  std::string_view text;
};

struct TlsContext {
  ContextPtr context;
  std::chrono::sys_seconds not_after;  // when the server's own certificate expires
};

// `chain`: the server's certificate, then the intermediates. `key`: the certificate's private key, not encrypted. One
// file may hold chain and key. An expired certificate is accepted, because clients that complain show the problem
// better than a server that does not start. Error `tls`: the text names the faulty file and the reason.
//
// The context allows TLS 1.3, and TLS 1.2 with ephemeral keys and authenticated encryption. Its ALPN protocol is
// http/1.1. Sessions are not resumed: OpenSSL would keep one ticket key for the lifetime of the context, and whoever
// obtained that key could decrypt recorded traffic.
Result<TlsContext> make_tls_context(const PemFile& chain, const PemFile& key);

}  // namespace sluice::http
