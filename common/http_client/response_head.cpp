#include <algorithm>
#include <charconv>

#include <fmt/core.h>
#include <boost/asio/buffer.hpp>
#include <boost/beast/core/error.hpp>
#include <boost/beast/http/basic_parser.hpp>
#include <boost/beast/http/error.hpp>
#include <boost/beast/http/field.hpp>

#include "common/http_client/response_reader.hpp"

namespace sluice::http_client {
namespace {

namespace beast = boost::beast;
using Text = beast::string_view;
using Code = beast::error_code;

char lower(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c | 0x20) : c; }

bool equals_lower(std::string_view text, std::string_view lower_case) {
  return std::ranges::equal(text, lower_case, {}, lower);
}

class HeadReader final : public beast::http::basic_parser<false> {
 public:
  HeadReader() {
    body_limit(boost::none);
    header_limit(static_cast<std::uint32_t>(http::kMaxHeadBytes) + 1);
  }

  const std::string& fault() const { return fault_; }

  Result<ResponseHead> finish() {
    head_.keep_alive = keep_alive();
    if (encodings_ > 1 || !encoding_is_known_) {
      return failure("encoding", "the body's Content-Encoding is neither gzip nor identity");
    }
    if (!head_.has_body() || head_.status < 200) return std::move(head_);
    if (head_.chunked && !http11_) return failure("framing", "HTTP/1.0 has no Transfer-Encoding");
    if (!head_.chunked && !head_.length) {
      return failure("framing",
                     "it has neither Content-Length nor Transfer-Encoding, so a lost connection would go unnoticed");
    }
    return std::move(head_);
  }

 private:
  void refuse(std::string_view why, Code& ec) {
    fault_ = why;
    ec = beast::http::error::bad_field;  // any error code makes Beast stop
  }

  void on_response_impl(int status, Text, int version, Code&) override {
    head_.status = static_cast<unsigned>(status);
    http11_ = version >= 11;
  }

  void on_field_impl(beast::http::field known, Text name, Text value, Code& ec) override {
    if (head_.fields.size() == http::kMaxFields) return refuse("it has more than 100 header fields", ec);
    std::string lower_name(name);
    std::ranges::transform(lower_name, lower_name.begin(), lower);
    head_.fields.emplace_back(std::move(lower_name), std::string(value));
    check_known(known, {value.data(), value.size()}, ec);
  }

  void check_known(beast::http::field known, std::string_view value, Code& ec) {
    if (known == beast::http::field::content_length) {
      std::uint64_t length = 0;
      const auto [end, error] = std::from_chars(value.data(), value.data() + value.size(), length);
      const bool is_number = error == std::errc() && end == value.data() + value.size();
      if (!is_number || head_.length) return refuse("its Content-Length is not one number of bytes", ec);
      head_.length = length;
    } else if (known == beast::http::field::transfer_encoding) {
      if (!equals_lower(value, "chunked")) {
        return refuse("its Transfer-Encoding is not chunked", ec);
      }
      head_.chunked = true;
    } else if (known == beast::http::field::content_encoding) {
      ++encodings_;
      head_.gzip = equals_lower(value, "gzip");
      encoding_is_known_ = head_.gzip || equals_lower(value, "identity");
    }
  }

  // The callbacks below have nothing to do, because the parser gets only the heads of responses.
  void on_request_impl(beast::http::verb, Text, Text, int, Code&) override {}
  void on_header_impl(Code&) override {}
  void on_body_init_impl(const boost::optional<std::uint64_t>&, Code&) override {}
  std::size_t on_body_impl(Text, Code&) override { return 0; }
  void on_chunk_header_impl(std::uint64_t, Text, Code&) override {}
  std::size_t on_chunk_body_impl(std::uint64_t, Text, Code&) override { return 0; }
  void on_finish_impl(Code&) override {}

  ResponseHead head_;
  std::string fault_;
  bool http11_ = false;
  bool encoding_is_known_ = true;
  unsigned encodings_ = 0;
};

}  // namespace

Result<ResponseHead> parse_response_head(std::string_view text) {
  HeadReader reader;
  Code ec;
  reader.put(boost::asio::const_buffer(text.data(), text.size()), ec);
  if (!reader.fault().empty()) return failure("framing", reader.fault());
  if (ec) return failure("framing", fmt::format("its head is malformed: {}", ec.message()));
  return reader.finish();
}

}  // namespace sluice::http_client
