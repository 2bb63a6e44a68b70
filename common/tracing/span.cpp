#include "common/tracing/span.hpp"

#include <new>

#include "common/base/utf8.hpp"
#include "common/tracing/attribute_names.hpp"

namespace sluice::tracing {
namespace {

// Each invalid byte becomes a question mark, so that the length stays.
std::string as_utf8(std::string_view text) {
  std::string valid(text);
  for (std::size_t i = 0; i < valid.size();) {
    const std::size_t length = utf8_sequence(valid, i);
    if (length == 0 && static_cast<unsigned char>(valid[i]) >= 0x80) valid[i] = '?';
    i += length == 0 ? 1 : length;
  }
  return valid;
}

std::string bounded(std::string_view text) {
  std::string valid = as_utf8(text.substr(0, Span::kMaxText + 4));  // a character has at most four bytes
  valid.resize(utf8_prefix(valid, Span::kMaxText).size());
  return valid;
}

}  // namespace

void Span::set(std::string_view attribute, std::string_view text) noexcept {
  try {
    attributes.push_back({attribute, bounded(text)});
  } catch (const std::bad_alloc&) {
  }
}

void Span::add(std::string_view attribute, decltype(Attribute::value) value) noexcept {
  try {
    attributes.push_back({attribute, std::move(value)});
  } catch (const std::bad_alloc&) {
  }
}

void Span::link(const SpanContext& other) noexcept {
  try {
    if (links.size() < kMaxLinks) return links.push_back(other);
  } catch (const std::bad_alloc&) {
  }
  ++dropped_links;
}

void Span::fail(std::string_view type, std::string_view text) noexcept {
  status = SpanStatus::error;
  set(attribute::kErrorType, type);
  try {
    status_text = bounded(text);
  } catch (const std::bad_alloc&) {
  }
}

}  // namespace sluice::tracing
