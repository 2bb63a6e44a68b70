// What a client asks, and where.
#include <string>

#include <doctest/doctest.h>

#include "common/http_client/exchange.hpp"

namespace sluice::http_client {
namespace {

TEST_CASE("URLs of servers") {
  const auto read = [](std::string_view text) {
    const auto url = parse_url(text);
    return url ? to_string(*url) + " " + host_header(*url) : url.error().code;
  };
  CHECK(read("http://127.0.0.1:8080") == "http://127.0.0.1:8080 127.0.0.1:8080");
  CHECK(read("http://sluice-server") == "http://sluice-server:80 sluice-server");
  CHECK(read("https://sluice.example/") == "https://sluice.example:443 sluice.example");
  CHECK(read("https://[::1]:8443") == "https://[::1]:8443 [::1]:8443");
  CHECK(read("unix:/run/sluice.sock") == "unix:/run/sluice.sock localhost");
  for (const std::string text :
       {"", "localhost:80", "ftp://h", "http://", "http://:80", "http://h:", "http://h:0", "http://h:65536",
        "http://h:8x", "http://h/path", "http://h?x", "http://h h", "http://h\r\n", "http://[::1", "http://[h]",
        "http://[::1]80", "unix:", "unix:relative"}) {
    CAPTURE(text);
    CHECK(read(text) == "url_malformed");
  }
  CHECK(read("unix:/" + std::string(200, 'x')) == "url_malformed");
  const auto secret = parse_url("http://user:secret@h");
  REQUIRE_FALSE(secret);
  CHECK(secret.error().text.find("secret") == std::string::npos);
}

TEST_CASE("a request is written whole, and what would write another is refused") {
  Options options{.server = *parse_url("http://h:81")};
  CHECK(write_request({.target = "/a?b=c", .bearer = "token"}, options) ==
        "GET /a?b=c HTTP/1.1\r\nHost: h:81\r\nUser-Agent: sluice\r\nAccept-Encoding: gzip\r\n"
        "Authorization: Bearer token\r\n\r\n");
  CHECK(write_request({.method = "POST", .target = "/a", .body = "{}"}, options)
            .ends_with("Content-Type: application/json\r\nContent-Length: 2\r\n\r\n{}"));
  CHECK(write_request({.method = "POST", .target = "/a"}, options).ends_with("\r\nContent-Length: 0\r\n\r\n"));
  CHECK(write_request({.target = "/a", .fields = {{"Sluice-Agent", "a 1"}}}, options)
            .ends_with("Accept-Encoding: gzip\r\nSluice-Agent: a 1\r\n\r\n"));
  CHECK(check_request({.target = "/a"}));
  for (const Request& bad :
       {Request{.method = "GET /x"}, Request{.method = "HEAD"}, Request{.method = ""}, Request{.target = "a"},
        Request{.target = "/a b"}, Request{.target = "/a\r\nX: y"}, Request{.bearer = "a\r\nX: y"},
        Request{.fields = {{"A", "b\r\nX: y"}}}, Request{.fields = {{"A:", "b"}}}, Request{.content_type = "text\n"}}) {
    CHECK(check_request(bad).error().code == "request");
  }
}

// The lines of a response fed in pieces of `step` bytes, each with "|" behind; an error's code at the end.
std::string lines_of(std::string_view body, std::size_t step, std::size_t max_line = 1'000) {
  std::string told;
  Request request{.max_body = max_line, .on_line = [&](std::string_view line) { told.append(line) += '|'; }};
  Exchange exchange(std::move(request), nullptr, 1'000);
  const std::string text =
      "HTTP/1.1 200 OK\r\nContent-Length: " + std::to_string(body.size()) + "\r\n\r\n" + std::string(body);
  for (std::size_t at = 0; at < text.size(); at += step) {
    std::string_view piece = std::string_view(text).substr(at, step);
    const Result<bool> done = exchange.feed(piece, [] { return false; });
    if (!done) return told + done.error().code;
    if (*done) return told;
  }
  return told + "not done";
}

TEST_CASE("a body is told by its lines, however it is cut") {
  for (const std::size_t step : {1UL, 3UL, 1'000UL}) {
    CHECK(lines_of("one\ntwo\r\n\nfour\n", step) == "one|two||four|");
    CHECK(lines_of("one\nno end", step) == "one|no end|");
    CHECK(lines_of("", step) == "");
    CHECK(lines_of("12345\n123456\n", step, 5) == "12345|too_large");
    CHECK(lines_of("123456", step, 5) == "too_large");
  }
}

TEST_CASE("no line is told once a line said stop") {
  int told = 0;
  Exchange exchange({.on_line = [&](std::string_view) { ++told; }}, nullptr, 1'000);
  std::string_view text = "HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\na\nb\n";
  CHECK(exchange.feed(text, [] { return true; }) == false);
  CHECK(told == 1);
}

TEST_CASE("an answer other than 200 keeps its body, lines or not") {
  int told = 0;
  Exchange exchange({.on_line = [&](std::string_view) { ++told; }}, nullptr, 1'000);
  std::string_view text = "HTTP/1.1 410 Gone\r\nX-A: b\r\nContent-Length: 4\r\n\r\na\nb\n";
  CHECK(exchange.feed(text, [] { return false; }) == true);
  CHECK(told == 0);
  const Response response = exchange.take_response();
  CHECK(response.status == 410);
  CHECK(response.body == "a\nb\n");
  CHECK(response.header("x-a") == "b");
  CHECK(response.header("x-b") == "");
}

}  // namespace
}  // namespace sluice::http_client
