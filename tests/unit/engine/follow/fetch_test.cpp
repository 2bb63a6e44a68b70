// What the answer to a fetch means: taken, asked for again, or refused.
#include "engine/follow/fetch.hpp"

#include <doctest/doctest.h>

#include "common/sync/snapshot_document.hpp"
#include "tests/unit/sync/objects.hpp"

namespace sluice::follow::test {
namespace {

const sync::Position kHead{7, sync::kChainA};
const sync::ScopeState kBefore{.head = {6, sync::kChainA}, .objects = sync::set_of({sync::tenant("shop", "acme")})};

FetchReply read(bool since_given, unsigned status, std::string body = "{}") {
  http_client::Response response;
  response.status = status;
  response.body = std::move(body);
  return read_reply(kBefore, since_given, response);
}

// A whole state whose checksum is not that of its objects.
std::string damaged() {
  std::string text = sync::write_snapshot(kHead, sync::set_of(sync::small_shop()));
  char& digit = text[text.find(R"("checksum":")") + 12];
  digit = digit == '0' ? '1' : '0';
  return text;
}

TEST_CASE("304 and 410 answer a request for what has changed; to one for the whole state they are failures") {
  CHECK(std::holds_alternative<NotModified>(read(true, 304)));
  CHECK(std::get<FailedFetch>(read(false, 304)).why.code == "status");
  CHECK(std::holds_alternative<NeedFullSnapshot>(read(true, 410)));
  CHECK(std::get<FailedFetch>(read(false, 410)).why.code == "status");
}

TEST_CASE("a token that is unknown and one that may not do this are both unauthorized, other statuses are not") {
  CHECK(std::get<FailedFetch>(read(true, 401)).why.code == "unauthorized");
  CHECK(std::get<FailedFetch>(read(true, 403)).why.code == "unauthorized");
  CHECK(std::get<FailedFetch>(read(true, 503)).why.code == "status");
  CHECK(std::get<FailedFetch>(read(true, 503, R"({"detail":"starting"})")).why.text ==
        "the snapshot: the server answers 503: starting");
}

TEST_CASE("a document that cannot be read leads to the whole state, and is refused where it was that") {
  CHECK(std::holds_alternative<NeedFullSnapshot>(read(true, 200, "[]")));
  const auto refused = std::get<RefusedState>(read(false, 200, "[]"));
  CHECK(refused.why.code == "unreadable_snapshot");
  CHECK_FALSE(refused.head);
}

TEST_CASE("a whole state with a wrong checksum is refused, also where a delta was asked for") {
  for (const bool since_given : {true, false}) {
    const auto refused = std::get<RefusedState>(read(since_given, 200, damaged()));
    CHECK(refused.why.code == "checksum_mismatch");
    CHECK(refused.head == kHead);
  }
}

TEST_CASE("a whole state is taken as one, whatever was asked for") {
  for (const bool since_given : {true, false}) {
    const auto taken =
        std::get<NewState>(read(since_given, 200, sync::write_snapshot(kHead, sync::set_of(sync::small_shop()))));
    CHECK(taken.full);
    CHECK(taken.applied.state.head == kHead);
    CHECK(taken.applied.changes.size() == sync::small_shop().size() - 1);
  }
}

TEST_CASE("an answer above the limit leads to the whole state, no answer to another try") {
  const Error large{"too_large", "the body is larger than 5 bytes"};
  CHECK(std::holds_alternative<NeedFullSnapshot>(read_reply(kBefore, true, std::unexpected(large))));
  CHECK(std::get<RefusedState>(read_reply(kBefore, false, std::unexpected(large))).why.code == "too_large");
  CHECK(std::get<FailedFetch>(read_reply(kBefore, true, failure("timeout", "timed out"))).why.code == "timeout");
}

}  // namespace
}  // namespace sluice::follow::test
