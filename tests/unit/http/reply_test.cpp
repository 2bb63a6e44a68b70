#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include <doctest/doctest.h>

#include "common/http/address.hpp"
#include "common/http/reply_queue.hpp"
#include "common/http/reply_sink.hpp"
#include "common/http/response_writer.hpp"
#include "common/http/server.hpp"

namespace sluice::http {
namespace {

struct RecordingSink final : ReplySink {
  void answer(std::uint64_t slot, const Response& response) override {
    answers.push_back(std::to_string(slot) + ":" + std::to_string(response.status));
  }
  void unreferenced() noexcept override { ++freed; }

  std::vector<std::string> answers;
  int freed = 0;
};

using Texts = std::vector<std::string>;

TEST_CASE("a reply is sent once, whatever is tried after") {
  RecordingSink sink;
  {
    Reply reply(&sink, 7);
    reply.send({.status = 201});
    CHECK(sink.freed == 1);
    reply.send({.status = 202});
  }
  CHECK(sink.answers == Texts{"7:201"});
}

TEST_CASE("a moved reply answers once; one that is overwritten answers 500") {
  RecordingSink sink;
  {
    Reply first(&sink, 1);
    Reply second(std::move(first));
    second = Reply(&sink, 2);
    CHECK(sink.answers == Texts{"1:500"});
    second.send({});
  }
  CHECK(sink.answers == Texts{"1:500", "2:200"});
  CHECK(sink.freed == 1);
}

// The bodies in `out`.
std::string bodies(const std::string& out) {
  std::string found;
  for (std::size_t at = out.find("\r\n\r\n"); at != std::string::npos; at = out.find("\r\n\r\n", at + 4)) {
    found += out[at + 4];
  }
  return found;
}

TEST_CASE("replies leave in request order, in every order they are given") {
  std::vector<std::uint64_t> order = {0, 1, 2, 3, 4, 5};
  do {
    ReplyQueue queue;
    Output out;
    for (int i = 0; i < 6; ++i) queue.open({});
    std::size_t given = 0;
    for (const std::uint64_t slot : order) {
      const std::string body(1, static_cast<char>('a' + slot));
      queue.answer(slot, {.body = body}, "", false, out);
      REQUIRE(queue.unsent() + bodies(out.text()).size() == 6);
      REQUIRE(bodies(out.text()).size() <= ++given);
    }
    REQUIRE(bodies(out.text()) == "abcdef");
  } while (std::ranges::next_permutation(order).found);
}

TEST_CASE("the ring of slots grows around its seam without losing a reply") {
  ReplyQueue queue;
  Output out;
  std::string expected;
  std::vector<std::uint64_t> open;
  for (int round = 0; round < 40; ++round) {  // two in, one out: the ring wraps and grows again and again
    open.push_back(queue.open({}));
    open.push_back(queue.open({}));
    queue.answer(open.front(), {.body = "x"}, "", false, out);
    open.erase(open.begin());
  }
  CHECK(queue.unsent() == 40);
  for (auto it = open.rbegin(); it != open.rend(); ++it) queue.answer(*it, {.body = "y"}, "", false, out);
  CHECK(bodies(out.text()) == std::string(40, 'x') + std::string(40, 'y'));
  CHECK(queue.unsent() == 0);
}

TEST_CASE("behind a reply that closes nothing goes out") {
  ReplyQueue queue;
  Output out;
  queue.open({.close = true});
  queue.open({});
  queue.answer(1, {.body = "b"}, "", false, out);
  queue.answer(0, {.body = "a"}, "", false, out);
  CHECK(bodies(out.text()) == "a");
  CHECK(queue.closed());
  CHECK(queue.unsent() == 0);
  CHECK(out.text().find("Connection: close\r\n") != std::string::npos);
}

TEST_CASE("a second answer to a slot, and one to no slot, are dropped") {
  ReplyQueue queue;
  Output out;
  queue.open({});
  queue.open({});
  queue.answer(1, {.body = "b"}, "", false, out);
  queue.answer(1, {.body = "c"}, "", false, out);
  queue.answer(2, {.body = "d"}, "", false, out);
  queue.answer(0, {.body = "a"}, "", false, out);
  queue.answer(0, {.body = "e"}, "", false, out);
  CHECK(bodies(out.text()) == "ab");
}

TEST_CASE("a response is written whole") {
  std::string out;
  write_response({.status = 429, .content_type = "text/plain", .headers = "Retry-After: 3\r\n", .body = "no"}, {},
                 "D\r\n", out);
  CHECK(out ==
        "HTTP/1.1 429 Too Many Requests\r\nD\r\nContent-Type: text/plain\r\nContent-Length: 2\r\nRetry-After: "
        "3\r\n\r\nno");
}

TEST_CASE("204 and 304 have neither body nor length") {
  for (const unsigned status : {204U, 304U}) {
    std::string out;
    write_response({.status = status, .body = "x"}, {}, "", out);
    CHECK(out.find("Content-") == std::string::npos);
    CHECK(out.ends_with("\r\n\r\n"));
  }
}

TEST_CASE("a status that is not final goes out as 500") {
  for (const unsigned status : {0U, 100U, 199U, 600U, 99999U}) {
    std::string out;
    write_response({.status = status}, {}, "", out);
    CHECK(out.starts_with("HTTP/1.1 500 Internal Server Error\r\n"));
  }
}

TEST_CASE("the date line is IMF-fixdate and follows the clock") {
  DateLine date;
  CHECK(date.at(784111777) == "Date: Sun, 06 Nov 1994 08:49:37 GMT\r\n");
  CHECK(date.at(784111777) == "Date: Sun, 06 Nov 1994 08:49:37 GMT\r\n");
  CHECK(date.at(1709210096) == "Date: Thu, 29 Feb 2024 12:34:56 GMT\r\n");
}

TEST_CASE("addresses to listen on") {
  CHECK(parse_address("127.0.0.1:8088")->port() == 8088);
  CHECK(parse_address("[::1]:1")->address().to_string() == "::1");
  CHECK(parse_address("0.0.0.0:0")->address().is_unspecified());
  for (const std::string text :
       {"", ":", ":80", "80", "127.0.0.1", "127.0.0.1:", "127.0.0.1:65536", "127.0.0.1:-1", "127.0.0.1:80 ",
        "localhost:80", "::1:80", "[::1]", "[127.0.0.1]:80", "[::1:80", "256.0.0.1:80"}) {
    const auto parsed = parse_address(text);
    REQUIRE_FALSE(parsed.has_value());
    CHECK(parsed.error().code == "address_malformed");
    CHECK(parsed.error().text.find("\"" + text + "\"") == 0);
  }
}

}  // namespace
}  // namespace sluice::http
