// Creates authorities (CA certificates), server certificates, and the bridge from one authority to the next, as PEM
// texts. Keys are EC P-256, signatures ECDSA with SHA-256.
//
// Thread safety: any thread. Error: `tls`; its text never contains a key.
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
  std::string certificate;
  std::string key;  // not encrypted
};

// The authority's name has a random part, so that two authorities are not confused.
Result<KeyPair> make_authority(const Period& period);

// `names`: DNS names and IP addresses, at least one.
Result<KeyPair> issue(const KeyPair& authority, const std::vector<std::string>& names, const Period& period);

// The bridge: a certificate for the name and key of the authority `next`, signed by the authority `former`. A server
// sends the bridge after its own certificate, for clients that trust only `former`. The bridge expires together with
// `former`. REQUIRES: `former` is still valid.
Result<std::string> bridge(const KeyPair& former, const std::string& next);

// Describes the first certificate of a text.
struct CertificateFacts {
  Period period;
  std::vector<std::string> names;  // DNS names and addresses, sorted
};
Result<CertificateFacts> read_certificate(const std::string& certificate);

bool key_matches(const KeyPair& pair);
bool is_issued_by(const std::string& certificate, const std::string& authority);

// Drops text between the certificates.
std::vector<std::string> split_certificates(std::string_view text);

}  // namespace sluice::server::kubernetes
