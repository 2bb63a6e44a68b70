// /docs: one page that shows /openapi.json, with a style and a script of its own.
#pragma once

#include <string>
#include <string_view>

namespace sluice::openapi {

inline constexpr std::string_view kPageType = "text/html; charset=utf-8";

struct Page {
  std::string headers;  // whole lines
  std::string body;
};

// The browser runs only the style and the script that carry the nonce of the headers. Each call makes a new one, which
// nobody can guess. No other site may show the page in a frame.
Page make_page();

}  // namespace sluice::openapi
