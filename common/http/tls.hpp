// The certificate of a TLS listener, and its renewal while connections come and go.
//
// It comes from files, which are looked at again, or from elsewhere, by renew(). Thread safety: new_session(),
// not_after() and in_force() may be called from any thread, beside one that changes it; what changes it, from one
// thread at a time. Invariant: a pair in force is one that fits, and there is one from load() or the first renew() on.
#pragma once

#include <chrono>
#include <memory>
#include <mutex>
#include <string>

#include "common/base/error.hpp"
#include "common/http/tls_context.hpp"

namespace sluice::http {

struct CertificateFiles {
  std::string chain;  // PEM: the server's certificate, then those between it and the authority's
  std::string key;    // PEM, not encrypted; may be the same file
};

class Certificates {
 public:
  // Error: `tls`; says which file is at fault and why.
  static Result<std::shared_ptr<Certificates>> load(CertificateFiles files);
  // Without files, for pairs that come by renew(); who connects before the first is sent away.
  static std::shared_ptr<Certificates> without_files();

  // Puts another pair in force, from the next connection on. One that is faulty is refused with the error `tls`, and
  // the former stays in force.
  Result<> renew(const PemFile& chain, const PemFile& key);

  // REQUIRES of both: made by load(). Reads the files; what they hold counts from the next connection on, and those
  // there are go on as they began. A pair that is faulty, or half written, is refused with the error `tls`, and the
  // former stays in force.
  Result<> reload();
  // The same, for calling every few seconds: true: renewed; false: nothing new. A fault is told once, not at every
  // call. It reads the files (a few kilobytes) and compares what is in them: that misses nothing and mistakes nothing,
  // whichever way they are replaced. Between the replacing of one file and of the other the pair does not fit; the
  // error then is followed by true.
  Result<bool> reload_if_changed();

  bool in_force() const;  // there is a pair
  // When the certificate in force ends; 1970 before there is one.
  std::chrono::sys_seconds not_after() const;

  // For one connection, with the pair in force; null where there is none yet, or no memory.
  SessionPtr new_session() const;

 private:
  struct Look;

  explicit Certificates(CertificateFiles files) : files_(std::move(files)) {}
  Look look() const;
  Result<> take(const Look& look);

  CertificateFiles files_;
  std::string tried_;  // what the last look saw, in short
  mutable std::mutex mutex_;
  TlsContext current_{};  // under mutex_
};

}  // namespace sluice::http
