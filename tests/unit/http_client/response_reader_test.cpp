#include <limits>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "common/http_client/response_reader.hpp"

namespace sluice::http_client {
namespace {

using Step = ResponseReader::Step;

// "STATUS body" and " +rest" for what follows it, or the error's code; fed in pieces of `step` bytes.
std::string read_by(std::size_t step, std::string_view text, std::size_t limit, std::size_t head_limit) {
  ResponseReader reader(head_limit);
  while (true) {
    std::string_view piece = text.substr(0, step);
    const std::size_t given = piece.size();
    Result<Step> result = reader.feed(piece);
    if (result && *result == Step::head) {
      reader.set_body_limit(limit);
      result = reader.feed(piece);
    }
    if (!result) return result.error().code;
    text.remove_prefix(given - piece.size());
    if (*result == Step::done) {
      const std::string rest = text.empty() ? "" : " +" + std::string(text);
      return std::to_string(reader.head().status) + " " + reader.body() + (reader.head().keep_alive ? "" : " close") +
             rest;
    }
    if (text.empty()) return "more";
  }
}

std::string read(std::string_view text, std::size_t limit = 1'000, std::size_t head_limit = 1'000) {
  const std::string whole = read_by(text.size(), text, limit, head_limit);
  for (const std::size_t step : {1UL, 2UL, 7UL, 100UL}) {
    std::string pieces = read_by(step, text, limit, head_limit);
    if (pieces != whole) return "cut into pieces of " + std::to_string(step) + ": " + pieces + ", whole: " + whole;
  }
  return whole;
}

std::string chunked(std::string_view body) {
  return "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n" + std::string(body);
}

TEST_CASE("bodies by their length and in chunks") {
  CHECK(read("HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello") == "200 hello");
  CHECK(read("HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n") == "404 ");
  CHECK(read(chunked("5\r\nhello\r\n6;x=y\r\n world\r\n0\r\n\r\n")) == "200 hello world");
  CHECK(read(chunked("0\r\n\r\n")) == "200 ");
  CHECK(read("HTTP/1.0 200 OK\r\nContent-Length: 2\r\n\r\nok") == "200 ok close");
  CHECK(read("HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 2\r\n\r\nok") == "200 ok close");
}

TEST_CASE("statuses without a body end with their head, whatever length they tell") {
  CHECK(read("HTTP/1.1 304 Not Modified\r\nContent-Length: 5\r\n\r\n") == "304 ");
  CHECK(read("HTTP/1.1 204 No Content\r\n\r\n") == "204 ");
}

TEST_CASE("what follows a response is left, and not its own") {
  CHECK(read_by(1'000, "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nokHTTP/1.1", 10, 1'000) == "200 ok +HTTP/1.1");
  CHECK(read_by(1'000, chunked("0\r\n\r\nHTTP"), 10, 1'000) == "200  +HTTP");
}

TEST_CASE("interim responses are passed over, but not for ever, and nobody switches protocols") {
  const std::string hints = "HTTP/1.1 103 Early Hints\r\nLink: </x>\r\n\r\n";
  CHECK(read(hints + hints + "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok") == "200 ok");
  std::string endless;
  for (int i = 0; i < 9; ++i) endless += hints;
  CHECK(read(endless) == "framing");
  CHECK(read("HTTP/1.1 101 Switching Protocols\r\nUpgrade: h2c\r\nConnection: upgrade\r\n\r\n") == "framing");
}

TEST_CASE("framings that two readers could understand differently are refused") {
  const std::vector<std::string> heads = {
      "Transfer-Encoding: chunked\r\nContent-Length: 3\r\n",
      "Content-Length: 3\r\nTransfer-Encoding: chunked\r\n",
      "Transfer-Encoding: gzip, chunked\r\n",
      "Transfer-Encoding: chunked, chunked\r\n",
      "Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n",
      "Transfer-Encoding: identity\r\nContent-Length: 3\r\n",
      "Content-Length: 3\r\nContent-Length: 3\r\n",
      "Content-Length: 3, 3\r\n",
      "Content-Length: +3\r\n",
      "Content-Length: 0x3\r\n",
      "Content-Length: 99999999999999999999999\r\n",
      "Content-Length : 3\r\n",
      "Content-Length: 3\r\nX: a\r\n b\r\n",
      "Content-Length: 3\nX: a\r\n",
      "",
      "Connection: close\r\n",
  };
  for (const std::string& head : heads) {
    CAPTURE(head);
    CHECK(read("HTTP/1.1 200 OK\r\n" + head + "\r\nabc") == "framing");
    CHECK(read("HTTP/1.1 200 OK\r\n" + head + "\r\n3\r\nabc\r\n0\r\n\r\n") == "framing");
  }
  CHECK(read("HTTP/1.0 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n") == "framing");
  CHECK(read("HTTP/2.0 200 OK\r\nContent-Length: 3\r\n\r\nabc") == "framing");
  CHECK(read("SSH-2.0-OpenSSH_9.2\r\n\r\n") == "framing");
}

TEST_CASE("broken chunks are refused, trailers too") {
  for (const std::string body : {"5\r\nhelloX\r\n", "-1\r\n", "\r\n", "5 \r\nhello", "0\r\nX: y\r\n\r\n"}) {
    CHECK(read(chunked(body)) == "framing");
  }
}

TEST_CASE("head and body have limits, told as soon as they are passed") {
  CHECK(read("HTTP/1.1 200 OK\r\nContent-Length: 11\r\n\r\n", 10) == "too_large");
  CHECK(read("HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\n0123456789", 10) == "200 0123456789");
  CHECK(read(chunked("a\r\n0123456789\r\n0\r\n\r\n"), 10) == "200 0123456789");
  CHECK(read(chunked("5\r\n01234\r\n6\r\n"), 10) == "too_large");
  CHECK(read("HTTP/1.1 200 OK\r\nX: " + std::string(1'000, 'x')) == "too_large");
  std::string fields;
  for (int i = 0; i < 101; ++i) fields += "A:b\r\n";
  CHECK(read("HTTP/1.1 200 OK\r\n" + fields + "Content-Length: 0\r\n\r\n", 10, 5'000) == "framing");
}

TEST_CASE("gzip is unpacked within the limit, and must end where the body ends") {
  const std::string text(5'000, 'g');
  const std::string packed = http::gzip(text);
  const auto with_length = [](const std::string& body, const std::string& coding = "gzip") {
    return "HTTP/1.1 200 OK\r\nContent-Encoding: " + coding + "\r\nContent-Length: " + std::to_string(body.size()) +
           "\r\n\r\n" + body;
  };
  CHECK(read(with_length(packed), 5'000) == "200 " + text);
  CHECK(read(with_length(packed), 4'999) == "too_large");
  CHECK(read(with_length(packed.substr(0, packed.size() - 1)), 5'000) == "encoding");
  CHECK(read(with_length(packed + "x"), 5'000) == "encoding");
  CHECK(read(with_length(text), 5'000) == "encoding");
  CHECK(read(with_length("ok", "identity")) == "200 ok");
  CHECK(read(with_length("ok", "br")) == "encoding");
  CHECK(read(with_length("ok", "gzip, gzip")) == "encoding");
  CHECK(read(with_length(packed, "identity\r\nContent-Encoding: gzip"), 5'000) == "encoding");
}

TEST_CASE("a response that is cut off is never whole") {
  const std::string text = chunked("5\r\nhello\r\n0\r\n\r\n");
  for (std::size_t size = 0; size < text.size(); ++size) REQUIRE(read(text.substr(0, size)) == "more");
}

}  // namespace
}  // namespace sluice::http_client
