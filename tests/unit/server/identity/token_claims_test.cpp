#include "server/identity/token_claims.hpp"

#include <doctest/doctest.h>

#include "tests/unit/server/identity/tokens.hpp"

namespace sluice::server {

using test::part;
using test::token_of;

TEST_CASE("a token says for whom it is and when it ends") {
  const auto claims = identity::read_claims(token_of(R"({"aud":["sluice","vault"],"exp":1700000000,"sub":"x"})"));
  REQUIRE(claims);
  CHECK(claims->is_for("sluice"));
  CHECK(claims->is_for("vault"));
  CHECK_FALSE(claims->is_for("slui"));
  CHECK(claims->expires_at == WallTime(std::chrono::seconds(1'700'000'000)));
}

TEST_CASE("one audience may stand without a list, and times may have a fraction") {
  const auto claims = identity::read_claims(token_of(R"({"aud":"sluice","exp":12.75})"));
  REQUIRE(claims);
  CHECK(claims->is_for("sluice"));
  CHECK(claims->expires_at == WallTime(std::chrono::seconds(12)));
}

TEST_CASE("what a token does not say, or says badly, is not known") {
  for (const char* text :
       {R"({})", R"({"aud":7,"exp":"soon"})", R"({"aud":[7,null],"exp":true})", R"({"exp":99999999999999999999})"}) {
    CAPTURE(text);
    const auto claims = identity::read_claims(token_of(text));
    REQUIRE(claims);
    CHECK(claims->audiences.empty());
    CHECK_FALSE(claims->expires_at);
  }
  CHECK(identity::read_claims(token_of(R"({"exp":-5})"))->expires_at == WallTime());
}

TEST_CASE("what has not the form of a signed token is none") {
  const std::string head = part(R"({"alg":"none"})");
  const std::string body = part(R"({"aud":"sluice"})");
  for (const std::string& text :
       {std::string(), std::string("."), std::string(".."), std::string("a.b.c"), head + "." + body,
        head + "." + body + ".", head + "." + body + ".c2ln.c2ln", "." + body + ".c2ln",
        head + "." + part("[]") + ".c2ln", part("7") + "." + body + ".c2ln", head + "=." + body + ".c2ln",
        head + "." + body + ".s g", std::string("slg_agents_0123456789")}) {
    CAPTURE(text);
    CHECK_FALSE(identity::read_claims(text));
  }
  CHECK(identity::read_claims(head + "." + body + ".c2ln"));
}

}  // namespace sluice::server
