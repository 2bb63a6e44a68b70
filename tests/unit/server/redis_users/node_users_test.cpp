// What is written to one Redis, and when.
#include "server/redis_users/node_users.hpp"

#include <doctest/doctest.h>

#include <algorithm>

#include <fmt/ranges.h>

namespace sluice::server::redis_users {
namespace {

UserLine line(std::string hash, std::string generation = "g1", bool alone = true) {
  return {.keys = "~sl:{shop|*",
          .generation = std::move(generation),
          .hash = std::move(hash),
          .former_hash = {},
          .alone = alone};
}

struct World {
  // Carries out what is due. Returns it, without the rights that all users have.
  std::vector<std::string> carry_out() {
    std::vector<std::string> texts;
    for (NodeUsers::Change& change : users.changes(wanted)) {
      std::string text = fmt::format("{}", fmt::join(change.words, " "));
      texts.push_back(text.substr(0, text.find(" resetchannels")));
      users.done(std::move(change));
    }
    return texts;
  }
  void list(std::vector<std::string> names) { users.listed(names); }

  NodeUsers users;
  UserLines wanted;
};
using Texts = std::vector<std::string>;

}  // namespace

TEST_CASE_FIXTURE(World, "a new Redis gets every user once") {
  wanted = {{"sluice-agent-t-a", line("#a")}, {"sluice-agent-t-b", line("#b")}};
  CHECK(carry_out() == Texts{"ACL SETUSER sluice-agent-t-a on resetpass #a resetkeys ~sl:{shop|*",
                             "ACL SETUSER sluice-agent-t-b on resetpass #b resetkeys ~sl:{shop|*"});
  CHECK(carry_out().empty());
}

TEST_CASE_FIXTURE(World, "a user may call functions, and neither bring scripts nor look at keys of others") {
  wanted = {{"sluice-agent-t-a", line("#a")}};
  const auto words = users.changes(wanted).front().words;
  const auto has = [&](std::string_view word) { return std::ranges::find(words, word) != words.end(); };
  CHECK(has("-@all"));
  CHECK(has("+fcall"));
  for (const std::string_view word :
       {"+evalsha", "+eval", "+script|load", "+function|load", "+keys", "+scan", "+@all"}) {
    CHECK_FALSE(has(word));
  }
}

TEST_CASE_FIXTURE(World, "while agents change their passwords, those that others have added stay good") {
  wanted = {{"sluice-agent-t-a", line("#a")}};
  carry_out();
  wanted["sluice-agent-t-a"] = line("#a2", "g2", false);
  wanted["sluice-agent-t-a"].former_hash = "#a";
  CHECK(carry_out() == Texts{"ACL SETUSER sluice-agent-t-a on #a2 #a resetkeys ~sl:{shop|*"});
  CHECK(carry_out().empty());
  users.forget_shared();
  CHECK(carry_out().size() == 1);
  wanted["sluice-agent-t-a"] = line("#a2", "g2");
  CHECK(carry_out() == Texts{"ACL SETUSER sluice-agent-t-a on resetpass #a2 resetkeys ~sl:{shop|*"});
  users.forget_shared();
  CHECK(carry_out().empty());
}

TEST_CASE_FIXTURE(World, "a user of another scope loses its passwords at once") {
  wanted = {{"sluice-agent-b-x", line("#a", "g1", false)}};
  carry_out();
  wanted["sluice-agent-b-x"].hash = "#b";
  wanted["sluice-agent-b-x"].keys = "~sl:{lab|*";
  CHECK(carry_out() == Texts{"ACL SETUSER sluice-agent-b-x on resetpass #b resetkeys ~sl:{lab|*"});
}

TEST_CASE_FIXTURE(World, "users that are not wanted any more are deleted, and nobody else's") {
  wanted = {{"sluice-agent-t-a", line("#a")}, {"sluice-agent-t-b", line("#b")}};
  list({"default", "sluice-agent", "sluice-server", "sluice-agent-t-old"});
  CHECK(carry_out().back() == "ACL DELUSER sluice-agent-t-old");
  wanted.erase("sluice-agent-t-a");
  CHECK(carry_out() == Texts{"ACL DELUSER sluice-agent-t-a"});
  CHECK(carry_out().empty());
}

TEST_CASE_FIXTURE(World, "a user that somebody deleted is written again") {
  wanted = {{"sluice-agent-t-a", line("#a")}, {"sluice-agent-t-b", line("#b")}};
  carry_out();
  list({"default", "sluice-agent-t-b"});
  CHECK(carry_out() == Texts{"ACL SETUSER sluice-agent-t-a on resetpass #a resetkeys ~sl:{shop|*"});
}

TEST_CASE_FIXTURE(World, "a user without keys is written without patterns") {
  wanted = {{"sluice-agent-t-a", line("#a")}};
  wanted["sluice-agent-t-a"].keys.clear();
  CHECK(carry_out() == Texts{"ACL SETUSER sluice-agent-t-a on resetpass #a resetkeys"});
}

}  // namespace sluice::server::redis_users
