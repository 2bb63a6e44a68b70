// /docs: one page that shows /openapi.json, with inline styles and scripts.
#pragma once

#include <string_view>

#include "common/openapi/embedded.hpp"

namespace sluice::openapi {

inline constexpr std::string_view kPage = embedded::docs;
inline constexpr std::string_view kPageType = "text/html; charset=utf-8";
inline constexpr std::string_view kPageHeaders =
    "Content-Security-Policy: default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'; connect-src "
    "'self'\r\n";

}  // namespace sluice::openapi
