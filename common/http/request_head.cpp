#include "common/http/request_head.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <cstring>

#include <boost/beast/core/error.hpp>
#include <boost/beast/http/basic_parser.hpp>
#include <boost/beast/http/error.hpp>
#include <boost/beast/http/field.hpp>

namespace sluice::http {
namespace {

namespace beast = boost::beast;
using Text = beast::string_view;
using Code = beast::error_code;

constexpr char kCr = '\r';
constexpr char kLf = '\n';

constexpr Refusal kHeadTooLarge{431, "/problems/header-too-large",
                                "The request line and headers are larger than this server takes.", true};
constexpr Refusal kTooManyFields{431, "/problems/header-too-large", "There are more header fields than 100.", true};
constexpr Refusal kBadVersion{505, "/problems/http-version", "This server speaks HTTP/1.1 and HTTP/1.0.", true};

constexpr bool is_upper(char c) { return c >= 'A' && c <= 'Z'; }
constexpr bool is_digit(char c) { return c >= '0' && c <= '9'; }
constexpr char lower(char c) { return is_upper(c) ? static_cast<char>(c | 0x20) : c; }

// Without a branch for each character.
constexpr auto kLowerCase = [] {
  std::array<char, 256> table{};
  for (std::size_t i = 0; i < table.size(); ++i) table[i] = lower(static_cast<char>(i));
  return table;
}();

bool equals_lower(std::string_view text, std::string_view lower_case) {
  return std::ranges::equal(text, lower_case, {}, lower);
}

// The characters of uri-host [":" port] (RFC 3986).
constexpr auto kHostCharacters = [] {
  std::array<bool, 256> table{};
  for (char c = '0'; c <= '9'; ++c) table[static_cast<unsigned char>(c)] = true;
  for (char c = 'a'; c <= 'z'; ++c) table[static_cast<unsigned char>(c)] = true;
  for (char c = 'A'; c <= 'Z'; ++c) table[static_cast<unsigned char>(c)] = true;
  for (const char c : std::string_view("-._~!$&'()*+,;=%:[]")) table[static_cast<unsigned char>(c)] = true;
  return table;
}();

bool is_host(std::string_view value) {
  return std::ranges::all_of(value, [](char c) { return kHostCharacters[static_cast<unsigned char>(c)]; });
}

class HeadReader final : public beast::http::basic_parser<true> {
 public:
  HeadReader(char* base, RequestHead& head) : base_(base), head_(head) { body_limit(boost::none); }

  std::optional<Refusal> finish() {
    head_.keep_alive = keep_alive();
    if (hosts_ > 1) return bad_framing("There is more than one Host header.");
    if (hosts_ == 0 && head_.http11) return bad_framing("HTTP/1.1 requests carry a Host header; this one has none.");
    if (head_.chunked && !head_.http11) return bad_framing("HTTP/1.0 has no Transfer-Encoding; use Content-Length.");
    if (head_.chunked && head_.has_length) {  // Beast 1.81 refuses this earlier; do not rely on it
      return bad_framing("Transfer-Encoding and Content-Length exclude each other; send one of them.");
    }
    head_.expects_continue = head_.expects_continue && head_.http11 && head_.has_body();
    return std::nullopt;
  }

  const std::optional<Refusal>& refusal() const { return refusal_; }

 private:
  TextRange place(Text text) const {
    return {static_cast<std::uint16_t>(text.data() - base_), static_cast<std::uint16_t>(text.size())};
  }

  void refuse(const Refusal& refusal, Code& ec) {
    refusal_ = refusal;
    ec = beast::http::error::bad_field;  // any error code makes Beast stop
  }

  void on_request_impl(beast::http::verb, Text method, Text target, int version, Code&) override {
    head_.method = place(method);
    head_.target = place(target);
    head_.http11 = version >= 11;
    split_target();
  }

  // RFC 9112 section 3.2.2 requires that the absolute form ("http://host/path") is accepted too.
  void split_target() {
    const std::string_view target = head_.target.in(base_);
    std::size_t start = 0;
    for (const std::string_view scheme : {"http://", "https://"}) {
      if (target.size() > scheme.size() && equals_lower(target.substr(0, scheme.size()), scheme)) {
        start = std::min(target.find_first_of("/?", scheme.size()), target.size());
      }
    }
    const std::size_t mark = std::min(target.find('?', start), target.size());
    const std::size_t after = std::min(mark + 1, target.size());
    const auto range = [this](std::size_t from, std::size_t to) {
      return TextRange{static_cast<std::uint16_t>(head_.target.offset + from), static_cast<std::uint16_t>(to - from)};
    };
    head_.path = range(start, mark);
    head_.query = range(after, target.size());
  }

  void on_field_impl(beast::http::field known, Text name, Text value, Code& ec) override {
    if (std::memchr(name.data(), '_', name.size()) != nullptr) {
      return refuse(bad_framing("A header name holds an underscore, which some proxies treat as a dash."), ec);
    }
    if (head_.field_count == kMaxFields) return refuse(kTooManyFields, ec);
    HeaderField& field = head_.fields[head_.field_count++];
    field = {place(name), place(value)};
    char* const first = base_ + field.name.offset;
    for (char* at = first; at != first + name.size(); ++at) *at = kLowerCase[static_cast<unsigned char>(*at)];
    check_known(known, field.value, ec);
  }

  void check_known(beast::http::field known, TextRange range, Code& ec) {
    const std::string_view value = range.in(base_);
    switch (known) {
      case beast::http::field::content_type:
        head_.content_type = range;
        break;
      case beast::http::field::content_encoding:
        head_.content_encoding = range;
        break;
      case beast::http::field::host:
        ++hosts_;
        if (!is_host(value)) refuse(bad_framing("The Host header is not a host and port."), ec);
        break;
      case beast::http::field::content_length:
        read_length(value, ec);
        break;
      case beast::http::field::transfer_encoding:
        if (!equals_lower(value, "chunked")) {
          refuse(bad_framing("The only Transfer-Encoding this server takes is chunked."), ec);
        }
        head_.chunked = true;
        break;
      case beast::http::field::expect:
        head_.expects_continue = equals_lower(value, "100-continue");
        break;
      default:
        break;
    }
  }

  void read_length(std::string_view value, Code& ec) {
    if (head_.has_length) return refuse(bad_framing("There is more than one Content-Length."), ec);
    const auto [end, error] = std::from_chars(value.data(), value.data() + value.size(), head_.content_length);
    // from_chars accepts no sign for unsigned numbers, and stops early at a list such as "5, 5".
    if (error != std::errc() || end != value.data() + value.size()) {
      return refuse(bad_framing("Content-Length is not a number of bytes."), ec);
    }
    head_.has_length = true;
  }

  // Beast gets only heads, so these functions are never called with a body.
  void on_response_impl(int, Text, int, Code&) override {}
  void on_header_impl(Code&) override {}
  void on_body_init_impl(const boost::optional<std::uint64_t>&, Code&) override {}
  std::size_t on_body_impl(Text, Code&) override { return 0; }
  void on_chunk_header_impl(std::uint64_t, Text, Code&) override {}
  std::size_t on_chunk_body_impl(std::uint64_t, Text, Code&) override { return 0; }
  void on_finish_impl(Code&) override {}

  char* base_;
  RequestHead& head_;
  unsigned hosts_ = 0;
  std::optional<Refusal> refusal_;
};

// Beast reports "HTTP/2.0" (505) and "FTP/1.1" (400) as the same error.
bool names_http_version(std::string_view head) {
  const std::string_view line = head.substr(0, head.find(kCr));
  const std::size_t space = line.rfind(' ');
  if (std::ranges::count(line, ' ') != 2) return false;
  const std::string_view version = line.substr(space + 1);
  return version.size() == 8 && version.starts_with("HTTP/") && is_digit(version[5]) && version[6] == '.' &&
         is_digit(version[7]);
}

Refusal explain(const Code& ec, std::string_view head) {
  using beast::http::error;
  if (ec == error::bad_version && names_http_version(head)) return kBadVersion;
  if (ec == error::bad_method || ec == error::bad_target || ec == error::bad_version) {
    return bad_framing("The request line is not method, target and HTTP version, separated by single spaces.");
  }
  if (ec == error::bad_content_length || ec == error::multiple_content_length) {
    return bad_framing("Content-Length is not one number of bytes, or Transfer-Encoding is there as well.");
  }
  if (ec == error::bad_transfer_encoding) {
    return bad_framing("There is more than one Transfer-Encoding, or Content-Length is there as well.");
  }
  if (ec == error::bad_value) return bad_framing("A header value holds a control character or is malformed.");
  if (ec == error::bad_line_ending) return bad_framing("A line does not end in CR LF.");
  return bad_framing("A header field is malformed.");
}

}  // namespace

std::size_t HeadScan::find_end(const char* data, std::size_t size, std::size_t limit, std::optional<Refusal>& refusal) {
  const std::size_t end = std::min(size, limit);
  while (scanned_ < end) {
    const auto* found = static_cast<const char*>(std::memchr(data + scanned_, kLf, end - scanned_));
    if (found == nullptr) break;
    const auto at = static_cast<std::size_t>(found - data);
    if (at == 0 || data[at - 1] != kCr) {
      refusal = bad_framing("A line does not end in CR LF.");
      return 0;
    }
    if (at - 1 == line_) return at + 1;
    if (line_ > 0 && (data[line_] == ' ' || data[line_] == '\t')) {
      refusal = bad_framing("A header is folded over several lines.");
      return 0;
    }
    line_ = scanned_ = at + 1;
  }
  scanned_ = end;
  if (size >= limit) refusal = kHeadTooLarge;
  return 0;
}

std::optional<Refusal> parse_head(char* data, std::size_t size, RequestHead& head) {
  head.method = head.target = head.path = head.query = head.content_type = head.content_encoding = {};
  head.content_length = 0;
  head.has_length = head.chunked = head.http11 = head.keep_alive = head.expects_continue = false;
  head.field_count = 0;

  HeadReader reader(data, head);
  reader.header_limit(static_cast<std::uint32_t>(kMaxHeadBytes) + 1);
  Code ec;
  reader.put(boost::asio::const_buffer(data, size), ec);
  if (reader.refusal()) return reader.refusal();
  if (ec) return explain(ec, {data, size});
  return reader.finish();
}

}  // namespace sluice::http
