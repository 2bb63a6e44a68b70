#include "common/domain/resource.hpp"

#include <algorithm>
#include <array>
#include <bit>

#include <fmt/core.h>

#include "common/base/text.hpp"

namespace sluice {
namespace {

constexpr std::size_t kMaxMethod = 8;

// The letters as one number, in lower case.
constexpr std::uint64_t word(std::string_view method) {
  std::uint64_t letters = 0;
  for (const char c : method) letters = letters << 8U | static_cast<unsigned char>(c | 0x20);
  return letters;
}

constexpr bool is_known_method(std::uint64_t letters) {
  switch (letters) {
    case word("get"):
    case word("put"):
    case word("head"):
    case word("post"):
    case word("patch"):
    case word("trace"):
    case word("delete"):
    case word("connect"):
    case word("options"):
      return true;
    default:
      return false;
  }
}

// The length of the known method at the beginning, if ':' or a blank follows; else 0.
std::size_t method_size(std::string_view text) {
  std::uint64_t letters = 0;
  std::size_t size = 0;
  for (; size < text.size() && size < kMaxMethod; ++size) {
    const char lower = static_cast<char>(text[size] | 0x20);
    if (lower < 'a' || lower > 'z') break;
    letters = letters << 8U | static_cast<unsigned char>(lower);
  }
  const bool separated = size < text.size() && (text[size] == ':' || text[size] == ' ');
  return separated && is_known_method(letters) ? size : 0;
}

enum class Byte : std::uint8_t { plain, unreserved, slash, other };

// What canonical_resource() must look at. `plain` and `unreserved` bytes stand for themselves.
constexpr std::array<Byte, 256> kBytes = [] {
  std::array<Byte, 256> bytes{};
  for (char c = 'a'; c <= 'z'; ++c) bytes[static_cast<unsigned char>(c)] = Byte::unreserved;
  for (char c = 'A'; c <= 'Z'; ++c) bytes[static_cast<unsigned char>(c)] = Byte::unreserved;
  for (char c = '0'; c <= '9'; ++c) bytes[static_cast<unsigned char>(c)] = Byte::unreserved;
  for (const char c : {'-', '.', '_', '~'}) bytes[static_cast<unsigned char>(c)] = Byte::unreserved;
  for (const char c : {'%', '?', '#'}) bytes[static_cast<unsigned char>(c)] = Byte::other;
  bytes[static_cast<unsigned char>('/')] = Byte::slash;
  return bytes;
}();

Byte kind_of(char c) { return kBytes[static_cast<unsigned char>(c)]; }

// The value of a hexadecimal digit, or -1.
int digit_of(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  const char lower = static_cast<char>(c | 0x20);
  return lower >= 'a' && lower <= 'f' ? lower - 'a' + 10 : -1;
}

// Whether the route is canonical. A path with "/." may be canonical although this returns false.
// REQUIRES: `method` is the length of the route's method.
bool is_surely_canonical(std::string_view route, std::size_t method) {
  if (route[method] != ':') return false;
  for (std::size_t i = 0; i < method; ++i) {
    if ((route[i] & 0x20) != 0) return false;
  }
  for (std::size_t i = method + 1; i < route.size(); ++i) {
    const Byte kind = kind_of(route[i]);
    if (kind == Byte::other) return false;
    if (kind == Byte::slash && i + 1 < route.size() && (route[i + 1] == '/' || route[i + 1] == '.')) return false;
  }
  return true;
}

// Rewrites a path from left to right. The text that is written never overtakes the text that is read.
class PathWriter {
 public:
  // `open`: the last segment is the beginning of one, so it is no dot segment yet.
  PathWriter(std::span<char> text, std::size_t path, bool open)
      : text_(text), path_(path), end_(text.size()), read_(path), write_(path), open_(open) {
    for (std::size_t i = path; i < end_; ++i) {
      if (text[i] != '?' && text[i] != '#') continue;
      end_ = i;
      open_ = false;
    }
  }

  // Returns the length of the canonical text. REQUIRES: the path begins with '/'.
  std::size_t run() {
    text_[write_++] = '/';
    while (read_ < end_) write_segment();
    return write_;
  }
  bool open() const { return open_; }

 private:
  // Reads one '/' and the segment after it. The text written so far ends with '/'.
  void write_segment() {
    ++read_;
    const std::size_t begin = write_;
    while (read_ < end_ && text_[read_] != '/') write_byte();
    const std::string_view segment(text_.data() + begin, write_ - begin);
    const bool last = read_ == end_;
    if (!(last && open_)) {
      if (segment == "." || segment == "..") {
        write_ = segment == "." ? begin : begin_of_parent(begin);
        return;
      }
    }
    if (!segment.empty() && !last) text_[write_++] = '/';
  }

  // `begin`: of a segment.
  std::size_t begin_of_parent(std::size_t begin) const {
    if (begin == path_ + 1) return begin;
    std::size_t parent = begin - 1;
    while (text_[parent - 1] != '/') --parent;
    return parent;
  }

  void write_byte() {
    const char c = text_[read_];
    const int high = c == '%' && end_ - read_ > 2 ? digit_of(text_[read_ + 1]) : -1;
    const int low = high < 0 ? -1 : digit_of(text_[read_ + 2]);
    if (low < 0) {
      text_[write_++] = c;
      ++read_;
      return;
    }
    read_ += 3;
    const char decoded = static_cast<char>(high * 16 + low);
    if (kind_of(decoded) == Byte::unreserved && !would_make_encoding(decoded)) {
      text_[write_++] = decoded;
      return;
    }
    static constexpr std::string_view kDigits = "0123456789ABCDEF";
    text_[write_++] = '%';
    text_[write_++] = kDigits[static_cast<std::size_t>(high)];
    text_[write_++] = kDigits[static_cast<std::size_t>(low)];
  }

  // In "%%34%31", the first '%' encodes nothing. Decoding the rest would make the encoding "%41" of it, which a second
  // pass would decode again.
  bool would_make_encoding(char decoded) const {
    if (digit_of(decoded) < 0) return false;
    return text_[write_ - 1] == '%' ||
           (write_ - path_ >= 2 && text_[write_ - 2] == '%' && digit_of(text_[write_ - 1]) >= 0);
  }

  std::span<char> text_;
  std::size_t path_;
  std::size_t end_;
  std::size_t read_;
  std::size_t write_;
  bool open_;
};

void write_method(std::span<char> route, std::size_t method) {
  for (std::size_t i = 0; i < method; ++i) route[i] = static_cast<char>(route[i] & ~0x20);
  route[method] = ':';
}

bool is_wildcard(std::string_view segment) { return segment.starts_with('{'); }

bool is_name(std::string_view name) {
  return !name.empty() && std::ranges::all_of(name, [](char c) { return kind_of(c) == Byte::unreserved && c != '~'; });
}

constexpr std::string_view kExample = "such as GET:/users/{id}";

std::optional<std::string> segment_fault(std::string_view segment) {
  if (segment.find_first_of("{}") == std::string_view::npos) return std::nullopt;
  if (!segment.starts_with('{') || segment.find('{', 1) != std::string_view::npos) {
    return fmt::format("a brace stands for a whole segment, {}; got {}: write {{NAME}} between two slashes", kExample,
                       quoted(segment));
  }
  const std::size_t close = segment.find('}');
  if (close == std::string_view::npos) {
    return fmt::format("the brace in {} is not closed: write {{NAME}}, {}", quoted(segment), kExample);
  }
  if (close + 1 != segment.size()) {
    return fmt::format("a brace stands for a whole segment, {}; got {}: remove what follows the brace", kExample,
                       quoted(segment));
  }
  const std::string_view name = segment.substr(1, close - 1);
  if (name.empty()) return fmt::format("the braces have no name: write {{NAME}}, {}", kExample);
  if (!is_name(name)) {
    return fmt::format(
        "a name in braces has only letters, digits, _ - and .; got {}: a segment matches any text, "
        "so leave expressions out",
        quoted(name));
  }
  return std::nullopt;
}

}  // namespace

std::size_t route_method_size(std::string_view resource) {
  const std::size_t method = method_size(resource);
  return method != 0 && method + 1 < resource.size() && resource[method + 1] == '/' ? method : 0;
}

std::string_view canonical_resource(std::span<char> resource) {
  const std::string_view text(resource.data(), resource.size());
  const std::size_t method = route_method_size(text);
  if (method == 0 || is_surely_canonical(text, method)) return text;
  write_method(resource, method);
  return text.substr(0, PathWriter(resource, method + 1, false).run());
}

std::string canonical_scope_resource(std::string_view value) {
  std::string text(value);
  const bool is_prefix = text.ends_with('*');
  if (is_prefix) text.pop_back();
  const std::size_t method = method_size(text);
  if (method == 0) return std::string(value);
  const bool has_path = method + 1 < text.size();
  if (has_path ? text[method + 1] != '/' : !is_prefix) return std::string(value);
  write_method(text, method);
  if (!has_path) return text + '*';
  PathWriter path(text, method + 1, is_prefix);
  text.resize(path.run());
  if (path.open()) text += '*';
  return text;
}

bool ResourcePattern::matches(std::string_view resource) const {
  std::string_view rest = text;
  std::size_t left = std::size_t{segments} + 1;
  const bool alike = each_segment(resource, [&](std::string_view segment) {
    if (left-- == 0) return false;
    const std::string_view wanted = rest.substr(0, rest.find('/'));
    rest.remove_prefix(std::min(wanted.size() + 1, rest.size()));
    return is_wildcard(wanted) ? !segment.empty() : segment == wanted;
  });
  return alike && left == 0;
}

std::uint8_t ResourcePattern::literal_count() const { return static_cast<std::uint8_t>(std::popcount(literals)); }

bool has_braces(std::string_view value) {
  return (value.starts_with('/') || route_method_size(value) != 0) &&
         value.find_first_of("{}") != std::string_view::npos;
}

std::optional<std::string> pattern_fault(std::string_view value) {
  if (value.ends_with('*')) {
    return fmt::format(
        "a pattern has no * at its end: write one pattern for each number of segments, such as "
        "/users/{{id}}/{{rest}}; got {}",
        quoted(value));
  }
  std::optional<std::string> fault;
  std::size_t segments = 0;
  each_segment(value, [&](std::string_view segment) {
    if (segments++ > 0) fault = segment_fault(segment);
    return !fault;
  });
  if (!fault && segments > ResourcePattern::kMaxSegments + 1) {
    return fmt::format("a pattern has at most {} segments; this one has {}: write a prefix, such as GET:/users/*",
                       ResourcePattern::kMaxSegments, segments - 1);
  }
  return fault;
}

std::optional<ResourcePattern> parse_pattern(std::string_view value) {
  if (!has_braces(value) || pattern_fault(value)) return std::nullopt;
  ResourcePattern pattern{.text = std::string(value)};
  bool in_head = true;
  each_segment(value, [&](std::string_view segment) {
    if (in_head) {
      in_head = false;
      return true;
    }
    if (!is_wildcard(segment)) pattern.literals |= static_cast<std::uint16_t>(0x8000U >> pattern.segments);
    ++pattern.segments;
    return true;
  });
  return pattern;
}

}  // namespace sluice
