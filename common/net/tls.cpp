#include "common/net/tls.hpp"

#include <string>

#include <fmt/core.h>
#include <openssl/ssl.h>
#include <openssl/x509.h>
#include <boost/asio/ip/address.hpp>
#include <boost/asio/ssl/host_name_verification.hpp>

namespace sluice::net {

namespace asio = boost::asio;
using boost::system::error_code;

Result<> make_tls(const TlsFiles& files, std::optional<asio::ssl::context>& context) {
  context.emplace(asio::ssl::context::tls_client);
  error_code error;
  const auto fault = [&error](std::string_view what, const std::string& path) {
    return failure("tls", fmt::format("the {} {} cannot be used: {}", what, path, error.message()));
  };
  SSL_CTX_set_min_proto_version(context->native_handle(), TLS1_2_VERSION);
  // For an encrypted key, OpenSSL's own callback would ask on the terminal, and the program would stand still.
  SSL_CTX_set_default_passwd_cb(context->native_handle(), [](char*, int, int, void*) { return -1; });
  context->set_verify_mode(asio::ssl::verify_peer, error);
  if (files.ca.empty()) {
    context->set_default_verify_paths(error);
    if (error) return fault("system's list of certificate authorities", "");
  } else {
    context->load_verify_file(files.ca, error);
    if (error) return fault("file of certificate authorities", files.ca);
  }
  if (!files.chain.empty()) {
    context->use_certificate_chain_file(files.chain, error);
    if (error) return fault("client certificate", files.chain);
  }
  if (!files.key.empty()) {
    context->use_private_key_file(files.key, asio::ssl::context::pem, error);
    if (error) return fault("client key", files.key);
  }
  return {};
}

Result<> expect_host(Stream::TlsStream& stream, const std::string& host) {
  error_code error;
  stream.set_verify_callback(asio::ssl::host_name_verification(host), error);
  if (error) return failure("tls", fmt::format("the host name cannot be verified: {}", error.message()));
  error_code no_address;
  asio::ip::make_address(host, no_address);
  if (no_address && SSL_set_tlsext_host_name(stream.native_handle(), host.c_str()) != 1) {
    return failure("tls", "the host name cannot be sent in the TLS handshake");
  }
  return {};
}

std::string explain_tls(Stream::TlsStream& stream, const error_code& error) {
  const long verified = SSL_get_verify_result(stream.native_handle());
  if (verified == X509_V_OK) return error.message();
  // If only the host name is wrong, `verified` is X509_V_ERR_UNSPECIFIED, because Boost's check sets no result.
  return fmt::format("{}: {}", error.message(), X509_verify_cert_error_string(verified));
}

}  // namespace sluice::net
