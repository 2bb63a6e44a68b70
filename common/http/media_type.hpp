// What a request says about its body: Content-Type and Content-Encoding.
#pragma once

#include <string>
#include <string_view>

namespace sluice::http {

// The media type without its parameters, in lower case. "" when absent.
std::string media_type(std::string_view content_type);

// Whether the body is sent as it is: the header is absent, or "identity".
bool is_uncoded(std::string_view content_encoding);

// The answer 415 to a coded body: its detail, and a header that names the coding to use (RFC 9110 section 15.5.16).
std::string coded_body_detail(std::string_view content_encoding);
inline constexpr std::string_view kUncodedOnly = "Accept-Encoding: identity\r\n";

}  // namespace sluice::http
