// The content of the server's TLS Secret: the authority, the certificate in use, and the progress of replacing the
// authority. As a value, and as JSON of the Kubernetes API.
//
// | key | is |
// |---|---|
// | `tls.crt`, `tls.key` | what is served: the server's certificate with the bridges behind it, and its key |
// | `ca.crt` | whom to trust: the authority in force first, then one that is announced, then former ones |
// | `ca.key` | the key of the authority in force |
// | `ca-next.crt`, `ca-next.key` | the authority that is announced: trusted already, not in force yet |
// | `ca-former.crt` | authorities trusted until the annotation sluice.dev/former-ca-until |
// | `ca-bridge.crt` | the authority in force signed by the former one, that one by the one before it |
//
// The annotation sluice.dev/renew (`certificate` or `ca`) requests a renewal before it is due.
// Thread safety: values and pure functions.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>

#include "common/base/error.hpp"
#include "server/kubernetes/certificates.hpp"

namespace sluice::server::kubernetes {

enum class Renewal : std::uint8_t { none, certificate, authority };

struct TlsSecret {
  std::string version = {};  // resourceVersion; "": there is no such Secret
  KeyPair authority = {};
  KeyPair next = {};        // both texts empty: none is announced
  std::string former = {};  // "": none
  std::chrono::sys_seconds former_until{};
  std::string bridges = {};
  KeyPair leaf = {};
  Renewal asked = Renewal::none;

  std::string trusted() const { return authority.certificate + next.certificate + former; }
  std::string chain() const { return leaf.certificate + bridges; }
  bool empty() const { return trusted().empty() && authority.key.empty() && chain().empty() && leaf.key.empty(); }
};

// The object as the API answers it. Error: `unexpected`, it is no Secret. Values that are missing or unreadable are "".
Result<TlsSecret> read_tls_secret(std::string_view object);

// The object for its creation, and the merge patch (RFC 7386) of one that has `secret.version`, which the API refuses
// with 409 where it has been changed meanwhile.
std::string create_tls_secret(const TlsSecret& secret, std::string_view name);
std::string patch_tls_secret(const TlsSecret& secret);

}  // namespace sluice::server::kubernetes
