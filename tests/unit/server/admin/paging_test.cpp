#include "server/admin/paging.hpp"

#include <doctest/doctest.h>

#include <optional>
#include <string>

#include "common/base/crypto.hpp"
#include "server/http/refusal.hpp"

namespace sluice::server {
namespace {

store::Page page_of(std::string_view name, std::string value) {
  admin::Call call;
  call.query.emplace_back(std::string(name), std::move(value));
  return admin::read_page(call);
}

// The pointer of the refusal; nothing where the page is taken.
std::optional<std::string> refusal(std::string_view name, std::string value) {
  try {
    page_of(name, std::move(value));
  } catch (const http::Refusal& refused) {
    CHECK(refused.status == 400);
    REQUIRE(refused.faults.size() == 1);
    return refused.faults[0].pointer;
  }
  return std::nullopt;
}

}  // namespace

TEST_CASE("without parameters a page is the first, of the usual length") {
  const store::Page page = admin::read_page(admin::Call{});
  CHECK(page.limit == admin::kDefaultPage);
  CHECK(page.after_tenant_id.empty());
  CHECK(page.after_id.empty());
}

TEST_CASE("a limit is a whole number from 1 to the most") {
  CHECK(page_of("limit", "1").limit == 1);
  CHECK(page_of("limit", "1000").limit == admin::kMaxPage);
  for (const char* const wrong : {"0", "1001", "-1", "+1", "1.0", "1e2", " 1", "1 ", "x", "99999999999999999999999"}) {
    CAPTURE(wrong);
    CHECK(refusal("limit", wrong) == "?limit");
  }
}

TEST_CASE("a cursor leads behind the object it was made of, and can stand in a URL as it is") {
  for (const auto& [tenant, id] :
       {std::pair<std::string, std::string>{"shop", "orders"}, {"", "acme"}, {"a.b-c", "0"}}) {
    const std::string cursor = admin::cursor_after(tenant, id);
    CHECK(cursor.find_first_not_of("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_") ==
          std::string::npos);
    const store::Page page = page_of("cursor", cursor);
    CHECK(page.after_tenant_id == tenant);
    CHECK(page.after_id == id);
  }
}

TEST_CASE("what is no cursor of ours is refused") {
  const std::string good = admin::cursor_after("shop", "orders");
  const auto cursor = [](std::string_view text) { return to_base64url(as_bytes(text)); };
  for (const std::string& wrong : {std::string("x"), std::string("!!"), good + "=", cursor("no separator"),
                                   cursor(std::string_view("a\nb\0", 4)), cursor("a\n\xff"), std::string("\xc3\xa9")}) {
    CAPTURE(wrong);
    CHECK(refusal("cursor", wrong) == "?cursor");
  }
}

TEST_CASE("a list is its items and the way to the next page") {
  CHECK(admin::finish(admin::list_answer("", {}), {}).body == R"({"items":[],"next":null})");
  CHECK(admin::finish(admin::list_answer("abc", {R"({"id":"a"})", R"({"id":"b"})"}), {}).body ==
        R"({"items":[{"id":"a"},{"id":"b"}],"next":"abc"})");
}

}  // namespace sluice::server
