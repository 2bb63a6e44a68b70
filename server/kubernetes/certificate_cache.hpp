// The certificate that the server served last, in a file, so that a server can start while the API server is away.
//
// The file holds a private key: it has the mode 0600, and a file that another user owns or can write is not used. It
// lacks the authority's key.
//
// Thread safety: none.
#pragma once

#include <chrono>
#include <optional>
#include <string>

#include "common/base/error.hpp"

namespace sluice::server::kubernetes {

struct CachedCertificate {
  std::string chain;      // the certificate and its bridges, PEM
  std::string key;        // PEM
  std::string authority;  // that signed it, PEM
  std::string trusted;    // what clients must trust, PEM
  std::chrono::sys_seconds not_after{};

  bool operator==(const CachedCertificate&) const = default;
};

// Replaces the file in one step. Error `tls_cache`.
Result<> write_certificate_cache(const std::string& path, const CachedCertificate& certificate);

// nullopt: there is no file. Error `tls_cache`: the file cannot be read, or is not to be trusted.
Result<std::optional<CachedCertificate>> read_certificate_cache(const std::string& path);

}  // namespace sluice::server::kubernetes
