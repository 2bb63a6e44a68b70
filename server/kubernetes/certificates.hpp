// Creates the certificates of the server's own authority: the authority, server certificates, and the bridge from one
// authority to the next. Keys are EC P-256, signatures ECDSA with SHA-256.
//
// Functions of PEM texts that use randomness for keys and serial numbers. Thread safety: any thread. Error `tls`; its
// text never contains a key.
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

// A self-signed authority that may only sign certificates. Each has a unique name, so that two are never confused.
Result<KeyPair> make_authority(const Period& period);

// A server's certificate for `names` (DNS names and IP addresses, at least one), signed by the authority.
Result<KeyPair> issue(const KeyPair& authority, const std::vector<std::string>& names, const Period& period);

// The bridge: the new authority's certificate signed by the former authority, which must still be valid. A server sends
// it after its own certificate, which clients then accept even if they only trust the former authority. It expires
// together with the former authority.
Result<std::string> bridge(const KeyPair& former, const std::string& authority);

// Facts of a certificate; if the text holds several, of the first.
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
