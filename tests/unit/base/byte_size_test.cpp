#include "common/base/byte_size.hpp"

#include <doctest/doctest.h>

namespace sluice {

TEST_CASE("a size is a whole number and a unit") {
  CHECK(parse_byte_size("0B") == 0);
  CHECK(parse_byte_size("7B") == 7);
  CHECK(parse_byte_size("32MB") == 32'000'000);
  CHECK(parse_byte_size("3kB") == 3'000);
  CHECK(parse_byte_size("2GB") == 2'000'000'000);
  CHECK(parse_byte_size("64MiB") == 67'108'864);
  CHECK(parse_byte_size("64Mi") == 67'108'864);
  CHECK(parse_byte_size("1KiB") == 1'024);
  CHECK(parse_byte_size("8589934591GiB") == 9'223'372'035'781'033'984);
  for (const char* text :
       {"", "32", "MB", "-1MB", "1.5MB", "32 MB", "32mb", "32M", "32MBs", "8589934592GiB", "99999999999999999999B"}) {
    CAPTURE(text);
    CHECK_FALSE(parse_byte_size(text));
  }
}

}  // namespace sluice
