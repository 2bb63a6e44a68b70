#include "common/http/media_type.hpp"

#include <fmt/core.h>

#include <algorithm>

#include "common/base/text.hpp"

namespace sluice::http {
namespace {

std::string in_lower_case(std::string_view text) {
  std::string lower(text);
  std::ranges::transform(lower, lower.begin(),
                         [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c; });
  return lower;
}

}  // namespace

std::string media_type(std::string_view content_type) {
  return in_lower_case(content_type.substr(0, content_type.find_first_of("; \t")));
}

bool is_uncoded(std::string_view content_encoding) {
  return content_encoding.empty() || in_lower_case(content_encoding) == "identity";
}

std::string coded_body_detail(std::string_view content_encoding) {
  return fmt::format("The body must be sent without a content coding: leave Content-Encoding out; got {}.",
                     quoted(content_encoding));
}

}  // namespace sluice::http
