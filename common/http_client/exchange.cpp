#include "common/http_client/exchange.hpp"

#include <algorithm>
#include <limits>
#include <utility>

#include <fmt/core.h>

namespace sluice::http_client {
namespace {

bool is_method(std::string_view text) {
  return !text.empty() && std::ranges::all_of(text, [](char c) { return (c >= 'A' && c <= 'Z') || c == '-'; });
}

bool is_name(std::string_view text) {
  return !text.empty() && std::ranges::all_of(text, [](char c) {
    return (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-';
  });
}

bool is_visible(std::string_view text) {
  return std::ranges::all_of(text, [](char c) { return c > ' ' && c < '\x7f'; });
}

bool is_line(std::string_view text) {
  return std::ranges::all_of(text, [](char c) { return c >= ' ' && c != '\x7f'; });
}

}  // namespace

std::string_view Response::header(std::string_view name) const {
  const auto found = std::ranges::find(fields, name, [](const auto& field) { return std::string_view(field.first); });
  return found == fields.end() ? std::string_view() : std::string_view(found->second);
}

Result<> check_request(const Request& request) {
  const auto fault = [](std::string text) { return failure("request", std::move(text)); };
  if (!is_method(request.method) || request.method == "HEAD" || request.method == "CONNECT") {
    return fault("its method is not in capital letters, or is HEAD or CONNECT");
  }
  if (!request.target.starts_with('/') || !is_visible(request.target)) {
    return fault("its target does not begin with /, or holds a space, a control character or a byte outside ASCII");
  }
  if (!is_visible(request.bearer)) return fault("its bearer token holds spaces or control characters");
  for (const auto& [name, value] : request.fields) {
    if (!is_name(name) || !is_line(value)) {
      return fault("a header's name is not made of letters, digits and -, or its value holds control characters");
    }
  }
  if (!is_line(request.content_type)) return fault("its content type holds control characters");
  return {};
}

std::string write_request(const Request& request, const Options& options) {
  std::string text = fmt::format("{} {} HTTP/1.1\r\nHost: {}\r\nUser-Agent: {}\r\nAccept-Encoding: {}\r\n",
                                 request.method, request.target, host_header(options.server), options.user_agent,
                                 request.on_line ? "identity" : "gzip");
  if (!request.bearer.empty()) text += fmt::format("Authorization: Bearer {}\r\n", request.bearer);
  for (const auto& [name, value] : request.fields) text += fmt::format("{}: {}\r\n", name, value);
  const bool has_body = !request.body.empty();
  if (has_body && !request.content_type.empty()) text += fmt::format("Content-Type: {}\r\n", request.content_type);
  // Many servers require a Content-Length with these methods, even for an empty body.
  const bool needs_length = request.method == "POST" || request.method == "PUT" || request.method == "PATCH";
  if (has_body || needs_length) text += fmt::format("Content-Length: {}\r\n", request.body.size());
  return text + "\r\n" + request.body;
}

Exchange::Exchange(Request request, Done done, std::size_t max_head_bytes)
    : request_(std::move(request)), done_(std::move(done)), reader_(max_head_bytes) {}

Result<> Exchange::begin_body() {
  const ResponseHead& head = reader_.head();
  in_body_ = true;
  keep_alive_ = head.keep_alive;
  delivers_lines_ = request_.on_line && head.status == 200;
  if (delivers_lines_ && head.gzip)
    return failure("encoding", "the body is in gzip, although the request asked for no content coding");
  // A stream of lines has no limit as a whole: next_line() limits the length of each line.
  reader_.set_body_limit(delivers_lines_ ? std::numeric_limits<std::size_t>::max() : request_.max_body);
  return {};
}

Result<bool> Exchange::next_line(bool at_end, std::string_view& line) {
  const std::string_view rest = std::string_view(reader_.body()).substr(delivered_);
  const std::size_t end = rest.find('\n', scanned_ - delivered_);
  const bool whole = end != std::string_view::npos;
  line = rest.substr(0, end);
  scanned_ = delivered_ + line.size();
  if (line.size() > request_.max_body) {
    return failure("too_large", fmt::format("a line is longer than {} bytes", request_.max_body));
  }
  if (!whole && (!at_end || line.empty())) return false;
  delivered_ = scanned_ = scanned_ + (whole ? 1 : 0);
  if (line.ends_with('\r')) line.remove_suffix(1);
  return true;
}

void Exchange::drop_delivered_bytes() {
  reader_.body().erase(0, delivered_);
  scanned_ -= delivered_;
  delivered_ = 0;
}

Response Exchange::take_response() {
  ResponseHead head = reader_.take_head();
  return {head.status, std::move(head.fields), std::move(reader_.body())};
}

}  // namespace sluice::http_client
