// Whether somebody who trusts these authorities takes what a listener serves, at a time of one's choosing.
#pragma once

#include <chrono>
#include <string>

#include <doctest/doctest.h>
#include <openssl/bio.h>
#include <openssl/pem.h>
#include <openssl/ssl.h>
#include <openssl/x509.h>
#include <openssl/x509_vfy.h>
#include <openssl/x509v3.h>

#include "common/http/tls.hpp"
#include "server/kubernetes/certificates.hpp"

namespace sluice::server::kubernetes::test {

inline X509* parsed(const std::string& pem) {
  BIO* bio = BIO_new_mem_buf(pem.data(), static_cast<int>(pem.size()));
  X509* certificate = PEM_read_bio_X509(bio, nullptr, nullptr, nullptr);
  BIO_free(bio);
  REQUIRE(certificate != nullptr);
  return certificate;
}

// "" or OpenSSL's reason. `chain`: the server's certificate, then those behind it.
inline std::string refusal(const std::string& trusted, const std::string& chain, const std::string& name,
                           std::chrono::sys_seconds when) {
  X509_STORE* store = X509_STORE_new();
  for (const std::string& each : split_certificates(trusted)) {
    X509* authority = parsed(each);
    X509_STORE_add_cert(store, authority);
    X509_free(authority);
  }
  STACK_OF(X509)* behind = sk_X509_new_null();
  X509* leaf = nullptr;
  for (const std::string& each : split_certificates(chain)) {
    X509* certificate = parsed(each);
    if (leaf == nullptr) {
      leaf = certificate;
    } else {
      sk_X509_push(behind, certificate);
    }
  }
  REQUIRE(leaf != nullptr);
  X509_STORE_CTX* context = X509_STORE_CTX_new();
  X509_STORE_CTX_init(context, store, leaf, behind);
  X509_VERIFY_PARAM* rules = X509_STORE_CTX_get0_param(context);
  X509_VERIFY_PARAM_set_time(rules, when.time_since_epoch().count());
  X509_VERIFY_PARAM_set_purpose(rules, X509_PURPOSE_SSL_SERVER);
  X509_VERIFY_PARAM_set1_host(rules, name.c_str(), 0);
  const bool good = X509_verify_cert(context) == 1;
  const std::string reason = good ? "" : X509_verify_cert_error_string(X509_STORE_CTX_get_error(context));
  X509_STORE_CTX_free(context);
  sk_X509_pop_free(behind, X509_free);
  X509_free(leaf);
  X509_STORE_free(store);
  return reason;
}

// What a listener with these certificates serves to the next connection; "": nothing.
inline std::string served_by(const sluice::http::Certificates& certificates) {
  const sluice::http::SessionPtr session = certificates.new_session();
  if (!session) return "";
  BIO* bio = BIO_new(BIO_s_mem());
  PEM_write_bio_X509(bio, SSL_get_certificate(session.get()));
  STACK_OF(X509)* behind = nullptr;
  SSL_CTX_get0_chain_certs(SSL_get_SSL_CTX(session.get()), &behind);
  for (int i = 0; i < sk_X509_num(behind); ++i) PEM_write_bio_X509(bio, sk_X509_value(behind, i));
  char* data = nullptr;
  const long size = BIO_get_mem_data(bio, &data);
  std::string text(data, static_cast<std::size_t>(size));
  BIO_free(bio);
  return text;
}

}  // namespace sluice::server::kubernetes::test
