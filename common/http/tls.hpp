// The certificate and key of a TLS listener, which can be renewed while the listener serves. A pair is a certificate
// chain and its key. New connections use the newest pair; existing connections keep theirs.
//
// Thread safety: new_session(), not_after() and in_force() may be called from any thread, also during a renewal. Only
// one thread at a time may call the functions that change the pair.
#pragma once

#include <chrono>
#include <memory>
#include <mutex>
#include <string>

#include "common/base/error.hpp"
#include "common/http/tls_context.hpp"

namespace sluice::http {

struct CertificateFiles {
  std::string chain;  // PEM: the server's certificate, then the intermediates
  std::string key;    // PEM, not encrypted; may be the same file as `chain`
};

class Certificates {
 public:
  // Reads the pair from files. All functions that put a pair in force return the error `tls` for a faulty pair, and the
  // old pair stays in force.
  static Result<std::shared_ptr<Certificates>> load(CertificateFiles files);
  // For a program that passes its pairs to renew(). Until the first pair, new connections are closed.
  static std::shared_ptr<Certificates> without_files();

  Result<> renew(const PemFile& chain, const PemFile& key);

  // REQUIRES: made by load().
  Result<> reload();
  // Like reload(), but does nothing and returns false if no file has changed since the files were last read. While only
  // one of the two files is replaced, the pair is faulty.
  Result<bool> reload_if_changed();

  bool in_force() const;  // whether there is a pair
  // Expiry of the certificate in force; 1970-01-01 before there is one.
  std::chrono::sys_seconds not_after() const;

  // The TLS state of one new connection; nullptr if there is no pair yet, or no memory.
  SessionPtr new_session() const;

 private:
  struct FileContents;

  explicit Certificates(CertificateFiles files) : files_(std::move(files)) {}
  FileContents read_files() const;
  Result<> put_in_force(const FileContents& contents);

  CertificateFiles files_;
  std::string last_summary_;  // see FileContents
  mutable std::mutex mutex_;
  TlsContext current_{};  // guarded by mutex_
};

}  // namespace sluice::http
