#include "common/http/pem.hpp"

#include <algorithm>
#include <cerrno>
#include <climits>
#include <cstring>

#include <fcntl.h>
#include <fmt/core.h>
#include <openssl/bio.h>
#include <openssl/crypto.h>
#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/x509.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/base/crypto.hpp"

namespace sluice::http {
namespace {

constexpr off_t kMaxFile = 1L << 20;  // bytes

std::unexpected<Error> unreadable(const std::string& path, int error) {
  return failure("tls", fmt::format("{} cannot be read: {}", path, std::strerror(error)));
}

Result<SecretText> read_from(int descriptor, const std::string& path) {
  struct stat status{};
  if (::fstat(descriptor, &status) != 0) return unreadable(path, errno);
  if (!S_ISREG(status.st_mode)) return failure("tls", fmt::format("{} is not a regular file", path));
  if (status.st_size > kMaxFile) {
    return failure("tls", fmt::format("{} is larger than a certificate or key can be", path));
  }
  SecretText read;
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

}  // namespace

SecretText::~SecretText() { OPENSSL_cleanse(text_.data(), text_.size()); }

Result<SecretText> read_pem_file(const std::string& path) {
  // O_NONBLOCK, because opening a named pipe must not block.
  const int descriptor = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (descriptor < 0) return unreadable(path, errno);
  Result<SecretText> read = read_from(descriptor, path);
  ::close(descriptor);
  return read;
}

std::string summary_of(const Result<SecretText>& file) {
  return file ? to_hex(sha256(file->text())) : file.error().text;
}

std::unexpected<Error> pem_fault(const PemFile& file, std::string_view what) {
  return failure("tls", fmt::format("{} {}", file.path, what));
}

std::string openssl_reason() {
  const char* text = ERR_reason_error_string(ERR_peek_last_error());
  return text != nullptr ? text : "OpenSSL gives no reason";
}

void FreeOpenssl::operator()(BIO* bio) const { BIO_free(bio); }
void FreeOpenssl::operator()(X509* certificate) const { X509_free(certificate); }

OwnedOpenssl<BIO> pem_reader(const PemFile& file) {
  ERR_clear_error();
  return OwnedOpenssl<BIO>(
      BIO_new_mem_buf(file.text.data(), static_cast<int>(std::min<std::size_t>(file.text.size(), INT_MAX))));
}

int no_passphrase(char*, int, int, void*) { return -1; }

Result<std::vector<OwnedOpenssl<X509>>> read_certificates(const PemFile& file) {
  const OwnedOpenssl<BIO> reader = pem_reader(file);
  std::vector<OwnedOpenssl<X509>> chain;
  while (X509* next = PEM_read_bio_X509(reader.get(), nullptr, &no_passphrase, nullptr)) chain.emplace_back(next);
  const unsigned long last = ERR_peek_last_error();
  const bool at_end = ERR_GET_LIB(last) == ERR_LIB_PEM && ERR_GET_REASON(last) == PEM_R_NO_START_LINE;
  // For a certificate that is cut off after its BEGIN line, OpenSSL reports the end of the file.
  const bool begun = !chain.empty() && file.text.rfind("-----BEGIN") > file.text.rfind("-----END");
  if (begun || !at_end) {
    return pem_fault(
        file, fmt::format("holds a faulty or cut off certificate: {}", at_end ? "it has no end" : openssl_reason()));
  }
  if (chain.empty()) return pem_fault(file, "holds no certificate in PEM form");
  return chain;
}

}  // namespace sluice::http
