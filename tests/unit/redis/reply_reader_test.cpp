#include "common/redis/reply_reader.hpp"

#include <doctest/doctest.h>

#include <string>

#include "tests/unit/redis/recorder.hpp"

using namespace std::string_view_literals;

namespace sluice::redis {
namespace {

std::string read_one(ReplyReader& reader, std::string_view bytes) {
  reader.feed(bytes);
  const Result<const Reply*> reply = reader.next();
  if (!reply) return "error: " + reply.error().code;
  return *reply == nullptr ? "more" : test::to_text(**reply);
}

TEST_CASE("every kind of RESP2 reply is read") {
  ReplyReader reader;
  CHECK(read_one(reader, "+OK\r\n") == "+OK");
  CHECK(read_one(reader, "+\r\n") == "+");
  CHECK(read_one(reader, ":-9223372036854775808\r\n") == ":-9223372036854775808");
  CHECK(read_one(reader, ":9223372036854775807\r\n") == ":9223372036854775807");
  CHECK(read_one(reader, "$0\r\n\r\n") == "$");
  CHECK(read_one(reader, "$-1\r\n") == "nil");
  CHECK(read_one(reader, "*-1\r\n") == "nil");
  CHECK(read_one(reader, "*0\r\n") == "[]");
  CHECK(read_one(reader, "*2\r\n*0\r\n*1\r\n*1\r\n*1\r\n$1\r\nx\r\n") == "[[] [[[$x]]]]");
  CHECK(read_one(reader, "$4\r\n\0\r\n\xff\r\n"sv) == std::string("$\0\r\n\xff", 5));
}

TEST_CASE("the code of an error is its first word") {
  ReplyReader reader;
  reader.feed("-NOSCRIPT No matching script.\r\n-OOM\r\n");
  const Result<const Reply*> first = reader.next();
  REQUIRE((first && *first != nullptr));
  CHECK((*first)->is_error());
  CHECK((*first)->error_code() == "NOSCRIPT");
  const Result<const Reply*> second = reader.next();
  REQUIRE((second && *second != nullptr));
  CHECK((*second)->error_code() == "OOM");
}

TEST_CASE("a reply larger than the bound is refused as soon as that is known") {
  ReplyReader reader(1000);
  SUBCASE("as a bulk string that never ends") {
    CHECK(read_one(reader, "$100000\r\n") == "more");
    CHECK(read_one(reader, std::string(900, 'x')) == "more");
    CHECK(read_one(reader, std::string(900, 'x')) == "error: protocol");
  }
  SUBCASE("as a line that never ends") {
    CHECK(read_one(reader, "+" + std::string(900, 'x')) == "more");
    CHECK(read_one(reader, std::string(900, 'x')) == "error: protocol");
  }
  SUBCASE("as a whole bulk string") {
    CHECK(read_one(reader, "$2000\r\n" + std::string(2000, 'x') + "\r\n") == "error: protocol");
  }
  SUBCASE("as an array that announces too many elements") {
    CHECK(read_one(reader, "*2147483647\r\n") == "error: protocol");
  }
  SUBCASE("as arrays that announce too many together") {
    CHECK(read_one(reader, "*8\r\n*8\r\n") == "more");
    CHECK(read_one(reader, "*8\r\n") == "error: protocol");
  }
  SUBCASE("as many small elements") {
    std::string bytes = "*10\r\n";
    for (int i = 0; i < 10; ++i) bytes += "$60\r\n" + std::string(60, 'x') + "\r\n";
    CHECK(read_one(reader, bytes) == "error: protocol");
  }
  SUBCASE("as a bulk string of the largest length there is") {
    CHECK(read_one(reader, "$9223372036854775807\r\n") == "more");
    CHECK(read_one(reader, std::string(1100, 'x')) == "error: protocol");
  }
}

TEST_CASE("the bound is one reply's, not a connection's") {
  ReplyReader reader(1000);
  for (int i = 0; i < 1000; ++i) REQUIRE(read_one(reader, "$100\r\n" + std::string(100, 'x') + "\r\n").size() == 101);
}

TEST_CASE("a reply larger than the arena's block is read, and so is the next") {
  ReplyReader reader;
  const std::string text(100000, 'y');
  CHECK(read_one(reader, "*2\r\n$100000\r\n" + text + "\r\n:1\r\n") == "[$" + text + " :1]");
  CHECK(read_one(reader, ":2\r\n") == ":2");
}

TEST_CASE("a bulk string that is longer than it says is noticed at once") {
  ReplyReader reader;
  CHECK(read_one(reader, "$1\r\nabc\r\n") == "error: protocol");
  CHECK(read_one(reader, "+OK\r\n") == "error: protocol");
  reader.reset();
  CHECK(read_one(reader, "+OK\r\n") == "+OK");
}

TEST_CASE("replies that arrive byte by byte, or several at once, are the same replies") {
  const std::string_view bytes =
      "*4\r\n:-12\r\n*2\r\n$3\r\na\r\n\r\n$-1\r\n*0\r\n+a\rb\nc\r\n-ERR no\r\n:007\r\n$0\r\n\r\n";
  const std::string expected = "[:-12 [$a\r\n nil] [] +a\rb\nc],-ERR no,:7,$,";
  for (std::size_t size = 1; size <= bytes.size(); ++size) {
    CAPTURE(size);
    ReplyReader reader;
    std::string read;
    for (std::size_t at = 0; at < bytes.size(); at += size) {
      reader.feed(bytes.substr(at, size));
      for (auto reply = reader.next(); reply && *reply != nullptr; reply = reader.next()) {
        read += test::to_text(**reply) + ",";
      }
    }
    CHECK(read == expected);
  }
}

TEST_CASE("what is not RESP2 is refused") {
  for (const std::string_view bytes : {"x\r\n",
                                       "\r\n",
                                       "_\r\n",
                                       ":\r\n",
                                       ":+1\r\n",
                                       ": 1\r\n",
                                       ":1 \r\n",
                                       ":1xy",
                                       ":1\n\n",
                                       ":1\rx",
                                       ":9223372036854775808\r\n",
                                       ":-9223372036854775809\r\n",
                                       ":00000000000000000001\r\n",
                                       "$-2\r\n",
                                       "$x\r\n",
                                       "$1.\r\n",
                                       "*-2\r\n",
                                       "*x\r\n",
                                       "*1\r\n*1\r\nx",
                                       "*2\r\n:1\r\n\r\n"}) {
    CAPTURE(bytes);
    ReplyReader reader;
    CHECK(read_one(reader, bytes) == "error: protocol");
    CHECK(read_one(reader, "+OK\r\n") == "error: protocol");
  }
}

TEST_CASE("arrays may lie in one another seven deep") {
  const auto nested = [](int depth) {
    std::string bytes;
    for (int i = 0; i < depth; ++i) bytes += "*1\r\n";
    return bytes + ":1\r\n";
  };
  ReplyReader reader;
  CHECK(read_one(reader, nested(7)) == "[[[[[[[:1]]]]]]]");
  CHECK(read_one(reader, nested(8)) == "error: protocol");
}

TEST_CASE("a number or a line without an end is refused long before the bound of a reply") {
  for (const std::string& bytes : {":" + std::string(22, '1'), "$" + std::string(22, '1'), "*" + std::string(22, '0'),
                                   "-" + std::string(ReplyReader::kMaxLineBytes - 1, 'x')}) {
    CAPTURE(bytes.size());
    ReplyReader reader;
    const std::string_view all = bytes;
    CHECK(read_one(reader, all.substr(0, all.size() - 1)) == "more");
    CHECK(read_one(reader, all.substr(all.size() - 1)) == "error: protocol");
  }
}

TEST_CASE("a reply outlives the reset that its handler calls, and the rest of its bytes does not") {
  ReplyReader reader;
  reader.feed("*2\r\n$1\r\na\r\n:1\r\n*2\r\n:5\r\n");
  const Result<const Reply*> reply = reader.next();
  REQUIRE((reply && *reply != nullptr));
  reader.reset();
  CHECK(test::to_text(**reply) == "[$a :1]");
  CHECK(read_one(reader, "+OK\r\n") == "+OK");
}

}  // namespace
}  // namespace sluice::redis
