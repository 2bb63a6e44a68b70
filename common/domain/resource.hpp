// Resources that are routes: `METHOD:/path` or `METHOD /path`, with a known HTTP method. Every spelling of a route has
// one canonical spelling, so that policies, checks and counters mean the same thing:
//
// - the method in capitals, then ':';
// - no query and no fragment;
// - percent-encodings of unreserved characters decoded, the others with capital digits (RFC 3986, sections 6.2.2.1 and
//   6.2.2.2); "%2F" stays, so a path never gets more segments;
// - "//" folded into "/";
// - dot segments removed (section 5.2.4), after decoding, so that /a/%2e%2e/admin is /admin.
//
// Any other resource is left as it is. The canonical spelling is never longer, and is its own canonical spelling.
//
// Thread safety: pure functions.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace sluice {

// Whether a route with a slash at its end is another route than the one without.
enum class TrailingSlash : std::uint8_t { distinct, same };

constexpr std::string_view to_string(TrailingSlash value) { return value == TrailingSlash::same ? "same" : "distinct"; }
constexpr std::optional<TrailingSlash> parse_trailing_slash(std::string_view text) {
  if (text == "same") return TrailingSlash::same;
  return text == "distinct" ? std::optional(TrailingSlash::distinct) : std::nullopt;
}

// The length of the known method that begins a route, or 0 if the text is not a route.
std::size_t route_method_size(std::string_view resource);

// Rewrites `resource` in place, and returns its canonical spelling: the beginning of `resource`.
std::string_view canonical_resource(std::span<char> resource);

// The canonical spelling of a value in a scope. A '*' at its end makes the value a prefix: its last segment is not
// complete, so it may be "." or "..". A '*' after a query is cut with the query.
std::string canonical_scope_resource(std::string_view value);

// A canonical resource without the slash at its end. The root keeps its slash.
inline std::string_view without_trailing_slash(std::string_view resource) {
  if (!resource.ends_with('/')) return resource;
  const std::size_t method = route_method_size(resource);
  return method == 0 || resource.size() == method + 2 ? resource : resource.substr(0, resource.size() - 1);
}

// A pattern of a route or of a path, such as GET:/users/{id} or /users/{id}. A segment {NAME} stands for one segment
// that is not empty; the other segments are literal.
struct ResourcePattern {
  std::string text;
  std::uint8_t segments = 0;
  std::uint16_t literals = 0;  // the highest bit is the first segment's; set if the segment is literal

  static constexpr std::size_t kMaxSegments = 16;

  bool matches(std::string_view resource) const;
  std::uint8_t literal_count() const;
  bool operator==(const ResourcePattern&) const = default;
};

// Whether a value of a scope is a pattern, or was meant as one: a route or a path with a brace.
bool has_braces(std::string_view value);

// Why the value is no pattern, with the fix. nullopt if it is one. REQUIRES: has_braces(value).
std::optional<std::string> pattern_fault(std::string_view value);

// nullopt if the value has no braces, or a fault.
std::optional<ResourcePattern> parse_pattern(std::string_view value);

// Calls visit(head) for the text before the first '/', then visit(segment) for each segment. Stops if `visit` returns
// false, and returns false then and for a text without '/'.
template <class Visit>
bool each_segment(std::string_view resource, Visit visit) {
  std::size_t slash = resource.find('/');
  if (slash == std::string_view::npos || !visit(resource.substr(0, slash))) return false;
  while (slash < resource.size()) {
    const std::size_t next = resource.find('/', slash + 1);
    const std::size_t end = next == std::string_view::npos ? resource.size() : next;
    if (!visit(resource.substr(slash + 1, end - slash - 1))) return false;
    slash = end;
  }
  return true;
}

}  // namespace sluice
