#include "server/kubernetes/certificates.hpp"

#include <algorithm>
#include <array>
#include <climits>
#include <ctime>
#include <memory>

#include <fmt/core.h>
#include <openssl/bio.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/x509.h>
#include <openssl/x509v3.h>
#include <boost/asio/ip/address.hpp>

#include "common/base/crypto.hpp"

namespace sluice::server::kubernetes {
namespace {

struct Deleter {
  void operator()(BIO* bio) const { BIO_free(bio); }
  void operator()(X509* certificate) const { X509_free(certificate); }
  void operator()(EVP_PKEY* key) const { EVP_PKEY_free(key); }
  void operator()(BIGNUM* number) const { BN_free(number); }
  void operator()(GENERAL_NAMES* names) const { GENERAL_NAMES_free(names); }
  void operator()(X509_EXTENSION* extension) const { X509_EXTENSION_free(extension); }
};
template <class T>
using Owned = std::unique_ptr<T, Deleter>;

std::unexpected<Error> openssl_failure(std::string_view what) {
  const char* const reason = ERR_reason_error_string(ERR_peek_last_error());
  return failure("tls", fmt::format("{}: {}", what, reason != nullptr ? reason : "OpenSSL gives no reason"));
}

Owned<BIO> reader_of(std::string_view text) {
  ERR_clear_error();
  return Owned<BIO>(BIO_new_mem_buf(text.data(), static_cast<int>(std::min<std::size_t>(text.size(), INT_MAX))));
}

int no_passphrase(char*, int, int, void*) { return -1; }

Owned<X509> parse_certificate(const std::string& text) {
  return Owned<X509>(PEM_read_bio_X509(reader_of(text).get(), nullptr, &no_passphrase, nullptr));
}

Owned<EVP_PKEY> parse_key(const std::string& text) {
  return Owned<EVP_PKEY>(PEM_read_bio_PrivateKey(reader_of(text).get(), nullptr, &no_passphrase, nullptr));
}

std::string text_of(const Owned<BIO>& bio) {
  char* data = nullptr;
  const long size = BIO_get_mem_data(bio.get(), &data);
  return {data, static_cast<std::size_t>(size)};
}

std::string text_of(X509* certificate) {
  const Owned<BIO> out(BIO_new(BIO_s_mem()));
  return PEM_write_bio_X509(out.get(), certificate) == 1 ? text_of(out) : std::string();
}

std::string text_of(EVP_PKEY* key) {
  const Owned<BIO> out(BIO_new(BIO_s_mem()));
  const int written = PEM_write_bio_PrivateKey(out.get(), key, nullptr, nullptr, 0, nullptr, nullptr);
  return written == 1 ? text_of(out) : std::string();
}

// The serial number must be positive (RFC 5280, 4.1.2.2).
bool set_serial(X509* certificate) {
  std::array<std::uint8_t, 16> bytes{};
  random_bytes(bytes);
  bytes[0] = static_cast<std::uint8_t>((bytes[0] & 0x7F) | 0x40);
  const Owned<BIGNUM> number(BN_bin2bn(bytes.data(), bytes.size(), nullptr));
  return number && BN_to_ASN1_INTEGER(number.get(), X509_get_serialNumber(certificate)) != nullptr;
}

bool set_name(X509* certificate, const std::string& name) {
  return X509_NAME_add_entry_by_txt(X509_get_subject_name(certificate), "CN", MBSTRING_UTF8,
                                    reinterpret_cast<const unsigned char*>(name.c_str()), -1, -1, 0) == 1;
}

// Sets all fields except names, extensions and signature.
Owned<X509> begin_certificate(EVP_PKEY* key, const Period& period) {
  Owned<X509> made(X509_new());
  const bool good = made && X509_set_version(made.get(), X509_VERSION_3) == 1 && set_serial(made.get()) &&
                    ASN1_TIME_set(X509_getm_notBefore(made.get()), period.from.time_since_epoch().count()) &&
                    ASN1_TIME_set(X509_getm_notAfter(made.get()), period.until.time_since_epoch().count()) &&
                    X509_set_pubkey(made.get(), key) == 1;
  return good ? std::move(made) : nullptr;
}

struct Extension {
  int nid;
  std::string value;
};

bool add_extensions(X509* certificate, X509* issuer, const std::vector<Extension>& extensions) {
  X509V3_CTX context;
  X509V3_set_ctx_nodb(&context);
  X509V3_set_ctx(&context, issuer, certificate, nullptr, nullptr, 0);
  return std::ranges::all_of(extensions, [&](const Extension& each) {
    const Owned<X509_EXTENSION> made(X509V3_EXT_conf_nid(nullptr, &context, each.nid, each.value.c_str()));
    return made && X509_add_ext(certificate, made.get(), -1) == 1;
  });
}

const std::vector<Extension>& authority_extensions() {
  static const std::vector<Extension> extensions{{NID_basic_constraints, "critical,CA:TRUE"},
                                                 {NID_key_usage, "critical,keyCertSign,cRLSign"},
                                                 {NID_subject_key_identifier, "hash"}};
  return extensions;
}

bool is_address(const std::string& name) {
  boost::system::error_code error;
  boost::asio::ip::make_address(name, error);
  return !error;
}

// "DNS:a.example,IP:10.0.0.1"
std::string alternative_names(const std::vector<std::string>& names) {
  std::string text;
  for (const std::string& name : names) {
    text += fmt::format("{}{}:{}", text.empty() ? "" : ",", is_address(name) ? "IP" : "DNS", name);
  }
  return text;
}

std::chrono::sys_seconds time_of(const ASN1_TIME* time) {
  std::tm utc{};
  ASN1_TIME_to_tm(time, &utc);
  return std::chrono::sys_seconds(std::chrono::seconds(::timegm(&utc)));
}

std::string text_of(const ASN1_STRING* bytes) {
  return {reinterpret_cast<const char*>(ASN1_STRING_get0_data(bytes)),
          static_cast<std::size_t>(ASN1_STRING_length(bytes))};
}

std::string address_of(const ASN1_OCTET_STRING* bytes) {
  const std::string raw = text_of(bytes);
  if (raw.size() == 4) {
    boost::asio::ip::address_v4::bytes_type v4{};
    std::ranges::copy(raw, reinterpret_cast<char*>(v4.data()));
    return boost::asio::ip::address_v4(v4).to_string();
  }
  boost::asio::ip::address_v6::bytes_type v6{};
  if (raw.size() == v6.size()) std::ranges::copy(raw, reinterpret_cast<char*>(v6.data()));
  return boost::asio::ip::address_v6(v6).to_string();
}

std::vector<std::string> names_in(const X509* certificate) {
  const Owned<GENERAL_NAMES> all(
      static_cast<GENERAL_NAMES*>(X509_get_ext_d2i(certificate, NID_subject_alt_name, nullptr, nullptr)));
  std::vector<std::string> names;
  for (int i = 0; all && i < sk_GENERAL_NAME_num(all.get()); ++i) {
    const GENERAL_NAME* const each = sk_GENERAL_NAME_value(all.get(), i);
    if (each->type == GEN_DNS) names.push_back(text_of(each->d.dNSName));
    if (each->type == GEN_IPADD) names.push_back(address_of(each->d.iPAddress));
  }
  std::ranges::sort(names);
  return names;
}

}  // namespace

Result<KeyPair> make_authority(const Period& period) {
  ERR_clear_error();
  const Owned<EVP_PKEY> key(EVP_EC_gen("P-256"));
  if (!key) return openssl_failure("a key cannot be made");
  std::array<std::uint8_t, 4> digits{};
  random_bytes(digits);
  const Owned<X509> made = begin_certificate(key.get(), period);
  const bool good = made && set_name(made.get(), "sluice CA " + to_hex(digits)) &&
                    X509_set_issuer_name(made.get(), X509_get_subject_name(made.get())) == 1 &&
                    add_extensions(made.get(), made.get(), authority_extensions()) &&
                    X509_sign(made.get(), key.get(), EVP_sha256()) > 0;
  if (!good) return openssl_failure("an authority cannot be made");
  return KeyPair{text_of(made.get()), text_of(key.get())};
}

Result<KeyPair> issue(const KeyPair& authority, const std::vector<std::string>& names, const Period& period) {
  const Owned<X509> issuer = parse_certificate(authority.certificate);
  const Owned<EVP_PKEY> signing = parse_key(authority.key);
  if (!issuer || !signing) return openssl_failure("the authority cannot be read");
  const Owned<EVP_PKEY> key(EVP_EC_gen("P-256"));
  if (!key) return openssl_failure("a key cannot be made");
  const Owned<X509> made = begin_certificate(key.get(), period);
  const bool good = made && set_name(made.get(), "sluice-server") &&
                    X509_set_issuer_name(made.get(), X509_get_subject_name(issuer.get())) == 1 &&
                    add_extensions(made.get(), issuer.get(),
                                   {{NID_basic_constraints, "critical,CA:FALSE"},
                                    {NID_key_usage, "critical,digitalSignature"},
                                    {NID_ext_key_usage, "serverAuth"},
                                    {NID_subject_key_identifier, "hash"},
                                    {NID_authority_key_identifier, "keyid"},
                                    {NID_subject_alt_name, alternative_names(names)}}) &&
                    X509_sign(made.get(), signing.get(), EVP_sha256()) > 0;
  if (!good) return openssl_failure("a certificate cannot be made");
  return KeyPair{text_of(made.get()), text_of(key.get())};
}

Result<std::string> bridge(const KeyPair& former, const std::string& next) {
  const Owned<X509> issuer = parse_certificate(former.certificate);
  const Owned<EVP_PKEY> signing = parse_key(former.key);
  const Owned<X509> bridged = parse_certificate(next);
  if (!issuer || !signing || !bridged) return openssl_failure("an authority cannot be read");
  const Period period{time_of(X509_get0_notBefore(bridged.get())), time_of(X509_get0_notAfter(issuer.get()))};
  const Owned<X509> made = begin_certificate(X509_get0_pubkey(bridged.get()), period);
  std::vector<Extension> extensions = authority_extensions();
  extensions.push_back({NID_authority_key_identifier, "keyid"});
  const bool good = made && X509_set_subject_name(made.get(), X509_get_subject_name(bridged.get())) == 1 &&
                    X509_set_issuer_name(made.get(), X509_get_subject_name(issuer.get())) == 1 &&
                    add_extensions(made.get(), issuer.get(), extensions) &&
                    X509_sign(made.get(), signing.get(), EVP_sha256()) > 0;
  if (!good) return openssl_failure("an authority cannot be signed by the former one");
  return text_of(made.get());
}

Result<CertificateFacts> read_certificate(const std::string& certificate) {
  const Owned<X509> read = parse_certificate(certificate);
  if (!read) return openssl_failure("this is not a certificate in PEM form");
  return CertificateFacts{{time_of(X509_get0_notBefore(read.get())), time_of(X509_get0_notAfter(read.get()))},
                          names_in(read.get())};
}

bool key_matches(const KeyPair& pair) {
  const Owned<X509> certificate = parse_certificate(pair.certificate);
  const Owned<EVP_PKEY> key = parse_key(pair.key);
  return certificate && key && X509_check_private_key(certificate.get(), key.get()) == 1;
}

bool is_issued_by(const std::string& certificate, const std::string& authority) {
  const Owned<X509> issued = parse_certificate(certificate);
  const Owned<X509> issuer = parse_certificate(authority);
  return issued && issuer && X509_check_issued(issuer.get(), issued.get()) == X509_V_OK &&
         X509_verify(issued.get(), X509_get0_pubkey(issuer.get())) == 1;
}

std::vector<std::string> split_certificates(std::string_view text) {
  static constexpr std::string_view kBegin = "-----BEGIN CERTIFICATE-----";
  static constexpr std::string_view kEnd = "-----END CERTIFICATE-----";
  std::vector<std::string> certificates;
  for (;;) {
    const std::size_t from = text.find(kBegin);
    if (from == std::string_view::npos) return certificates;
    const std::size_t end = text.find(kEnd, from);
    if (end == std::string_view::npos) return certificates;
    certificates.push_back(std::string(text.substr(from, end + kEnd.size() - from)) + "\n");
    text.remove_prefix(end + kEnd.size());
  }
}

}  // namespace sluice::server::kubernetes
