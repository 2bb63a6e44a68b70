#include "server/console/console.hpp"

#include <algorithm>
#include <memory>
#include <stdexcept>
#include <utility>

#include <fmt/core.h>

#include "common/base/crypto.hpp"
#include "common/http/gzip.hpp"
#include "server/http/field_list.hpp"
#include "server/http/headers.hpp"
#include "server/http/refusal.hpp"

namespace sluice::server::console {
namespace {

constexpr std::string_view kAllowed = "GET, HEAD";
constexpr std::size_t kMaxPlain = 16UL << 20;  // bytes of one file
constexpr std::size_t kTagDigits = 32;

// The page may load its own files, call its own server, and show pictures that it draws itself. Nothing else: no other
// site gets a request, and no other site may show the page in a frame.
constexpr std::string_view kPageHeaders =
    "Content-Security-Policy: default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; "
    "img-src 'self' data:; base-uri 'none'; form-action 'self'; frame-ancestors 'none'\r\n"
    "Cross-Origin-Opener-Policy: same-origin\r\n"
    "Cross-Origin-Resource-Policy: same-origin\r\n"
    "Permissions-Policy: camera=(), geolocation=(), microphone=(), payment=(), usb=()\r\n"
    "Referrer-Policy: no-referrer\r\n"
    "X-Content-Type-Options: nosniff\r\n"
    "Cache-Control: no-cache\r\n";

constexpr std::string_view kFileHeaders =
    "Cross-Origin-Resource-Policy: same-origin\r\n"
    "X-Content-Type-Options: nosniff\r\n"
    "Cache-Control: public, max-age=31536000, immutable\r\n"
    "Vary: Accept-Encoding\r\n";

bool is_reading(std::string_view method) { return method == "GET" || method == "HEAD"; }

std::string tag_of(std::string_view content) {
  return fmt::format("\"{}\"", to_hex(sha256(content)).substr(0, kTagDigits));
}

// Throws std::logic_error if the file is not gzip: the build would have to be broken.
sluice::http::SharedBody plain_of(const File& file) {
  std::string plain;
  sluice::http::Gunzip gunzip;
  if (!gunzip.feed(file.gzip, kMaxPlain, plain) || !gunzip.done()) {
    throw std::logic_error(fmt::format("{} is not gzip", file.path));
  }
  return std::make_shared<const std::string>(std::move(plain));
}

void refuse_method(std::string_view request_id, sluice::http::Reply& reply) {
  const http::Answer answer =
      http::problem(http::Refusal(405, "method-not-allowed", fmt::format("This path accepts only {}.", kAllowed), {},
                                  fmt::format("Allow: {}\r\n", kAllowed)),
                    request_id);
  const std::string headers = http::answer_headers(answer.headers, request_id);
  reply.send({.status = answer.status, .content_type = answer.content_type, .headers = headers, .body = answer.body});
}

}  // namespace

bool is_view(std::string_view pattern, std::string_view path) {
  while (!pattern.empty() && !path.empty()) {
    if (pattern.front() != '/' || path.front() != '/') return false;
    pattern.remove_prefix(1);
    path.remove_prefix(1);
    const std::string_view wanted = pattern.substr(0, pattern.find('/'));
    const std::string_view given = path.substr(0, path.find('/'));
    if (wanted.starts_with(':') ? given.empty() : given != wanted) return false;
    pattern.remove_prefix(wanted.size());
    path.remove_prefix(given.size());
  }
  return pattern.empty() && path.empty();
}

Console::Console(const Bundle& bundle)
    : bundle_(bundle),
      page_tag_(tag_of(bundle.page)),
      page_headers_(fmt::format("{}ETag: {}\r\n", kPageHeaders, page_tag_)) {
  for (const File& file : bundle_.files) files_.push_back({&file, plain_of(file)});
}

bool Console::has(std::string_view path) const { return find(path) != nullptr || has_view(path); }

bool Console::has_view(std::string_view path) const {
  return std::ranges::any_of(bundle_.views, [path](std::string_view view) { return is_view(view, path); });
}

std::size_t Console::body_limit(std::string_view, std::string_view) const { return kUnaskedBody; }

bool Console::answers(std::string_view method, std::string_view) const { return is_reading(method); }

void Console::handle(sluice::http::Request& request, sluice::http::Reply reply) {
  const std::string request_id = http::request_id_of(request.header("x-request-id"));
  if (!is_reading(request.method)) return refuse_method(request_id, reply);
  const Served* const found = find(request.path);
  if (found == nullptr) return send_page(request, request_id, reply);
  sluice::http::Response response{.content_type = found->file->content_type, .request_id = request_id};
  const std::string_view takes = request.header("accept-encoding");
  std::string headers(kFileHeaders);
  if (http::takes_coding(takes, "br")) {
    headers += "Content-Encoding: br\r\n";
    response.body = found->file->brotli;
  } else if (http::takes_coding(takes, "gzip")) {
    headers += "Content-Encoding: gzip\r\n";
    response.body = found->file->gzip;
  } else {
    response.shared_body = found->plain;
  }
  response.headers = headers;
  reply.send(response);
}

// A tag with its quotes is in If-None-Match exactly if it is one of the listed.
void Console::send_page(const sluice::http::Request& request, std::string_view request_id,
                        sluice::http::Reply& reply) const {
  const bool same = request.header("if-none-match").find(page_tag_) != std::string_view::npos;
  sluice::http::Response response{
      .content_type = "text/html; charset=utf-8", .headers = page_headers_, .request_id = request_id};
  if (same) {
    response.status = 304;
  } else {
    response.body = bundle_.page;
  }
  reply.send(response);
}

const Console::Served* Console::find(std::string_view path) const {
  const auto found = std::ranges::find(files_, path, [](const Served& each) { return each.file->path; });
  return found == files_.end() ? nullptr : &*found;
}

}  // namespace sluice::server::console
