// Creates authorities (CA certificates), server certificates, and the bridge from one authority to the next, for a
// server that manages its own certificate. Keys are EC P-256, signatures ECDSA with SHA-256.
//
// The functions take and return PEM texts. They use randomness for keys, serial numbers and the names of authorities.
// Thread safety: any thread. Error `tls`; its text never contains a key.
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
  std::string certificate;  // PEM, one certificate
  std::string key;          // PEM, not encrypted
};

// A self-signed authority, whose key may sign only certificates and revocation lists. Its name has a random part, so
// that two authorities are not confused.
Result<KeyPair> make_authority(const Period& period);

// A server's certificate for `names` (DNS names and IP addresses, at least one), signed by the authority.
Result<KeyPair> issue(const KeyPair& authority, const std::vector<std::string>& names, const Period& period);

// The bridge: a certificate for the name and key of the authority `next`, signed by the authority `former`, which must
// still be valid. A server sends the bridge after its own certificate. Clients that trust only `former` then accept the
// server's certificate. The bridge expires together with `former`.
Result<std::string> bridge(const KeyPair& former, const std::string& next);

// What read_certificate() finds in a PEM text. If the text holds several certificates, it reads only the first one.
struct CertificateFacts {
  Period period;
  std::vector<std::string> names;  // DNS names and addresses, sorted
};
Result<CertificateFacts> read_certificate(const std::string& certificate);

bool key_matches(const KeyPair& pair);  // whether the key belongs to the certificate
bool is_issued_by(const std::string& certificate, const std::string& authority);  // whether the authority signed it

// Splits a PEM text into single certificates and drops text between them.
std::vector<std::string> split_certificates(std::string_view text);

}  // namespace sluice::server::kubernetes
