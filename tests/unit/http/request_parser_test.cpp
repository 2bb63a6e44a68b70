#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "tests/unit/http/transcript.hpp"

namespace sluice::http {
namespace {

using Lines = std::vector<std::string>;
using Step = RequestParser::Step;
using Phase = RequestParser::Phase;

const std::string kPipelined =
    "POST /v1/check?a=b HTTP/1.1\r\nHost: one\r\nContent-Length: 5\r\nX: 1\r\n\r\nhello"
    "POST /two HTTP/1.1\r\nHost: two\r\nTransfer-Encoding: chunked\r\nX: 2\r\n\r\n"
    "3;ext=\"v\"\r\nabc\r\n2\r\nde\r\n0\r\n\r\n"
    "GET /three HTTP/1.0\r\n\r\n";
const Lines kPipelinedLines = {
    "POST /v1/check?a=b hello host=one x=1",
    "POST /two? abcde host=two x=2",
    "GET /three?  host= x= close",
};

TEST_CASE("requests that arrive together are taken apart") { CHECK(transcript_of(kPipelined) == kPipelinedLines); }

TEST_CASE("requests read byte by byte are the same requests") {
  Transcript transcript;
  for (const char& byte : kPipelined) transcript.feed({&byte, 1});
  CHECK(transcript.lines() == kPipelinedLines);
  CHECK(transcript.pending() == 0);
}

TEST_CASE("every split of pipelined requests gives the same requests") {
  for (std::size_t first = 0; first <= kPipelined.size(); ++first) {
    for (std::size_t second = first; second <= kPipelined.size(); second += 7) {
      Transcript transcript;
      transcript.feed(kPipelined.substr(0, first));
      transcript.feed(kPipelined.substr(first, second - first));
      transcript.feed(kPipelined.substr(second));
      REQUIRE(transcript.lines() == kPipelinedLines);
    }
  }
}

TEST_CASE("header names are found in lower case whatever case they came in") {
  CHECK(transcript_of("GET / HTTP/1.1\r\nhOSt: h\r\nX:\t spaced value \t\r\n\r\n") ==
        Lines{"GET /?  host=h x=spaced value"});
}

TEST_CASE("any header can be read, however its name is written, and absent ones are empty") {
  std::string bytes =
      "GET / HTTP/1.1\r\nHost: h\r\nAuthorization: Bearer a.b-c=\r\nIF-MATCH: \"17\"\r\nidempotency-Key:  k 1 \r\n"
      "If-Match: W/\"18\"\r\nAuthorization: Basic eA==\r\nEmpty:\r\n\r\n";
  RequestParser parser(8192);
  REQUIRE(parser.feed(bytes.data(), bytes.size()) == Step::complete);
  const Request& request = parser.request();
  CHECK(request.header("idempotency-key") == "k 1");
  CHECK(request.header("if-match") == "\"17\", W/\"18\"");
  CHECK(request.header("authorization") == "Bearer a.b-c=, Basic eA==");  // two credentials are none
  CHECK(request.header("empty") == "");
  CHECK(request.header("if-none-match") == "");
}

TEST_CASE("a repeated header reads as one list") {
  CHECK(transcript_of("GET / HTTP/1.1\r\nHost: h\r\nX: 1\r\nY: -\r\nx: 2\r\nX: 3\r\n\r\n") ==
        Lines{"GET /?  host=h x=1, 2, 3"});
}

TEST_CASE("the absolute form of a target has the path of its origin form") {
  CHECK(transcript_of("GET http://h:80/v1/health?q=1 HTTP/1.1\r\nHost: h\r\n\r\n") ==
        Lines{"GET /v1/health?q=1  host=h x="});
  CHECK(transcript_of("GET HTTP://h HTTP/1.1\r\nHost: h\r\n\r\n") == Lines{"GET ?  host=h x="});
}

TEST_CASE("a question mark ends the path, also an empty query's") {
  CHECK(transcript_of("GET /a? HTTP/1.1\r\nHost: h\r\n\r\n") == Lines{"GET /a?  host=h x="});
  CHECK(transcript_of("GET /a?b?c HTTP/1.1\r\nHost: h\r\n\r\n") == Lines{"GET /a?b?c  host=h x="});
}

TEST_CASE("blank lines before a request are skipped, a flood of them is not") {
  CHECK(transcript_of("\r\n\r\nGET / HTTP/1.1\r\nHost: h\r\n\r\n\r\nGET / HTTP/1.1\r\nHost: h\r\n\r\n").size() == 2);
  const Lines flood = transcript_of("\r\n\r\n\r\n\r\n\r\n\r\nGET / HTTP/1.1\r\nHost: h\r\n\r\n");
  CHECK(flood == Lines{"refused 400 close: This is not an HTTP/1.1 request."});
}

TEST_CASE("a connection is kept as HTTP says: 1.1 unless closed, 1.0 if asked") {
  CHECK(transcript_of("GET / HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n") == Lines{"GET /?  host=h x= close"});
  CHECK(transcript_of("GET / HTTP/1.0\r\nConnection: Keep-Alive\r\n\r\n") == Lines{"GET /?  host= x="});
}

TEST_CASE("methods of every kind reach the handler") {
  for (const std::string method : {"GET", "HEAD", "OPTIONS", "TRACE", "DELETE", "BREW"}) {
    CHECK(transcript_of(method + " / HTTP/1.1\r\nHost: h\r\n\r\n") == Lines{method + " /?  host=h x="});
  }
  CHECK(transcript_of("OPTIONS * HTTP/1.1\r\nHost: h\r\n\r\n") == Lines{"OPTIONS *?  host=h x="});
}

TEST_CASE("a body may come with any method, and may be empty") {
  CHECK(transcript_of("GET / HTTP/1.1\r\nHost: h\r\nContent-Length: 2\r\n\r\nhi") == Lines{"GET /? hi host=h x="});
  CHECK(transcript_of("POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 0\r\n\r\n") == Lines{"POST /?  host=h x="});
}

TEST_CASE("the parser says how much room an unfinished body wants") {
  Transcript transcript;
  const std::string head = "POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 60\r\n\r\n";
  transcript.feed(head + "x");
  CHECK(transcript.parser().wanted() == head.size() + 60);
  CHECK(transcript.parser().phase() == Phase::body);
}

TEST_CASE("phases: idle, head, body, and idle again") {
  Transcript transcript;
  RequestParser& parser = transcript.parser();
  CHECK(parser.phase() == Phase::idle);
  transcript.feed("P");
  CHECK(parser.phase() == Phase::head);
  transcript.feed("OST / HTTP/1.1\r\nHost: h\r\nContent-Length: 1\r\nExpect: 100-continue\r\n\r\n");
  CHECK(parser.phase() == Phase::body);
  CHECK(parser.expects_continue());
  transcript.feed("x");
  CHECK(parser.phase() == Phase::idle);
}

TEST_CASE("Expect means nothing without a body or in HTTP/1.0") {
  Transcript transcript;
  transcript.feed("GET / HTTP/1.1\r\nHost: h\r\nExpect: 100-continue\r\n\r\n");
  CHECK_FALSE(transcript.parser().expects_continue());
  transcript.feed("POST / HTTP/1.0\r\nContent-Length: 1\r\nConnection: keep-alive\r\nExpect: 100-continue\r\n\r\n");
  CHECK_FALSE(transcript.parser().expects_continue());
}

TEST_CASE("411: a POST, PUT or PATCH without a length is refused and the connection goes on") {
  for (const std::string method : {"POST", "PUT", "PATCH"}) {
    const Lines lines = transcript_of(method + " / HTTP/1.1\r\nHost: h\r\n\r\nGET /next HTTP/1.1\r\nHost: h\r\n\r\n");
    REQUIRE(lines.size() == 2);
    CHECK(lines[0].starts_with("refused 411: "));
    CHECK(lines[1] == "GET /next?  host=h x=");
  }
}

TEST_CASE("413: a declared body over the limit is refused before it comes, then skipped") {
  const std::string head = "POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 65\r\n\r\n";
  Transcript transcript(64);
  transcript.feed(head);
  REQUIRE(transcript.lines() == Lines{"refused 413: The body is too large for this path."});
  CHECK(transcript.parser().phase() == Phase::skip);
  transcript.feed(std::string(65, 'x') + "GET /next HTTP/1.1\r\nHost: h\r\n\r\n");
  CHECK(transcript.lines().back() == "GET /next?  host=h x=");
  CHECK(transcript_of("POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 64\r\n\r\n" + std::string(64, 'x')).size() == 1);
}

TEST_CASE("413: a chunked body over the limit is refused when it passes it, then skipped") {
  Transcript transcript(4);
  transcript.feed("POST / HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n");
  CHECK(transcript.lines().empty());
  transcript.feed("2\r\n");
  CHECK(transcript.lines() == Lines{"refused 413: The body is too large for this path."});
  transcript.feed("de\r\n5\r\nfghij\r\n0\r\n\r\nGET /next HTTP/1.1\r\nHost: h\r\n\r\n");
  CHECK(transcript.lines().back() == "GET /next?  host=h x=");
}

TEST_CASE("413: a body too long to skip ends the connection") {
  const Lines declared = transcript_of("POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 1000000000\r\n\r\n");
  CHECK(declared == Lines{"refused 413 close: The body is too large for this path."});
  Transcript chunked(4);
  chunked.feed("POST / HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n1000000\r\n");
  const std::string piece(1000, 'x');
  for (int i = 0; i < 300; ++i) chunked.feed(piece);
  CHECK(chunked.lines() == Lines{"refused 413: The body is too large for this path.", "hang up"});
}

TEST_CASE("413: a client that waits for 100 Continue may never send the body, so the connection ends") {
  const Lines lines =
      transcript_of("POST / HTTP/1.1\r\nHost: h\r\nExpect: 100-continue\r\nContent-Length: 100\r\n\r\n");
  CHECK(lines == Lines{"refused 413 close: The body is too large for this path."});
}

TEST_CASE("431: a head over the limit is refused, however it is cut") {
  const std::string start = "GET / HTTP/1.1\r\nHost: h\r\nX: ";
  const auto head = [&](std::size_t size) { return start + std::string(size - start.size() - 4, 'x') + "\r\n\r\n"; };
  CHECK(transcript_of(head(8192)).front().starts_with("GET /"));
  for (const std::size_t step : {1U, 100U, 8193U}) {
    Transcript transcript;
    const std::string bytes = head(8193);
    for (std::size_t at = 0; at < bytes.size(); at += step) transcript.feed(bytes.substr(at, step));
    REQUIRE(transcript.lines().size() == 1);
    CHECK(transcript.lines()[0].starts_with("refused 431 close: "));
  }
}

TEST_CASE("431: more fields than the parser has room for") {
  std::string fields;
  for (std::size_t i = 1; i < kMaxFields; ++i) fields += "a: b\r\n";
  CHECK(transcript_of("GET / HTTP/1.1\r\nHost: h\r\n" + fields + "\r\n").front().starts_with("GET /"));
  const Lines lines = transcript_of("GET / HTTP/1.1\r\nHost: h\r\n" + fields + "a: b\r\n\r\n");
  CHECK(lines.front().starts_with("refused 431 close: "));
}

TEST_CASE("505: a version of HTTP this server does not speak") {
  for (const std::string version : {"HTTP/2.0", "HTTP/1.2", "HTTP/0.9", "HTTP/9.9"}) {
    const Lines lines = transcript_of("GET / " + version + "\r\nHost: h\r\n\r\n");
    CHECK(lines == Lines{"refused 505 close: This server speaks HTTP/1.1 and HTTP/1.0."});
  }
}

}  // namespace
}  // namespace sluice::http
