#include "common/base/protobuf_parts.hpp"

#include <doctest/doctest.h>

#include <limits>

using namespace sluice::protobuf;
using namespace std::string_view_literals;

namespace {

template <class... Parts>
std::string written(const Parts&... parts) {
  std::string out = "x";
  append(out, parts...);
  CHECK(out.size() == 1 + (parts.size() + ...));
  return out.substr(1);
}

}  // namespace

TEST_CASE("parts of a message are appended as Protobuf writes them") {
  CHECK(written(NumberField(1, 150)) == "\x08\x96\x01");
  CHECK(written(TextField(2, "testing")) == "\x12\x07testing");
  const NumberField number(1, 150);
  CHECK(written(FieldHead(3, number.size()), number) == "\x1a\x03\x08\x96\x01");
  CHECK(written("\x08\x01"sv, TextField(2, "a")) ==
        "\x08\x01\x12\x01"
        "a");
  const std::string text(300, 'a');
  CHECK(written(TextField(15, text)) == "\x7a\xac\x02" + text);
}

TEST_CASE("zero and the empty text are left out of a message") {
  CHECK(written(NumberField(1, 0), TextField(2, ""), NumberField(3, 1)) == "\x18\x01");
  CHECK(written(FieldHead(4, 0)) == "\x22\x00"sv);
}

TEST_CASE("the size of a varint is that of its bytes") {
  for (int bit = 0; bit < 64; ++bit) {
    for (const std::uint64_t number : {std::uint64_t{1} << bit, (std::uint64_t{1} << bit) - 1}) {
      CAPTURE(number);
      char bytes[10];
      CHECK(varint_size(number) == static_cast<std::size_t>(write_varint(number, bytes) - bytes));
    }
  }
  CHECK(varint_size(std::numeric_limits<std::uint64_t>::max()) == 10);
}

TEST_CASE("a short message is written before its length is known") {
  char bytes[130];
  const auto empty = [](char* to) { return to; };
  CHECK(std::string_view(bytes, write_short_message(4, bytes, empty)) == "\x22\x00"sv);
  const std::string text(127, 'a');
  const auto longest = [&text](char* to) { return write_bytes(text, to); };
  CHECK(std::string_view(bytes, write_short_message(2, bytes, longest)) == "\x12\x7f" + text);
}
