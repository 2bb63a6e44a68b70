// The certificate and key of a TLS listener, which can be renewed while the listener serves.
//
// A pair is a certificate chain and its key. It comes from files that are checked for changes, or from the program by
// renew(). New connections use the newest pair; existing connections keep theirs.
// Thread safety: new_session(), not_after() and in_force() may be called from any thread, also during a renewal. The
// functions that change the pair may be called from one thread at a time. Invariants: the key in force always fits its
// certificate. After load() or the first renew() there is always a pair.
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
  // Reads the pair from files. Error `tls`: the text says which file is at fault and why.
  static Result<std::shared_ptr<Certificates>> load(CertificateFiles files);
  // For a program that passes its pairs to renew(). Until the first pair, new connections are closed.
  static std::shared_ptr<Certificates> without_files();

  // Puts another pair in force. Error `tls`: the pair is faulty, and the old one stays in force.
  Result<> renew(const PemFile& chain, const PemFile& key);

  // Reads the files and puts their pair in force. Error `tls`: the pair is faulty or half written, and the old one
  // stays in force. REQUIRES: made by load().
  Result<> reload();
  // As reload(), but only if the files have changed; call it every few seconds. True: renewed; false: not changed, or
  // the error is the same as at the last call. The function compares the content of the files (a few kilobytes), so it
  // notices every way of replacing them. If it runs when only one of the two files is replaced, it returns an error;
  // once the other file is replaced too, the next call returns true. REQUIRES: made by load().
  Result<bool> reload_if_changed();

  bool in_force() const;  // whether there is a pair
  // Expiry of the certificate in force; 1970-01-01 before there is one.
  std::chrono::sys_seconds not_after() const;

  // The TLS state of one new connection, with the pair in force; nullptr: there is no pair yet, or no memory.
  SessionPtr new_session() const;

 private:
  struct FileContents;

  explicit Certificates(CertificateFiles files) : files_(std::move(files)) {}
  FileContents read_files() const;
  Result<> put_in_force(const FileContents& contents);

  CertificateFiles files_;
  std::string last_summary_;  // digest of the files' content at the last check
  mutable std::mutex mutex_;
  TlsContext current_{};  // guarded by mutex_
};

}  // namespace sluice::http
