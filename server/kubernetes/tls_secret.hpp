// The content of the server's TLS Secret: the authority (CA), the server's certificate, and the progress of replacing
// the authority. A bridge is the certificate of a new authority, signed by the former one (certificates.hpp).
//
// | key | content |
// |---|---|
// | `tls.crt`, `tls.key` | the server's certificate, followed by the bridges; the key of that certificate |
// | `ca.crt` | the authorities to trust: the one in force, then the announced one, then former ones |
// | `ca.key` | the key of the authority in force |
// | `ca-next.crt`, `ca-next.key` | the announced authority: trusted, but not in force yet |
// | `ca-former.crt` | former authorities, trusted until the time in the annotation sluice.dev/former-ca-until |
// | `ca-bridge.crt` | bridges, newest first; the first is for the authority in force |
//
// The annotation sluice.dev/renew (`certificate` or `ca`) requests a renewal before it is due.
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
  KeyPair authority = {};    // the authority in force
  KeyPair next = {};         // the announced authority, if any
  std::string former = {};   // former authorities that clients still trust
  std::chrono::sys_seconds former_until{};
  std::string bridges = {};
  KeyPair leaf = {};  // the server's
  Renewal requested = Renewal::none;

  // The contents of ca.crt and of tls.crt.
  std::string trusted() const { return authority.certificate + next.certificate + former; }
  std::string chain() const { return leaf.certificate + bridges; }
  bool empty() const { return trusted().empty() && authority.key.empty() && chain().empty() && leaf.key.empty(); }
};

// Error `unexpected`: the JSON is not a Secret. Missing and unreadable values become "".
Result<TlsSecret> read_tls_secret(std::string_view object);

std::string create_tls_secret(const TlsSecret& secret, std::string_view name);
// Returns a merge patch (RFC 7396). The API server refuses it with 409 if the resourceVersion of the Secret is no
// longer `secret.version`.
std::string patch_tls_secret(const TlsSecret& secret);

}  // namespace sluice::server::kubernetes
