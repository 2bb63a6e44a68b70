// Certificates for tests, signed by their own key, made in memory; and a folder to put them in.
#pragma once

#include <filesystem>
#include <fstream>
#include <memory>
#include <string>
#include <string_view>

#include <doctest/doctest.h>
#include <openssl/bio.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/rsa.h>
#include <openssl/x509.h>
#include <stdlib.h>

namespace sluice::http {

struct PemPair {
  std::string certificate;
  std::string key;
};

inline std::string taken_from(BIO* bio) {
  char* data = nullptr;
  const long size = BIO_get_mem_data(bio, &data);
  std::string text(data, static_cast<std::size_t>(size));
  BIO_free(bio);
  return text;
}

// `end`: when it expires, in seconds from now. `key`: EVP_EC_gen("P-256") where none is given; taken over.
inline PemPair make_pair(const std::string& name, long end = 86'400, EVP_PKEY* key = nullptr) {
  if (key == nullptr) key = EVP_EC_gen("P-256");
  REQUIRE(key != nullptr);
  X509* certificate = X509_new();
  X509_set_version(certificate, X509_VERSION_3);
  static long serial = 0;
  ASN1_INTEGER_set(X509_get_serialNumber(certificate), ++serial);
  X509_gmtime_adj(X509_getm_notBefore(certificate), end - 86'400 * 2);
  X509_gmtime_adj(X509_getm_notAfter(certificate), end);
  X509_set_pubkey(certificate, key);
  X509_NAME* names = X509_get_subject_name(certificate);
  X509_NAME_add_entry_by_txt(names, "CN", MBSTRING_ASC, reinterpret_cast<const unsigned char*>(name.c_str()), -1, -1,
                             0);
  X509_set_issuer_name(certificate, names);
  REQUIRE(X509_sign(certificate, key, EVP_sha256()) > 0);

  BIO* certificate_text = BIO_new(BIO_s_mem());
  PEM_write_bio_X509(certificate_text, certificate);
  BIO* key_text = BIO_new(BIO_s_mem());
  PEM_write_bio_PrivateKey(key_text, key, nullptr, nullptr, 0, nullptr, nullptr);
  X509_free(certificate);
  EVP_PKEY_free(key);
  return {taken_from(certificate_text), taken_from(key_text)};
}

// The same key, under a passphrase.
inline std::string encrypted(const std::string& key_text) {
  BIO* text = BIO_new_mem_buf(key_text.data(), static_cast<int>(key_text.size()));
  EVP_PKEY* key = PEM_read_bio_PrivateKey(text, nullptr, nullptr, nullptr);
  BIO_free(text);
  REQUIRE(key != nullptr);
  BIO* made = BIO_new(BIO_s_mem());
  unsigned char phrase[] = "secret";
  PEM_write_bio_PrivateKey(made, key, EVP_aes_128_cbc(), phrase, 6, nullptr, nullptr);
  EVP_PKEY_free(key);
  return taken_from(made);
}

// Gone with the test.
class Folder {
 public:
  Folder() {
    char name[] = "/tmp/sluice-tls-XXXXXX";
    REQUIRE(::mkdtemp(name) != nullptr);
    path_ = name;
  }
  Folder(const Folder&) = delete;
  ~Folder() { std::filesystem::remove_all(path_); }

  std::string path(const std::string& name) const { return path_ / name; }
  void write(const std::string& name, std::string_view text) const {
    std::ofstream(path_ / name, std::ios::binary) << text;
  }
  void write(const PemPair& pair) const {
    write("tls.crt", pair.certificate);
    write("tls.key", pair.key);
  }

 private:
  std::filesystem::path path_;
};

}  // namespace sluice::http
