// What a TLS server needs of a certificate and its key: checks of the pair, and the rules connections go by.
//
// Pure: PEM texts in, a context out. Thread safety: the functions may be called from any thread; a context may be used
// by many.
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
using SessionPtr = std::unique_ptr<SSL, FreeSession>;  // one connection's state
using ContextPtr = std::shared_ptr<SSL_CTX>;

struct PemFile {
  std::string path;  // for the texts of errors
  std::string_view text;
};

struct TlsContext {
  ContextPtr context;
  std::chrono::sys_seconds not_after;  // of the first certificate, the server's own
};

// `chain`: the server's certificate, then those between it and the authority's. `key`: its key, not encrypted. One file
// may hold both. A certificate that has expired is taken: its clients say so better than a server that does not start.
// Error: `tls`; says which file is at fault and why.
//
// TLS 1.2 with ephemeral keys and authenticated ciphers, or TLS 1.3; ALPN http/1.1. No session is resumed: OpenSSL
// would keep one ticket key as long as the context lives, with which whoever gets it reads what was recorded.
Result<TlsContext> make_tls_context(const PemFile& chain, const PemFile& key);

}  // namespace sluice::http
