// A certificate authority of a test's own, and servers' certificates from it.
#pragma once

#include <string>

#include <doctest/doctest.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/x509.h>
#include <openssl/x509v3.h>

#include "tests/unit/http/certificate_maker.hpp"

namespace sluice::http::test {

class Authority {
 public:
  // `end`: when it expires, in seconds from now.
  explicit Authority(long end = 86'400) : Authority("authority", nullptr, end) {}
  // One that another has signed.
  Authority(const char* name, const Authority& root) : Authority(name, &root, 86'400) {}
  Authority(const Authority&) = delete;
  ~Authority() {
    X509_free(certificate_);
    EVP_PKEY_free(key_);
  }

  std::string certificate() const { return pem_of(certificate_); }

  // `names` as OpenSSL writes them: "DNS:localhost,IP:127.0.0.1".
  // `usage`: "clientAuth" or "serverAuth"; "": for both.
  PemPair issue(const std::string& names, long end = 86'400, const std::string& usage = "") const {
    EVP_PKEY* key = EVP_EC_gen("P-256");
    X509* issued = blank("server", key, end);
    extend(issued, NID_subject_alt_name, names);
    if (!usage.empty()) extend(issued, NID_ext_key_usage, usage);
    X509_set_issuer_name(issued, X509_get_subject_name(certificate_));
    REQUIRE(X509_sign(issued, key_, EVP_sha256()) > 0);
    BIO* key_text = BIO_new(BIO_s_mem());
    PEM_write_bio_PrivateKey(key_text, key, nullptr, nullptr, 0, nullptr, nullptr);
    PemPair pair{pem_of(issued), taken_from(key_text)};
    X509_free(issued);
    EVP_PKEY_free(key);
    return pair;
  }

 private:
  Authority(const char* name, const Authority* root, long end)
      : key_(EVP_EC_gen("P-256")), certificate_(blank(name, key_, end)) {
    const Authority& issuer = root != nullptr ? *root : *this;
    extend(certificate_, NID_basic_constraints, "critical,CA:TRUE");
    extend(certificate_, NID_key_usage, "critical,keyCertSign");
    X509_set_issuer_name(certificate_, X509_get_subject_name(issuer.certificate_));
    REQUIRE(X509_sign(certificate_, issuer.key_, EVP_sha256()) > 0);
  }
  static X509* blank(const char* name, EVP_PKEY* key, long end) {
    static long serial = 0;
    X509* made = X509_new();
    X509_set_version(made, X509_VERSION_3);
    ASN1_INTEGER_set(X509_get_serialNumber(made), ++serial);
    X509_gmtime_adj(X509_getm_notBefore(made), end - 86'400 * 2);
    X509_gmtime_adj(X509_getm_notAfter(made), end);
    X509_set_pubkey(made, key);
    X509_NAME_add_entry_by_txt(X509_get_subject_name(made), "CN", MBSTRING_ASC,
                               reinterpret_cast<const unsigned char*>(name), -1, -1, 0);
    return made;
  }
  static void extend(X509* certificate, int what, const std::string& value) {
    X509_EXTENSION* extension = X509V3_EXT_conf_nid(nullptr, nullptr, what, value.c_str());
    REQUIRE(extension != nullptr);
    X509_add_ext(certificate, extension, -1);
    X509_EXTENSION_free(extension);
  }
  static std::string pem_of(X509* certificate) {
    BIO* text = BIO_new(BIO_s_mem());
    PEM_write_bio_X509(text, certificate);
    return taken_from(text);
  }

  EVP_PKEY* key_;
  X509* certificate_;
};

}  // namespace sluice::http::test
