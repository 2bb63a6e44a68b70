// Each framing that two parties could read differently is refused with 400, and the connection ends: a request that
// follows in the same bytes must never come out.
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "tests/unit/http/transcript.hpp"

namespace sluice::http {
namespace {

// What is said about `bytes`, with a second request behind them; "" unless the only outcome is 400 and close.
std::string refusal_of(const std::string& bytes) {
  const std::vector<std::string> lines = transcript_of(bytes + "GET /smuggled HTTP/1.1\r\nHost: h\r\n\r\n");
  constexpr std::string_view kStart = "refused 400 close: ";
  return lines.size() == 1 && lines[0].starts_with(kStart) ? lines[0].substr(kStart.size()) : "";
}

std::string with(const std::string& headers, const std::string& body = "") {
  return "POST / HTTP/1.1\r\nHost: h\r\n" + headers + "\r\n\r\n" + body;
}

TEST_CASE("Transfer-Encoding other than exactly chunked is refused") {
  for (const std::string value : {"gzip", "gzip, chunked", "chunked, gzip", "identity", "chunked, chunked", "xchunked",
                                  "\"chunked\"", "chunked;q=1", "chunked,", ""}) {
    CHECK(refusal_of(with("Transfer-Encoding: " + value, "0\r\n\r\n")) != "");
  }
  CHECK(transcript_of(with("Transfer-Encoding: CHUNKED", "0\r\n\r\n")).front() == "POST /?  host=h x=");
}

TEST_CASE("two Transfer-Encoding headers are refused") {
  CHECK(refusal_of(with("Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked", "0\r\n\r\n")) ==
        "There is more than one Transfer-Encoding, or Content-Length is there as well.");
}

TEST_CASE("Transfer-Encoding in HTTP/1.0 is refused") {
  CHECK(refusal_of("POST / HTTP/1.0\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n") ==
        "HTTP/1.0 has no Transfer-Encoding; use Content-Length.");
}

TEST_CASE("Transfer-Encoding with Content-Length is refused, in either order") {
  CHECK(refusal_of(with("Transfer-Encoding: chunked\r\nContent-Length: 5", "0\r\n\r\n")) != "");
  CHECK(refusal_of(with("Content-Length: 5\r\nTransfer-Encoding: chunked", "0\r\n\r\n")) != "");
}

TEST_CASE("several Content-Length are refused, the same number too") {
  const std::string several = "There is more than one Content-Length.";
  CHECK(refusal_of(with("Content-Length: 2\r\nContent-Length: 2", "hi")) == several);
  CHECK(refusal_of(with("Content-Length: 2\r\nContent-Length: 3", "hi")) != "");
  CHECK(refusal_of(with("Content-Length: 2, 2", "hi")) == "Content-Length is not a number of bytes.");
}

TEST_CASE("Content-Length that is not a plain number is refused") {
  for (const std::string value : {"", "+2", "-2", "0x2", "2a", "1e3", "2;", "18446744073709551616", "2,", ",2"}) {
    CHECK(refusal_of(with("Content-Length: " + value, "hi")) != "");
  }
}

TEST_CASE("no Host in HTTP/1.1 is refused") {
  CHECK(refusal_of("GET / HTTP/1.1\r\n\r\n") == "HTTP/1.1 requests carry a Host header; this one has none.");
  CHECK(refusal_of("GET / HTTP/1.1\r\nX: y\r\n\r\n") != "");
}

TEST_CASE("several Host headers are refused, in HTTP/1.0 too") {
  const std::string several = "There is more than one Host header.";
  CHECK(refusal_of("GET / HTTP/1.1\r\nHost: a\r\nHost: a\r\n\r\n") == several);
  CHECK(refusal_of("GET / HTTP/1.0\r\nHost: a\r\nhost: b\r\n\r\n") == several);
}

TEST_CASE("a Host that is not a host and port is refused") {
  for (const std::string value :
       {"a b", "a/b", "user@host", "a, b", "<a>", "a\\b", "a\"b", "a?b", "a#b", "h\xC3\xA9"}) {
    CHECK(refusal_of("GET / HTTP/1.1\r\nHost: " + value + "\r\n\r\n") == "The Host header is not a host and port.");
  }
  for (const std::string value : {"", "h", "h:80", "[::1]:8088", "a-b.c_d", "%41"}) {
    CHECK(transcript_of("GET / HTTP/1.1\r\nHost: " + value + "\r\n\r\n").front() == "GET /?  host=" + value + " x=");
  }
}

TEST_CASE("a header folded over lines is refused") {
  const std::string folded = "A header is folded over several lines.";
  CHECK(refusal_of(with("X: a\r\n b")) == folded);
  CHECK(refusal_of(with("X: a\r\n\tb")) == folded);
  CHECK(refusal_of(with("X:\r\n b")) == folded);
  CHECK(refusal_of(with("X: a\r\n ")) == folded);
  CHECK(refusal_of("GET / HTTP/1.1\r\n Host: h\r\nHost: h\r\n\r\n") == folded);
}

TEST_CASE("a header name with an underscore is refused") {
  CHECK(refusal_of(with("X_API_KEY: k")) == "A header name holds an underscore, which some proxies treat as a dash.");
  CHECK(refusal_of(with("content_length: 5")) != "");
}

TEST_CASE("a space before the colon, an empty name and a name that is no token are refused") {
  for (const std::string line : {"X : y", "X\t: y", ": y", "X y", "X(: y", "X\xC3\xA9: y", "@: y", "X"}) {
    CHECK(refusal_of(with(line)) != "");
  }
}

TEST_CASE("control characters in a header are refused") {
  for (const char c : {'\0', '\x01', '\x0b', '\x1b', '\x7f'}) {
    CHECK(refusal_of(with(std::string("X: a") + c + "b")) != "");
  }
}

TEST_CASE("a line that ends in LF or CR alone is refused") {
  CHECK(refusal_of("GET / HTTP/1.1\nHost: h\n\n") == "A line does not end in CR LF.");
  CHECK(refusal_of("GET / HTTP/1.1\r\nHost: h\n\r\n") == "A line does not end in CR LF.");
  CHECK(refusal_of(with("X: a\rb")) != "");
  CHECK(refusal_of(with("X: a\r\r\nY: b")) != "");
}

TEST_CASE("a malformed request line is refused") {
  for (const std::string line : {"GET", "GET /", "GET  / HTTP/1.1", "GET /  HTTP/1.1", "GET / HTTP/1.1 ",
                                 "G\x01T / HTTP/1.1", "GET /a b HTTP/1.1", "GET / FTP/1.1", "GET / HTTP/11",
                                 "GET / http/1.1", "GET /\x7f HTTP/1.1", "GET / HTTP/1.10", "@ / HTTP/1.1"}) {
    CHECK(refusal_of(line + "\r\nHost: h\r\n\r\n") != "");
  }
}

TEST_CASE("bytes that cannot start a request are refused without waiting for a line") {
  CHECK(transcript_of("\x16\x03\x01").front() == "refused 400 close: This is not an HTTP/1.1 request.");
  CHECK(transcript_of(" ").size() == 1);
  CHECK(transcript_of("\n").size() == 1);
  CHECK(transcript_of("\xff").size() == 1);
}

TEST_CASE("a chunked body that is not the chunked coding is refused") {
  for (const std::string body : {"x\r\n",
                                 "\r\n",
                                 "5\nhello\r\n0\r\n\r\n",
                                 "5\r\nhelloX\r\n0\r\n\r\n",
                                 "5\r\nhello0\r\n\r\n",
                                 "-1\r\n",
                                 "0x5\r\nhello\r\n",
                                 "5 \r\nhello\r\n",
                                 "5 x\r\nhello\r\n",
                                 "5;a=\n\r\nhello\r\n",
                                 "5;\x01\r\nhello\r\n",
                                 "1000000000000000\r\n",
                                 "5\r\nhello\r\r\n",
                                 "0\r\nX\r\n\r\n",
                                 "0\r\n X: y\r\n\r\n",
                                 "0\r\nX: y\r\n folded\r\n\r\n",
                                 "0\r\nX: \x01\r\n\r\n",
                                 "0\r\n\rX",
                                 "0\r\n: y\r\n\r\n",
                                 "0\r\nX : y\r\n\r\n",
                                 "00000000000000000\r\n\r\n"}) {
    CHECK(refusal_of(with("Transfer-Encoding: chunked", body)) ==
          "The body is not the chunked coding, or has trailers.");
  }
}

TEST_CASE("trailers are refused: merged into the headers they could change who asks") {
  for (const std::string trailer : {"X: y\r\n", "x-api-key: other\r\n", "X: 1\r\nY: 2\r\n"}) {
    CHECK(refusal_of(with("Transfer-Encoding: chunked", "5\r\nhello\r\n0\r\n" + trailer + "\r\n")) ==
          "The body is not the chunked coding, or has trailers.");
  }
}

TEST_CASE("nothing but CR LF may end a chunk's data, its size, its extension or the body") {
  const std::string body = "5;a=b\r\nhello\r\n0\r\n\r\n";
  REQUIRE(transcript_of(with("Transfer-Encoding: chunked", body)).front() == "POST /? hello host=h x=");
  for (std::size_t at = 0; at < body.size(); ++at) {
    if (body[at] != '\r' && body[at] != '\n') continue;
    for (const char other : {'\0', ' ', '\t', '0', 'x', '\x7f', '\r', '\n'}) {
      if (other == body[at]) continue;
      std::string broken = body;
      broken[at] = other;
      CAPTURE(at);
      CAPTURE(static_cast<int>(other));
      CHECK(refusal_of(with("Transfer-Encoding: chunked", broken)) != "");
    }
  }
}

TEST_CASE("control characters in a chunk extension are refused, a tab is not") {
  for (int c = 0; c < 0x20; ++c) {
    if (c == '\t' || c == '\r') continue;
    CHECK(refusal_of(with("Transfer-Encoding: chunked",
                          std::string("5;a") + static_cast<char>(c) + "b\r\nhello\r\n0\r\n\r\n")) != "");
  }
  CHECK(refusal_of(with("Transfer-Encoding: chunked", "5;a\x7f\r\nhello\r\n0\r\n\r\n")) != "");
  CHECK(transcript_of(with("Transfer-Encoding: chunked", "5 \t;\ta=\"b c\"\r\nhello\r\n0\r\n\r\n")).front() ==
        "POST /? hello host=h x=");
}

TEST_CASE("chunk extensions, and blanks before them, are bounded over the whole body") {
  const std::string text(8192, 'x');
  CHECK(refusal_of(with("Transfer-Encoding: chunked", "5;" + text + "\r\nhello\r\n0\r\n\r\n")) != "");
  const std::string blanks(8192, ' ');
  CHECK(refusal_of(with("Transfer-Encoding: chunked", "5" + blanks + ";\r\nhello\r\n0\r\n\r\n")) != "");
  CHECK(transcript_of(with("Transfer-Encoding: chunked", "5;" + blanks.substr(1) + "\r\nhello\r\n0\r\n\r\n")).front() ==
        "POST /? hello host=h x=");
  std::string many;
  for (int i = 0; i < 50; ++i) many += "1;" + std::string(200, 'x') + "\r\na\r\n";
  CHECK(refusal_of(with("Transfer-Encoding: chunked", many + "0\r\n\r\n")) != "");
}

}  // namespace
}  // namespace sluice::http
