#include "common/http/tls_context.hpp"

#include <algorithm>
#include <climits>
#include <ctime>
#include <vector>

#include <fmt/core.h>
#include <openssl/bio.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/ssl.h>
#include <openssl/x509.h>

namespace sluice::http {
namespace {

struct Free {
  void operator()(BIO* bio) const { BIO_free(bio); }
  void operator()(X509* certificate) const { X509_free(certificate); }
  void operator()(EVP_PKEY* key) const { EVP_PKEY_free(key); }
};
template <class T>
using Owned = std::unique_ptr<T, Free>;

constexpr const char* kCiphers = "ECDHE+AESGCM:ECDHE+CHACHA20";  // for TLS 1.2
constexpr std::string_view kProtocol = "http/1.1";

std::unexpected<Error> fault(const PemFile& file, std::string_view what) {
  return failure("tls", fmt::format("{} {}", file.path, what));
}

std::string reason() {
  const char* text = ERR_reason_error_string(ERR_peek_last_error());
  return text != nullptr ? text : "OpenSSL gives no reason";
}

// OpenSSL's default password callback would prompt on the terminal.
int no_passphrase(char*, int, int, void*) { return -1; }

Owned<BIO> reader_of(const PemFile& file) {
  ERR_clear_error();
  return Owned<BIO>(
      BIO_new_mem_buf(file.text.data(), static_cast<int>(std::min<std::size_t>(file.text.size(), INT_MAX))));
}

Result<std::vector<Owned<X509>>> read_chain(const PemFile& file) {
  const Owned<BIO> reader = reader_of(file);
  std::vector<Owned<X509>> chain;
  while (X509* next = PEM_read_bio_X509(reader.get(), nullptr, &no_passphrase, nullptr)) chain.emplace_back(next);
  const unsigned long last = ERR_peek_last_error();
  const bool at_end = ERR_GET_LIB(last) == ERR_LIB_PEM && ERR_GET_REASON(last) == PEM_R_NO_START_LINE;
  // For a certificate that is cut off after its BEGIN line, OpenSSL reports the end of the file.
  const bool begun = !chain.empty() && file.text.rfind("-----BEGIN") > file.text.rfind("-----END");
  if (begun || !at_end)
    return fault(file, fmt::format("holds a faulty or cut off certificate: {}", at_end ? "it has no end" : reason()));
  if (chain.empty()) return fault(file, "holds no certificate in PEM form");
  return chain;
}

Result<Owned<EVP_PKEY>> read_key(const PemFile& file) {
  if (file.text.find("PRIVATE KEY-----") == std::string_view::npos) {
    return fault(file, "holds no private key in PEM form");
  }
  if (file.text.find("ENCRYPTED") != std::string_view::npos) {
    return fault(file, "holds a key that is encrypted; give it without a passphrase");
  }
  const Owned<BIO> reader = reader_of(file);
  Owned<EVP_PKEY> key(PEM_read_bio_PrivateKey(reader.get(), nullptr, &no_passphrase, nullptr));
  if (!key) return fault(file, fmt::format("holds a faulty or cut off private key: {}", reason()));
  return key;
}

// OpenSSL's ALPN callback.
int choose_protocol(SSL*, const unsigned char** chosen, unsigned char* size, const unsigned char* offered,
                    unsigned int offered_size, void*) {
  const unsigned char* end = offered + offered_size;
  while (offered < end) {
    const std::string_view name(reinterpret_cast<const char*>(offered + 1), *offered);
    if (name == kProtocol) {
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

Result<TlsContext> make_tls_context(const PemFile& chain, const PemFile& key) {
  auto certificates = read_chain(chain);
  if (!certificates) return std::unexpected(std::move(certificates.error()));
  auto private_key = read_key(key);
  if (!private_key) return std::unexpected(std::move(private_key.error()));
  X509* own = certificates->front().get();
  if (X509_check_private_key(own, private_key->get()) != 1) {
    return fault(key, fmt::format("is not the key of the first certificate in {}", chain.path));
  }

  ERR_clear_error();
  const ContextPtr context(SSL_CTX_new(TLS_server_method()), &SSL_CTX_free);
  if (!context || !set_rules(context.get())) return failure("tls", "TLS cannot be set up: " + reason());
  if (SSL_CTX_use_certificate(context.get(), own) != 1) {
    return fault(chain, fmt::format("holds a certificate that cannot be used: {}", reason()));
  }
  for (std::size_t i = 1; i < certificates->size(); ++i) {
    if (SSL_CTX_add1_chain_cert(context.get(), (*certificates)[i].get()) != 1) {
      return fault(chain, fmt::format("holds a chain that cannot be used: {}", reason()));
    }
  }
  if (SSL_CTX_use_PrivateKey(context.get(), private_key->get()) != 1) {
    return fault(key, fmt::format("holds a key that cannot be used: {}", reason()));
  }
  return TlsContext{context, end_of(own)};
}

}  // namespace sluice::http
