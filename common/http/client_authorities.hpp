// The authorities (CA certificates) of a TLS listener: it admits clients with a certificate from one of them. The file
// can be renewed while the listener serves. It then holds for new connections; existing connections stay.
//
// A client's certificate must lead to a certificate of the file, be valid now, and be meant for TLS clients if it says
// what it is meant for. Certificates that were revoked are not known.
// Thread safety: demand_certificate() may be called from any thread, also during a reload. Only one thread at a time
// may call reload_if_changed().
#pragma once

#include <memory>
#include <mutex>
#include <string>

#include <openssl/types.h>

#include "common/base/error.hpp"
#include "common/http/pem.hpp"

namespace sluice::http {

class ClientAuthorities {
 public:
  // Certificates in a file. Every handshake sends their names. A file with more is probably the list of public
  // authorities, which would admit clients of strangers.
  static constexpr std::size_t kMost = 100;

  // Reads the authorities from a PEM file. Error `tls`: the file is faulty.
  static Result<std::shared_ptr<ClientAuthorities>> load(std::string path);
  // Does nothing and returns false if the file has not changed since it was last read. After an error the authorities
  // in force stay.
  Result<bool> reload_if_changed();

  // Makes the handshake of a new connection fail unless the client presents a certificate of these authorities. Returns
  // false if there is no memory. REQUIRES: called before the handshake.
  bool demand_certificate(SSL& session) const;

 private:
  struct Trusted;

  explicit ClientAuthorities(std::string path) : path_(std::move(path)) {}
  static Result<std::shared_ptr<const Trusted>> trusted_of(const PemFile& file);
  Result<> put_in_force(const Result<SecretText>& content);

  const std::string path_;
  std::string last_summary_;  // see summary_of()
  mutable std::mutex mutex_;
  std::shared_ptr<const Trusted> trusted_;  // guarded by mutex_
};

}  // namespace sluice::http
