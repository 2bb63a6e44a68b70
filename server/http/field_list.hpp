// Header fields that are lists, such as Accept-Encoding (RFC 9110 section 5.6.1).
//
// Thread safety: any thread.
#pragma once

#include <string_view>

namespace sluice::server::http {

// Without the spaces and tabs around it.
std::string_view trimmed(std::string_view text);

// Removes and returns the part up to `end`, trimmed; removes `end` too.
std::string_view cut(std::string_view& text, char end);

// Whether `text` in lower case is `lower`.
bool same_word(std::string_view text, std::string_view lower);

// Whether a caller with this Accept-Encoding takes the content coding, such as "gzip" (RFC 9110 section 12.5.3).
// `coding`: in lower case.
bool takes_coding(std::string_view accept_encoding, std::string_view coding);

}  // namespace sluice::server::http
