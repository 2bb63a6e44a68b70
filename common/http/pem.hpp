// Reads PEM files: their text, and the certificates in it. All errors have the code `tls` and name the file.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <openssl/types.h>

#include "common/base/error.hpp"

namespace sluice::http {

// The content of a file, which may be a private key. The destructor overwrites it.
class SecretText {
 public:
  SecretText() = default;
  SecretText(SecretText&& other) noexcept : text_(std::exchange(other.text_, {})) {}
  SecretText& operator=(SecretText&& other) noexcept {
    text_.swap(other.text_);
    return *this;
  }
  ~SecretText();

  std::string& text() { return text_; }
  const std::string& text() const { return text_; }

 private:
  std::string text_;
};

// Never blocks, whatever the path names.
Result<SecretText> read_pem_file(const std::string& path);
// A text that changes whenever the content of the file, or the error of reading it, changes.
std::string summary_of(const Result<SecretText>& file);

struct PemFile {
  std::string path;  // for error texts
  std::string_view text;
};
std::unexpected<Error> pem_fault(const PemFile& file, std::string_view what);
std::string openssl_reason();  // of the last error

struct FreeOpenssl {
  void operator()(BIO* bio) const;
  void operator()(X509* certificate) const;
};
template <class T>
using OwnedOpenssl = std::unique_ptr<T, FreeOpenssl>;

OwnedOpenssl<BIO> pem_reader(const PemFile& file);
// OpenSSL's default password callback would prompt on the terminal.
int no_passphrase(char*, int, int, void*);

// At least one certificate. What else stands in the file is ignored.
Result<std::vector<OwnedOpenssl<X509>>> read_certificates(const PemFile& file);

}  // namespace sluice::http
