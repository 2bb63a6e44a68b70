// Certificates as the server makes them for itself: an authority, what it issues, and the bridge from one authority to
// the next.
//
// Pure but for randomness (keys, serial numbers): PEM texts in, PEM texts out. Thread safety: any thread. Keys are
// EC P-256, signatures ECDSA with SHA-256. Errors: `tls`; none of them shows a key.
#pragma once

#include <chrono>
#include <string>
#include <string_view>
#include <vector>

#include "common/base/error.hpp"

namespace sluice::server::kubernetes {

struct Period {
  std::chrono::sys_seconds from;
  std::chrono::sys_seconds until;

  bool operator==(const Period&) const = default;
};

struct KeyPair {
  std::string certificate;  // PEM, one
  std::string key;          // PEM, not encrypted
};

// Trusts itself; may sign certificates and nothing else. Each has a name of its own, so that nobody mixes two of them
// up.
Result<KeyPair> make_authority(const Period& period);

// A server's certificate for `names` (DNS names and IP addresses, at least one), signed by the authority.
Result<KeyPair> issue(const KeyPair& authority, const std::vector<std::string>& names, const Period& period);

// The new authority's certificate, signed by the former one, which must still hold: sent behind a server's certificate,
// it makes that one good for everybody who trusts the former authority only. It ends when the former one does.
Result<std::string> bridge(const KeyPair& former, const std::string& authority);

// What a certificate says (the first, where the text holds several).
struct CertificateFacts {
  Period period;
  std::vector<std::string> names;  // DNS names and addresses, sorted
};
Result<CertificateFacts> read_certificate(const std::string& certificate);

bool fits(const KeyPair& pair);                                                   // the key is the certificate's
bool is_issued_by(const std::string& certificate, const std::string& authority);  // its signature is the authority's

// Each certificate of a text by itself; what stands between them is left out.
std::vector<std::string> split_certificates(std::string_view text);

}  // namespace sluice::server::kubernetes
