#include "common/openapi/page.hpp"

#include <doctest/doctest.h>

#include <string>

using namespace sluice::openapi;

namespace {

std::string nonce_of(const Page& page) {
  const std::size_t at = page.headers.find("script-src 'nonce-") + 18;
  return page.headers.substr(at, page.headers.find('\'', at) - at);
}

std::size_t count(const std::string& text, const std::string& what) {
  std::size_t found = 0;
  for (std::size_t at = text.find(what); at != std::string::npos; at = text.find(what, at + 1)) ++found;
  return found;
}

}  // namespace

TEST_CASE("only the page's own style and script carry the nonce, which is new each time") {
  const Page first = make_page();
  const Page second = make_page();
  const std::string nonce = nonce_of(first);
  CHECK(nonce.size() == 32);
  CHECK(nonce != nonce_of(second));
  CHECK(count(first.body, nonce) == 2);
  CHECK(count(first.body, "<style nonce=\"" + nonce + "\">") == 1);
  CHECK(count(first.body, "<script nonce=\"" + nonce + "\">") == 1);
  CHECK(count(first.headers, "unsafe") == 0);
}

TEST_CASE("no other site may show the page in a frame") {
  CHECK(count(make_page().headers, "frame-ancestors 'none'") == 1);
}

TEST_CASE("the page has no attributes that the policy forbids") {
  const Page page = make_page();
  for (const char* attribute : {" style=", " onclick=", " onload=", "javascript:"}) {
    CAPTURE(attribute);
    CHECK(count(page.body, attribute) == 0);
  }
}
