#include "server/playground/key_file.hpp"

#include <string>

#include <doctest/doctest.h>

#include "common/domain/credential.hpp"

using namespace sluice;
using namespace sluice::server::playground;

TEST_CASE("A key file has keys with comments and empty lines between them, and any line ends") {
  const std::string one = mint_key("one");
  const std::string two = mint_key("two");
  const auto keys = parse_keys("# demo\n\n  " + one + "\r\n#" + two + "\n" + two);
  REQUIRE(keys);
  CHECK(*keys == std::vector<Key>{{"one", one}, {"two", two}});
}

TEST_CASE("A fault of a key file names the line, and shows nothing of it") {
  const std::string good = mint_key("one");
  std::string mistyped = mint_key("two");
  mistyped.back() = mistyped.back() == 'a' ? 'b' : 'a';
  const auto keys = parse_keys(good + "\n" + mistyped + "\n");
  REQUIRE_FALSE(keys);
  CHECK(keys.error().find("line 2") != std::string::npos);
  CHECK(keys.error().find(mistyped) == std::string::npos);
  CHECK_FALSE(parse_keys(mint_key("one", CredentialKind::admin_token)));
}

TEST_CASE("A key file without a key, or with too many, is refused") {
  CHECK_FALSE(parse_keys(""));
  CHECK_FALSE(parse_keys("\n# none\n"));
  std::string text;
  for (std::size_t i = 0; i <= kMaxKeys; ++i) text += mint_key("key") + "\n";
  CHECK_FALSE(parse_keys(text));
}
