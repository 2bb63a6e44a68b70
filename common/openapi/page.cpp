#include "common/openapi/page.hpp"

#include <fmt/core.h>

#include <array>
#include <cstddef>
#include <cstdint>

#include "common/base/crypto.hpp"
#include "common/openapi/embedded.hpp"

namespace sluice::openapi {
namespace {

constexpr std::size_t kNonceBytes = 16;  // 128 bits, as Content Security Policy Level 3 asks for

constexpr std::string_view kStyle = "<style";
constexpr std::string_view kScript = "<script";
constexpr std::size_t kStyleEnd = embedded::docs.find(kStyle) + kStyle.size();
constexpr std::size_t kScriptEnd = embedded::docs.find(kScript) + kScript.size();
static_assert(kStyleEnd < kScriptEnd && kScriptEnd < embedded::docs.size());
static_assert(embedded::docs.find(kStyle, kStyleEnd) == std::string_view::npos, "only one style gets the nonce");
static_assert(embedded::docs.find(kScript, kScriptEnd) == std::string_view::npos, "only one script gets the nonce");

}  // namespace

Page make_page() {
  std::array<std::uint8_t, kNonceBytes> bytes{};
  random_bytes(bytes);
  const std::string nonce = to_hex(bytes);
  const std::string attribute = fmt::format(" nonce=\"{}\"", nonce);
  Page page;
  page.headers = fmt::format(
      "Content-Security-Policy: default-src 'none'; style-src 'nonce-{0}'; script-src 'nonce-{0}'; connect-src 'self'; "
      "base-uri 'none'; form-action 'none'; frame-ancestors 'none'\r\n",
      nonce);
  page.body.append(embedded::docs.substr(0, kStyleEnd))
      .append(attribute)
      .append(embedded::docs.substr(kStyleEnd, kScriptEnd - kStyleEnd))
      .append(attribute)
      .append(embedded::docs.substr(kScriptEnd));
  return page;
}

}  // namespace sluice::openapi
