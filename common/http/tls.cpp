#include "common/http/tls.hpp"

#include <cerrno>
#include <cstring>
#include <utility>

#include <fcntl.h>
#include <fmt/core.h>
#include <openssl/crypto.h>
#include <openssl/ssl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/base/crypto.hpp"

namespace sluice::http {
namespace {

constexpr off_t kMaxFile = 1L << 20;  // bytes

// The content of a file, which may be a private key. The destructor overwrites it.
class Secret {
 public:
  Secret() = default;
  Secret(Secret&& other) noexcept : text_(std::exchange(other.text_, {})) {}
  Secret& operator=(Secret&& other) noexcept {
    text_.swap(other.text_);
    return *this;
  }
  ~Secret() { OPENSSL_cleanse(text_.data(), text_.size()); }

  std::string& text() { return text_; }
  const std::string& text() const { return text_; }

 private:
  std::string text_;
};

std::unexpected<Error> unreadable(const std::string& path, int error) {
  return failure("tls", fmt::format("{} cannot be read: {}", path, std::strerror(error)));
}

Result<Secret> read_from(int descriptor, const std::string& path) {
  struct stat status{};
  if (::fstat(descriptor, &status) != 0) return unreadable(path, errno);
  if (!S_ISREG(status.st_mode)) return failure("tls", fmt::format("{} is not a regular file", path));
  if (status.st_size > kMaxFile) {
    return failure("tls", fmt::format("{} is larger than a certificate or key can be", path));
  }
  Secret read;
  // Growing step by step would leave copies of a key in freed memory.
  read.text().resize(static_cast<std::size_t>(status.st_size) + 1);
  std::size_t size = 0;
  while (size < read.text().size()) {
    const ssize_t got = ::read(descriptor, read.text().data() + size, read.text().size() - size);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return unreadable(path, errno);
    if (got == 0) break;
    size += static_cast<std::size_t>(got);
  }
  if (!std::cmp_equal(size, status.st_size)) return failure("tls", fmt::format("{} changes while it is read", path));
  read.text().resize(size);
  return read;
}

Result<Secret> read_file(const std::string& path) {
  // O_NONBLOCK, because opening a named pipe must not block.
  const int descriptor = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (descriptor < 0) return unreadable(path, errno);
  Result<Secret> read = read_from(descriptor, path);
  ::close(descriptor);
  return read;
}

std::string summary_of(const Result<Secret>& file) { return file ? to_hex(sha256(file->text())) : file.error().text; }

}  // namespace

// `summary` changes whenever the content of a file, or the error of reading it, changes.
struct Certificates::FileContents {
  Result<Secret> chain;
  Result<Secret> key;
  std::string summary;
};

Certificates::FileContents Certificates::read_files() const {
  FileContents contents{read_file(files_.chain), read_file(files_.key), {}};
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
