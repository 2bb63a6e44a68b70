#include "common/http/tls_context.hpp"

#include <ctime>
#include <vector>

#include <fmt/core.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/ssl.h>
#include <openssl/x509.h>

namespace sluice::http {
namespace {

struct FreeKey {
  void operator()(EVP_PKEY* key) const { EVP_PKEY_free(key); }
};
using OwnedKey = std::unique_ptr<EVP_PKEY, FreeKey>;

constexpr const char* kCiphers = "ECDHE+AESGCM:ECDHE+CHACHA20";  // for TLS 1.2
constexpr std::string_view kProtocol = "http/1.1";               // of sessions without select_protocol()

Result<OwnedKey> read_key(const PemFile& file) {
  if (file.text.find("PRIVATE KEY-----") == std::string_view::npos) {
    return pem_fault(file, "holds no private key in PEM form");
  }
  if (file.text.find("ENCRYPTED") != std::string_view::npos) {
    return pem_fault(file, "holds a key that is encrypted; give it without a passphrase");
  }
  const OwnedOpenssl<BIO> reader = pem_reader(file);
  OwnedKey key(PEM_read_bio_PrivateKey(reader.get(), nullptr, &no_passphrase, nullptr));
  if (!key) return pem_fault(file, fmt::format("holds a faulty or cut off private key: {}", openssl_reason()));
  return key;
}

// OpenSSL's ALPN callback.
int choose_protocol(SSL* session, const unsigned char** chosen, unsigned char* size, const unsigned char* offered,
                    unsigned int offered_size, void*) {
  const auto* selected = static_cast<const char*>(SSL_get_app_data(session));
  const std::string_view wanted = selected != nullptr ? std::string_view(selected) : kProtocol;
  const unsigned char* end = offered + offered_size;
  while (offered < end) {
    const std::string_view name(reinterpret_cast<const char*>(offered + 1), *offered);
    if (name == wanted) {
      *chosen = offered + 1;
      *size = static_cast<unsigned char>(name.size());
      return SSL_TLSEXT_ERR_OK;
    }
    offered += 1 + name.size();
  }
  return SSL_TLSEXT_ERR_ALERT_FATAL;
}

bool set_rules(SSL_CTX* context) {
  SSL_CTX_set_options(context, SSL_OP_NO_RENEGOTIATION | SSL_OP_NO_COMPRESSION | SSL_OP_NO_TICKET |
                                   SSL_OP_CIPHER_SERVER_PREFERENCE | SSL_OP_PRIORITIZE_CHACHA |
                                   SSL_OP_IGNORE_UNEXPECTED_EOF);
  SSL_CTX_set_mode(context,
                   SSL_MODE_ENABLE_PARTIAL_WRITE | SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER | SSL_MODE_RELEASE_BUFFERS);
  SSL_CTX_set_read_ahead(context, 1);  // one system call may read many records
  SSL_CTX_set_session_cache_mode(context, SSL_SESS_CACHE_OFF);
  SSL_CTX_set_alpn_select_cb(context, &choose_protocol, nullptr);
  return SSL_CTX_set_num_tickets(context, 0) == 1 && SSL_CTX_set_min_proto_version(context, TLS1_2_VERSION) == 1 &&
         SSL_CTX_set_cipher_list(context, kCiphers) == 1;
}

std::chrono::sys_seconds end_of(const X509* certificate) {
  std::tm utc{};
  ASN1_TIME_to_tm(X509_get0_notAfter(certificate), &utc);
  return std::chrono::sys_seconds(std::chrono::seconds(::timegm(&utc)));
}

}  // namespace

void FreeSession::operator()(SSL* session) const { SSL_free(session); }

void select_protocol(SSL& session, std::string_view protocol) {
  SSL_set_app_data(&session, const_cast<char*>(protocol.data()));
}

Result<TlsContext> make_tls_context(const PemFile& chain, const PemFile& key) {
  auto certificates = read_certificates(chain);
  if (!certificates) return std::unexpected(std::move(certificates.error()));
  auto private_key = read_key(key);
  if (!private_key) return std::unexpected(std::move(private_key.error()));
  X509* own = certificates->front().get();
  if (X509_check_private_key(own, private_key->get()) != 1) {
    return pem_fault(key, fmt::format("is not the key of the first certificate in {}", chain.path));
  }

  ERR_clear_error();
  const ContextPtr context(SSL_CTX_new(TLS_server_method()), &SSL_CTX_free);
  if (!context || !set_rules(context.get())) return failure("tls", "TLS cannot be set up: " + openssl_reason());
  if (SSL_CTX_use_certificate(context.get(), own) != 1) {
    return pem_fault(chain, fmt::format("holds a certificate that cannot be used: {}", openssl_reason()));
  }
  for (std::size_t i = 1; i < certificates->size(); ++i) {
    if (SSL_CTX_add1_chain_cert(context.get(), (*certificates)[i].get()) != 1) {
      return pem_fault(chain, fmt::format("holds a chain that cannot be used: {}", openssl_reason()));
    }
  }
  if (SSL_CTX_use_PrivateKey(context.get(), private_key->get()) != 1) {
    return pem_fault(key, fmt::format("holds a key that cannot be used: {}", openssl_reason()));
  }
  return TlsContext{context, end_of(own)};
}

}  // namespace sluice::http
