// `sluice-server audit verify`: what it prints, what it writes, and how it ends.
#include "server/audit/command.hpp"

#include <doctest/doctest.h>

#include <fstream>
#include <sstream>
#include <string>

#include <fmt/core.h>

#include "server/audit/saved_heads.hpp"
#include "tests/integration/audit/store.hpp"
#include "tests/integration/support/temporary_folder.hpp"

namespace sluice::test {
namespace {

struct Run {
  int status;
  std::string out;
  std::string errors;
};

Run verify(const server::audit::AuditVerifyOptions& options) {
  std::ostringstream out;
  std::ostringstream errors;
  const int status = server::audit::audit_verify(options, out, errors);
  return {.status = status, .out = out.str(), .errors = errors.str()};
}

std::string text_of(const std::string& path) {
  std::ifstream file(path);
  return {std::istreambuf_iterator<char>(file), {}};
}

struct Heads {
  TemporaryFolder folder;
  std::string path = (folder.path() / "heads.json").string();
};

}  // namespace

TEST_CASE("a whole trail: a line for each chain, and 0") {
  Store store;
  const Run run = verify({.database_url = store.url(), .head_file = {}, .write_head_file = {}});
  CHECK(run.status == 0);
  const std::string hash = store.tamper("SELECT encode(hash, 'hex') FROM audit_heads WHERE organization_id = 'acme'");
  CHECK(run.out.find("(platform): 1 rows, head 1 ") == 0);
  CHECK(run.out.find("\nacme: 3 rows, head 3 " + hash + "\n") != std::string::npos);
  CHECK(run.out.find("6 rows in 3 chains: the audit trail is intact.") != std::string::npos);
  CHECK(run.errors.empty());
}

TEST_CASE("the owner verifies as well: row-level security hides nothing from whom it would hide everything") {
  Store store;
  CHECK(
      verify({.database_url = store.url("sluice_owner"), .head_file = {}, .write_head_file = {}}).out.find("6 rows") !=
      std::string::npos);
}

TEST_CASE("a broken trail: a line for each fault, the first bad row, and 1") {
  Store store;
  store.tamper("UPDATE audit SET actor_id = 'x' WHERE organization_id IN ('acme', 'globex') AND seq = 2");
  const Run run = verify({.database_url = store.url(), .head_file = {}, .write_head_file = {}});
  CHECK(run.status == 1);
  CHECK(run.out.find("acme: BROKEN at row 2: ") != std::string::npos);
  CHECK(run.out.find("globex: BROKEN at row 2: ") != std::string::npos);
  CHECK(run.out.find("the first bad row is row 2 of acme.") != std::string::npos);
}

TEST_CASE("tables that do not say what the trail says: a line for each, and 1") {
  Store store;
  store.tamper("UPDATE tenants SET document = '{\"id\":\"shop\",\"mode\":\"off\"}' WHERE id = 'shop'");
  const Run run = verify({.database_url = store.url(), .head_file = {}, .write_head_file = {}});
  CHECK(run.status == 1);
  CHECK(run.out.find("DISAGREES: version 1 of tenant \"shop\"") != std::string::npos);
}

TEST_CASE("a name that somebody wrote into the trail cannot drive the terminal it is shown on") {
  Store store;
  store.tamper("UPDATE audit SET organization_id = E'a\\x1b[2J' WHERE organization_id = 'globex'");
  const Run run = verify({.database_url = store.url(), .head_file = {}, .write_head_file = {}});
  CHECK(run.status == 1);
  CHECK(run.out.find('\x1b') == std::string::npos);
}

TEST_CASE("heads that were written are read again, and tell a trail whose end was cut off") {
  Store store;
  Heads heads;
  REQUIRE(verify({.database_url = store.url(), .head_file = {}, .write_head_file = heads.path}).status == 0);
  const auto saved = server::audit::read_saved_heads(heads.path);
  REQUIRE(saved);
  CHECK(saved->size() == 3);
  CHECK(saved->at("acme").seq == 3);
  CHECK(verify({.database_url = store.url(), .head_file = heads.path, .write_head_file = heads.path}).status == 0);

  store.tamper(
      "DELETE FROM audit WHERE organization_id = 'acme' AND seq = 3; UPDATE audit_heads h SET seq = 2, hash = "
      "a.hash FROM audit a WHERE a.seq = 2 AND (a.organization_id, h.organization_id) = ('acme', 'acme')");
  const std::string before = text_of(heads.path);
  const Run run = verify({.database_url = store.url(), .head_file = heads.path, .write_head_file = heads.path});
  CHECK(run.status == 1);
  CHECK(run.out.find("acme: BROKEN at row 3: row 3 missing at the end") != std::string::npos);
  CHECK(text_of(heads.path) == before);  // a broken trail's heads are not worth keeping
}

TEST_CASE("heads that cannot be read or written: what is wrong, and 2") {
  Store store;
  Heads heads;
  const auto run_with = [&](const std::string& text) {
    std::ofstream(heads.path) << text;
    return verify({.database_url = store.url(), .head_file = heads.path, .write_head_file = {}});
  };
  const std::string hash(64, 'a');
  const std::vector<std::pair<std::string, std::string>> faulty = {
      {"", "is empty"},
      {"{", "line 1"},
      {"[]", "object"},
      {"{}", "heads"},
      {R"({"heads":{}})", "/heads"},
      {R"({"heads":[{}]})", "/heads/0/organization_id"},
      {R"({"heads":[{"organization_id":"acme","seq":0,"hash":")" + hash + "\"}]}", "/heads/0/seq"},
      {R"({"heads":[{"organization_id":"acme","seq":1,"hash":"abc"}]})", "/heads/0/hash"},
      {R"({"heads":[{"organization_id":"A","seq":1,"hash":")" + hash + "\"}]}", "/heads/0/organization_id"},
      {R"({"heads":[],"more":1})", "/more"},
      {fmt::format(R"({{"heads":[{0},{0}]}})", R"({"organization_id":"acme","seq":1,"hash":")" + hash + "\"}"),
       "/heads/1/organization_id"},
  };
  for (const auto& [text, expected] : faulty) {
    CAPTURE(text);
    const Run run = run_with(text);
    CHECK(run.status == 2);
    CHECK(run.out.empty());
    CAPTURE(run.errors);
    CHECK(run.errors.find(heads.path) != std::string::npos);
    CHECK(run.errors.find(expected) != std::string::npos);
  }
  const std::string nowhere = (heads.folder.path() / "no/such/file").string();
  const Run unread = verify({.database_url = store.url(), .head_file = nowhere, .write_head_file = {}});
  CHECK(unread.status == 2);
  CHECK(unread.errors.find("No such file") != std::string::npos);
  const Run unwritten = verify({.database_url = store.url(), .head_file = {}, .write_head_file = nowhere});
  CHECK(unwritten.status == 2);
  CHECK(unwritten.errors.find(nowhere + ": No such file") != std::string::npos);
  const Run folder =
      verify({.database_url = store.url(), .head_file = heads.folder.path().string(), .write_head_file = {}});
  CHECK(folder.status == 2);
}

TEST_CASE("no database, or one without a schema: what is wrong, and 2") {
  const Run away =
      verify({.database_url = "postgresql:///x?host=/nonexistent", .head_file = {}, .write_head_file = {}});
  CHECK(away.status == 2);
  CHECK(away.errors.find("could not be verified") != std::string::npos);
  TestDatabase empty;
  CHECK(verify({.database_url = empty.url(), .head_file = {}, .write_head_file = {}}).status == 2);
}

}  // namespace sluice::test
