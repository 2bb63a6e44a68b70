#include "common/http/client_authorities.hpp"

#include <utility>

#include <fmt/core.h>
#include <openssl/ssl.h>
#include <openssl/x509.h>
#include <openssl/x509_vfy.h>
#include <openssl/x509v3.h>

namespace sluice::http {
namespace {

struct FreeTrust {
  void operator()(X509_STORE* store) const { X509_STORE_free(store); }
  void operator()(STACK_OF(X509_NAME) * names) const { sk_X509_NAME_pop_free(names, &X509_NAME_free); }
};
using Names = std::unique_ptr<STACK_OF(X509_NAME), FreeTrust>;

bool add_name(STACK_OF(X509_NAME) * names, const X509* certificate) {
  X509_NAME* const name = X509_NAME_dup(X509_get_subject_name(certificate));
  if (name != nullptr && sk_X509_NAME_push(names, name) > 0) return true;
  X509_NAME_free(name);
  return false;
}

}  // namespace

struct ClientAuthorities::Trusted {
  std::unique_ptr<X509_STORE, FreeTrust> store{X509_STORE_new()};
  Names names{sk_X509_NAME_new_null()};  // told to clients, which choose their certificate by them
};

Result<std::shared_ptr<const ClientAuthorities::Trusted>> ClientAuthorities::trusted_of(const PemFile& file) {
  const auto certificates = read_certificates(file);
  if (!certificates) return std::unexpected(certificates.error());
  if (certificates->size() > kMost) {
    return pem_fault(file, fmt::format("holds {} certificates: keep only the authorities of your clients, at most {}",
                                       certificates->size(), kMost));
  }
  auto made = std::make_shared<Trusted>();
  bool good = made->store && made->names;
  // An authority may be an intermediate one, whose own issuer is not in the file.
  good = good && X509_STORE_set_flags(made->store.get(), X509_V_FLAG_PARTIAL_CHAIN) == 1;
  for (const auto& certificate : *certificates) {
    // Reads the extensions, which OpenSSL would otherwise do in the first handshake, while other threads use them.
    X509_check_purpose(certificate.get(), -1, 0);
    good = good && X509_STORE_add_cert(made->store.get(), certificate.get()) == 1 &&
           add_name(made->names.get(), certificate.get());
  }
  if (!good) return pem_fault(file, fmt::format("holds authorities that cannot be used: {}", openssl_reason()));
  return made;
}

Result<std::shared_ptr<ClientAuthorities>> ClientAuthorities::load(std::string path) {
  std::shared_ptr<ClientAuthorities> made(new ClientAuthorities(std::move(path)));
  if (Result<> loaded = made->put_in_force(read_pem_file(made->path_)); !loaded) {
    return std::unexpected(std::move(loaded.error()));
  }
  return made;
}

Result<bool> ClientAuthorities::reload_if_changed() {
  const Result<SecretText> content = read_pem_file(path_);
  if (summary_of(content) == last_summary_) return false;
  if (Result<> taken = put_in_force(content); !taken) return std::unexpected(std::move(taken.error()));
  return true;
}

Result<> ClientAuthorities::put_in_force(const Result<SecretText>& content) {
  last_summary_ = summary_of(content);
  if (!content) return std::unexpected(content.error());
  auto made = trusted_of({path_, content->text()});
  if (!made) return std::unexpected(std::move(made.error()));
  const std::lock_guard lock(mutex_);
  std::swap(trusted_, *made);
  return {};
}

bool ClientAuthorities::demand_certificate(SSL& session) const {
  std::shared_ptr<const Trusted> trusted;
  {
    const std::lock_guard lock(mutex_);
    trusted = trusted_;
  }
  Names names(SSL_dup_CA_list(trusted->names.get()));
  if (!names || SSL_set1_verify_cert_store(&session, trusted->store.get()) != 1) return false;
  SSL_set_client_CA_list(&session, names.release());
  SSL_set_verify(&session, SSL_VERIFY_PEER | SSL_VERIFY_FAIL_IF_NO_PEER_CERT, nullptr);
  return true;
}

}  // namespace sluice::http
