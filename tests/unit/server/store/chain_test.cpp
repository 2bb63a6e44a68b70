#include "server/store/chain.hpp"

#include <doctest/doctest.h>

#include <string>
#include <vector>

namespace sluice::server {
namespace {

store::AuditRow sample() {
  return {.organization_id = "acme",
          .seq = 1,
          .tenant_id = "shop",
          .made_at_us = 1'700'000'000'123'456,
          .actor_id = "token-1",
          .actor_role = "org_admin",
          .source = "192.0.2.1",
          .request_id = "r-1",
          .action = "create",
          .kind = "plan",
          .object_id = "pro",
          .version = 1,
          .before = "",
          .after = R"({"id":"pro","name":"Größe"})",
          .revision = 42};
}

}  // namespace

// Computed apart from this code, with Python:
//   def text(s): return struct.pack(">q", len(s.encode())) + s.encode()
//   def number(n): return struct.pack(">q", n)
//   sha256(bytes(32) + text("acme") + number(1) + text("shop") + number(1700000000123456) + text("token-1") +
//          text("org_admin") + text("192.0.2.1") + text("r-1") + text("create") + text("plan") + text("pro") +
//          number(1) + text("") + text('{"id":"pro","name":"Größe"}') + number(42))
// and the second from the first's bytes with seq 2, made_at -1, "delete", version 2, before and after swapped and
// revision 2**62.
TEST_CASE("the chain's encoding stays what it is: trails are older than programs") {
  const Sha256Digest first = store::chained(Sha256Digest{}, sample());
  CHECK(to_hex(first) == "46fe98886f96a32820e8b938645c302d6d8a684453522d93e6dbe624b4a81d40");
  store::AuditRow row = sample();
  row.seq = 2;
  row.made_at_us = -1;
  row.action = "delete";
  row.version = 2;
  std::swap(row.before, row.after);
  row.revision = std::int64_t{1} << 62;
  CHECK(to_hex(store::chained(first, row)) == "52fcf2e1731fa12f435a548f28c52627d6658a9248d9595c26eb0c332465dff3");
}

TEST_CASE("every field counts, and where one ends and the next begins") {
  const Sha256Digest before{};
  const Sha256Digest whole = store::chained(before, sample());
  std::vector<store::AuditRow> others;
  const auto other = [&](auto change) {
    others.push_back(sample());
    change(others.back());
  };
  other([](store::AuditRow& row) { row.organization_id = "acm"; });
  other([](store::AuditRow& row) { row.seq = 2; });
  other([](store::AuditRow& row) { row.tenant_id = ""; });
  other([](store::AuditRow& row) { ++row.made_at_us; });
  other([](store::AuditRow& row) { row.actor_id = "token-2"; });
  other([](store::AuditRow& row) { row.actor_role = "auditor"; });
  other([](store::AuditRow& row) { row.source = "192.0.2.2"; });
  other([](store::AuditRow& row) { row.request_id = "r-2"; });
  other([](store::AuditRow& row) { row.action = "creat"; });
  other([](store::AuditRow& row) { row.kind = "policy"; });
  other([](store::AuditRow& row) { row.object_id = "prO"; });
  other([](store::AuditRow& row) { row.version = 2; });
  other([](store::AuditRow& row) { row.before = " "; });
  other([](store::AuditRow& row) { row.after = ""; });
  other([](store::AuditRow& row) { row.revision = -42; });
  other([](store::AuditRow& row) { std::swap(row.before, row.after); });
  other([](store::AuditRow& row) {  // a character moved across a border
    row.action = "createp";
    row.kind = "lan";
  });
  for (std::size_t i = 0; i < others.size(); ++i) {
    CAPTURE(i);
    CHECK(store::chained(before, others[i]) != whole);
  }
  Sha256Digest another{};
  another[31] = 1;
  CHECK(store::chained(another, sample()) != whole);
  CHECK(store::chained(before, sample()) == whole);
}

}  // namespace sluice::server
