#include "server/injector/pem_file.hpp"

#include <cerrno>
#include <cstring>
#include <fstream>
#include <memory>

#include <fmt/core.h>
#include <openssl/bio.h>
#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/x509.h>

namespace sluice::server::injector {
namespace {

struct Free {
  void operator()(BIO* bio) const { BIO_free(bio); }
  void operator()(X509* certificate) const { X509_free(certificate); }
};

bool holds_certificate(const std::string& text) {
  const std::unique_ptr<BIO, Free> bio(BIO_new_mem_buf(text.data(), static_cast<int>(text.size())));
  const std::unique_ptr<X509, Free> certificate(bio ? PEM_read_bio_X509(bio.get(), nullptr, nullptr, nullptr)
                                                    : nullptr);
  ERR_clear_error();
  return certificate != nullptr;
}

}  // namespace

Result<std::string> PemFile::read() const {
  if (path_.empty()) return std::string();
  std::ifstream file(path_, std::ios::binary);
  if (!file) return failure("pem", fmt::format("{} cannot be read: {}", path_, std::strerror(errno)));
  std::string text(kMaxBytes + 1, '\0');
  file.read(text.data(), static_cast<std::streamsize>(text.size()));
  text.resize(static_cast<std::size_t>(file.gcount()));
  if (text.size() > kMaxBytes) {
    return failure("pem", fmt::format("{} is larger than {} bytes: keep only the certificates that agents need", path_,
                                      kMaxBytes));
  }
  if (!holds_certificate(text)) return failure("pem", fmt::format("{} holds no certificate in PEM", path_));
  return text;
}

}  // namespace sluice::server::injector
