#include "common/http/tls.hpp"

#include <utility>

#include <openssl/ssl.h>

namespace sluice::http {

// `summary` changes whenever the content of a file, or the error of reading it, changes.
struct Certificates::FileContents {
  Result<SecretText> chain;
  Result<SecretText> key;
  std::string summary;
};

Certificates::FileContents Certificates::read_files() const {
  FileContents contents{read_pem_file(files_.chain), read_pem_file(files_.key), {}};
  contents.summary = summary_of(contents.chain) + " " + summary_of(contents.key);
  return contents;
}

Result<> Certificates::put_in_force(const FileContents& contents) {
  last_summary_ = contents.summary;
  if (!contents.chain) return std::unexpected(contents.chain.error());
  if (!contents.key) return std::unexpected(contents.key.error());
  return renew({files_.chain, contents.chain->text()}, {files_.key, contents.key->text()});
}

Result<> Certificates::renew(const PemFile& chain, const PemFile& key) {
  auto made = make_tls_context(chain, key);
  if (!made) return std::unexpected(std::move(made.error()));
  const std::lock_guard lock(mutex_);
  std::swap(current_, *made);
  return {};
}

Result<std::shared_ptr<Certificates>> Certificates::load(CertificateFiles files) {
  std::shared_ptr<Certificates> made(new Certificates(std::move(files)));
  if (Result<> loaded = made->reload(); !loaded) return std::unexpected(std::move(loaded.error()));
  return made;
}

std::shared_ptr<Certificates> Certificates::without_files() {
  return std::shared_ptr<Certificates>(new Certificates(CertificateFiles{}));
}

Result<> Certificates::reload() { return put_in_force(read_files()); }

Result<bool> Certificates::reload_if_changed() {
  const FileContents contents = read_files();
  if (contents.summary == last_summary_) return false;
  if (Result<> taken = put_in_force(contents); !taken) return std::unexpected(std::move(taken.error()));
  return true;
}

bool Certificates::in_force() const {
  const std::lock_guard lock(mutex_);
  return current_.context != nullptr;
}

std::chrono::sys_seconds Certificates::not_after() const {
  const std::lock_guard lock(mutex_);
  return current_.not_after;
}

SessionPtr Certificates::new_session() const {
  ContextPtr context;
  {
    const std::lock_guard lock(mutex_);
    context = current_.context;
  }
  return SessionPtr(context ? SSL_new(context.get()) : nullptr);
}

}  // namespace sluice::http
