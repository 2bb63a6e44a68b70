// Somebody changes the audit trail by hand, past the server and its role: verify names the first row that is not what
// was written.
#include <doctest/doctest.h>

#include <optional>
#include <string>
#include <vector>

#include <fmt/core.h>

#include "server/audit/verify.hpp"
#include "tests/integration/audit/store.hpp"

namespace sluice::test {
namespace {

using server::audit::ChainFault;
using server::audit::ChainHead;
using server::audit::SavedHeads;
using server::audit::VerifyReport;

// Acme's rows 4 to 10 and globex' 3 to 6, in turns.
void write_some(const Store& store) {
  Writer writer(store.url());
  for (const std::string id : {"a", "b", "c"}) {
    writer.create_plan("shop", id, 1);
    writer.update(plan_key("shop", id), plan_document(id, 2));
    writer.create_plan("mill", id, 1);
  }
  writer.remove(plan_key("shop", "b"));
  writer.remove(plan_key("mill", "b"));
}

VerifyReport verified(const Store& store, SavedHeads saved = {}) {
  const auto connection = server::postgres::connect({.url = store.url()});
  return server::audit::verify(*connection, {.saved = std::move(saved)});
}

const server::audit::ChainReport& chain(const VerifyReport& report, std::string_view organization) {
  for (const auto& found : report.chains) {
    if (found.organization_id == organization) return found;
  }
  throw std::runtime_error("no chain of this organization");
}

SavedHeads heads_of(const VerifyReport& report) {
  SavedHeads heads;
  for (const auto& found : report.chains) heads.emplace(found.organization_id, found.end);
  return heads;
}

std::string fault_text(const server::audit::ChainReport& found) {
  if (!found.fault) return "holds";
  return fmt::format("{} {}", static_cast<int>(found.fault->kind), found.fault->seq);
}
std::string fault_text(ChainFault::Kind kind, std::int64_t seq) {
  return fmt::format("{} {}", static_cast<int>(kind), seq);
}

// A trail, what is done to it, and how it is afterwards.
struct Tampered {
  Store store;
  SavedHeads heads;

  Tampered() {
    write_some(store);
    const VerifyReport whole = verified(store);
    REQUIRE(whole.good());
    heads = heads_of(whole);
  }
  VerifyReport after(const std::string& sql, bool with_heads = false) {
    store.tamper(sql);
    return verified(store, with_heads ? heads : SavedHeads());
  }
};

}  // namespace

TEST_CASE("what the server wrote in several organizations verifies, chain by chain") {
  Store store;
  write_some(store);
  const VerifyReport report = verified(store);
  CHECK(report.good());
  REQUIRE(report.chains.size() == 3);
  CHECK(report.chains[0].organization_id.empty());
  CHECK(chain(report, "").rows == 1);
  CHECK(chain(report, "acme").rows == 10);
  CHECK(chain(report, "globex").rows == 6);
  CHECK(report.rows == 17);
  for (const auto& found : report.chains) {
    CHECK(found.end.seq == found.rows);
    CHECK(to_hex(found.end.hash) ==
          store.tamper(fmt::format("SELECT encode(hash, 'hex') FROM audit_heads WHERE organization_id = '{}'",
                                   found.organization_id)));
  }
  CHECK(verified(store, heads_of(report)).good());
}

TEST_CASE("a byte that is flipped in any column is found in its row") {
  Tampered trail;
  trail.store.tamper("CREATE TABLE kept AS TABLE audit");
  const std::vector<std::string> changes = {
      "tenant_id = 'shoq'",
      "made_at = made_at + interval '1 microsecond'",
      "made_at = 'infinity'",
      "actor_id = overlay(actor_id placing 'x' from 1)",
      "actor_role = upper(actor_role)",
      "source = source || ' '",
      "request_id = ''",
      "action = 'upsate'",
      "kind = 'plam'",
      "object_id = 'b'",
      "version = version - 1",
      "before = replace(before, 'limit\":1', 'limit\":3')",
      "before = NULL",
      "after = overlay(after placing ' ' from length(after))",
      "after = NULL",
      "revision = revision + 1",
      "hash = set_byte(hash, 31, get_byte(hash, 31) # 1)",
      "hash = set_byte(hash, 0, get_byte(hash, 0) # 128)",
      "hash = substring(hash from 1 for 31)",
      "hash = ''",
  };
  for (const std::string& change : changes) {
    CAPTURE(change);
    const VerifyReport report =
        trail.after("UPDATE audit SET " + change + " WHERE organization_id = 'acme' AND seq = 5");
    CHECK(fault_text(chain(report, "acme")) == fault_text(ChainFault::Kind::changed, 5));
    CHECK(report.first_broken() == &chain(report, "acme"));
    CHECK_FALSE(chain(report, "globex").fault);
    trail.store.tamper("DELETE FROM audit; INSERT INTO audit TABLE kept");
  }
  CHECK(verified(trail.store).good());
}

TEST_CASE("an empty text where none was written is a change, though the hash does not tell them apart") {
  Tampered trail;
  const VerifyReport report = trail.after("UPDATE audit SET before = '' WHERE organization_id = 'acme' AND seq = 4");
  CHECK(fault_text(chain(report, "acme")) == fault_text(ChainFault::Kind::changed, 4));
}

TEST_CASE("a row renamed into another organization is missing here and breaks what is there") {
  Tampered trail;
  const VerifyReport report =
      trail.after("UPDATE audit SET organization_id = 'globex', seq = 7 WHERE organization_id = 'acme' AND seq = 5");
  CHECK(fault_text(chain(report, "acme")) == fault_text(ChainFault::Kind::missing, 5));
  CHECK(fault_text(chain(report, "globex")) == fault_text(ChainFault::Kind::foreign, 7));
  CHECK(chain(report, "globex").fault->text.find("acme") != std::string::npos);
}

TEST_CASE("a row that was removed from the middle is missing") {
  Tampered trail;
  SUBCASE("one") {
    const auto report = trail.after("DELETE FROM audit WHERE organization_id = 'acme' AND seq = 6");
    CHECK(fault_text(chain(report, "acme")) == fault_text(ChainFault::Kind::missing, 6));
    CHECK(chain(report, "acme").fault->text.find("row 6") != std::string::npos);
  }
  SUBCASE("the first two") {
    const auto report = trail.after("DELETE FROM audit WHERE organization_id = 'acme' AND seq <= 2");
    CHECK(fault_text(chain(report, "acme")) == fault_text(ChainFault::Kind::missing, 1));
    CHECK(chain(report, "acme").fault->text.find("rows 1 to 2") != std::string::npos);
  }
  SUBCASE("and those behind it were numbered anew") {
    const auto report = trail.after(
        "DELETE FROM audit WHERE organization_id = 'acme' AND seq = 6;"
        "UPDATE audit SET seq = -seq WHERE organization_id = 'acme' AND seq > 6;"
        "UPDATE audit SET seq = -seq - 1 WHERE organization_id = 'acme' AND seq < 0;"
        "UPDATE audit_heads SET seq = seq - 1 WHERE organization_id = 'acme'");
    CHECK(fault_text(chain(report, "acme")) == fault_text(ChainFault::Kind::changed, 6));
  }
  SUBCASE("and a number below the first was given to it") {
    const auto report = trail.after("UPDATE audit SET seq = 0 WHERE organization_id = 'acme' AND seq = 6");
    CHECK(fault_text(chain(report, "acme")) == fault_text(ChainFault::Kind::repeated, 0));
  }
}

TEST_CASE("rows that were removed from the end are missing") {
  Tampered trail;
  const std::string cut = "DELETE FROM audit WHERE organization_id = 'acme' AND seq > 8;";
  const std::string mend =
      "UPDATE audit_heads h SET seq = a.seq, hash = a.hash FROM audit a WHERE h.organization_id = "
      "'acme' AND a.organization_id = 'acme' AND a.seq = 8;";
  SUBCASE("as the head beside the trail knows") {
    const auto report = trail.after(cut);
    CHECK(fault_text(chain(report, "acme")) == fault_text(ChainFault::Kind::truncated, 9));
    CHECK(chain(report, "acme").fault->text.find("rows 9 to 10") != std::string::npos);
  }
  SUBCASE("as a head kept elsewhere knows, where the other one was made to match") {
    const auto report = trail.after(cut + mend, true);
    CHECK(fault_text(chain(report, "acme")) == fault_text(ChainFault::Kind::truncated, 9));
    CHECK_FALSE(chain(report, "globex").fault);
  }
  SUBCASE("as the versions know, where there is no head elsewhere") {
    const auto report = trail.after(cut + mend);
    CHECK(report.first_broken() == nullptr);
    CHECK_FALSE(report.good());
    REQUIRE(report.disagreements.size() >= 2);
    CHECK(report.disagreements[0].find("is in versions, but not in audit") != std::string::npos);
  }
  SUBCASE("all of them, with the head") {
    const auto report = trail.after(
        "DELETE FROM audit WHERE organization_id = 'globex'; DELETE FROM audit_heads WHERE "
        "organization_id = 'globex'",
        true);
    CHECK(fault_text(chain(report, "globex")) == fault_text(ChainFault::Kind::truncated, 1));
  }
  SUBCASE("all of them, but not the head") {
    const auto report = trail.after("DELETE FROM audit WHERE organization_id = 'globex'");
    CHECK(fault_text(chain(report, "globex")) == fault_text(ChainFault::Kind::truncated, 1));
  }
}

TEST_CASE("the head beside the trail is checked too") {
  Tampered trail;
  SUBCASE("removed") {
    const auto report = trail.after("DELETE FROM audit_heads WHERE organization_id = 'acme'");
    CHECK(fault_text(chain(report, "acme")) == fault_text(ChainFault::Kind::head, 10));
  }
  SUBCASE("with another hash") {
    const auto report = trail.after("UPDATE audit_heads SET hash = sha256('') WHERE organization_id = 'acme'");
    CHECK(fault_text(chain(report, "acme")) == fault_text(ChainFault::Kind::head, 10));
  }
  SUBCASE("set back, so that rows are behind it") {
    const auto report = trail.after("UPDATE audit_heads SET seq = 8 WHERE organization_id = 'acme'");
    CHECK(fault_text(chain(report, "acme")) == fault_text(ChainFault::Kind::added, 9));
  }
}

// Everything of a row but its place; a swap leaves the numbers where they are.
constexpr const char* kSwap =
    "CREATE TABLE pair AS SELECT * FROM audit WHERE organization_id = 'acme' AND seq IN ({0}, {1});"
    "UPDATE audit a SET (tenant_id, made_at, actor_id, actor_role, source, request_id, action, kind, object_id, "
    "version, "
    "before, after, revision{2}) = (SELECT tenant_id, made_at, actor_id, actor_role, source, request_id, action, kind, "
    "object_id, version, before, after, revision{2} FROM pair p WHERE p.seq = {0} + {1} - a.seq) "
    "WHERE organization_id = 'acme' AND seq IN ({0}, {1})";

TEST_CASE("two rows that were swapped are told from changed ones") {
  Tampered trail;
  for (const auto& [one, other] : {std::pair{5, 8}, {5, 6}, {1, 2}, {1, 10}, {9, 10}}) {
    for (const std::string hash : {"", ", hash"}) {
      CAPTURE(one);
      CAPTURE(other);
      CAPTURE(hash);
      const std::string swap = fmt::format(fmt::runtime(kSwap), one, other, hash);
      const VerifyReport report = trail.after(swap);
      CHECK(fault_text(chain(report, "acme")) == fault_text(ChainFault::Kind::swapped, one));
      CHECK(chain(report, "acme").fault->text.find(fmt::format("row {}:", other)) != std::string::npos);
      trail.store.tamper("DROP TABLE pair;" + swap + "; DROP TABLE pair");
      REQUIRE(verified(trail.store).good());
    }
  }
}

TEST_CASE("a row of another organization that is played again is named with where it comes from") {
  Tampered trail;
  const std::string columns =
      "tenant_id, made_at, actor_id, actor_role, source, request_id, action, kind, object_id, version, before, after, "
      "revision, hash";
  SUBCASE("behind the end") {
    const auto report =
        trail.after(fmt::format("INSERT INTO audit (organization_id, seq, {0}) SELECT 'acme', 11, {0} FROM audit WHERE "
                                "organization_id = 'globex' "
                                "AND seq = 4; UPDATE audit_heads h SET seq = 11, hash = a.hash FROM audit a WHERE "
                                "h.organization_id = 'acme' AND "
                                "a.organization_id = 'acme' AND a.seq = 11",
                                columns));
    CHECK(fault_text(chain(report, "acme")) == fault_text(ChainFault::Kind::foreign, 11));
    CHECK(chain(report, "acme").fault->text.find("row 4 of organization \"globex\"") != std::string::npos);
    CHECK_FALSE(chain(report, "globex").fault);
  }
  SUBCASE("over a row in the middle") {
    const auto report = trail.after(fmt::format(
        "UPDATE audit SET ({0}) = (SELECT {0} FROM audit WHERE organization_id = 'globex' AND seq = 4) WHERE "
        "organization_id = 'acme' AND seq = 7",
        columns));
    CHECK(fault_text(chain(report, "acme")) == fault_text(ChainFault::Kind::foreign, 7));
  }
  SUBCASE("one of the same organization") {
    const auto report = trail.after(
        fmt::format("UPDATE audit SET ({0}) = (SELECT {0} FROM audit WHERE organization_id = 'acme' AND seq = 4) WHERE "
                    "organization_id = 'acme' AND seq = 7",
                    columns));
    CHECK(fault_text(chain(report, "acme")) == fault_text(ChainFault::Kind::copied, 7));
    CHECK(chain(report, "acme").fault->text.find("copy of row 4") != std::string::npos);
  }
}

TEST_CASE("a chain whose hashes were all made anew does not pass through the head that was kept elsewhere") {
  Tampered trail;
  // Who knows how hashes are made can write another chain that fits by itself; to this one's reader it is the same as
  // the true chain is to the head of another.
  trail.heads.at("acme") = {.seq = 9, .hash = sha256("of the row that was there")};
  const auto report = verified(trail.store, trail.heads);
  CHECK(fault_text(chain(report, "acme")) == fault_text(ChainFault::Kind::rewritten, 9));
}

TEST_CASE("a trail that grew since its head was saved still passes through it") {
  Tampered trail;
  Writer writer(trail.store.url());
  writer.create_plan("shop", "later", 1);
  const auto report = verified(trail.store, trail.heads);
  CHECK(report.good());
  CHECK(chain(report, "acme").end.seq == trail.heads.at("acme").seq + 1);
}

}  // namespace sluice::test
