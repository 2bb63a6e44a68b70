#include "server/redis_users/node_users.hpp"

#include <algorithm>
#include <string_view>
#include <unordered_set>
#include <utility>

#include "server/redis_users/secret.hpp"

namespace sluice::server::redis_users {
namespace {

// What the user AGENT of images/redis/users.acl may do, but with functions instead of scripts of its own.
constexpr std::string_view kCommands =
    "-@all +ping +info +select +client|setname +fcall +cluster|slots +asking +time +get +set +del +pexpire +lindex "
    "+llen +lset +ltrim +rpush +zadd +zincrby +zrange +zrangebyscore +zrevrangebyscore +zrem +zremrangebyscore +zscore";

void add_words(std::vector<std::string>& words, std::string_view text) {
  while (!text.empty()) {
    const std::size_t end = std::min(text.find(' '), text.size());
    words.emplace_back(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
}

// One command changes everything at once, or nothing. Connections of the user stay open.
std::vector<std::string> set_user(const std::string& name, const UserLine& line, bool alone) {
  std::vector<std::string> words{"ACL", "SETUSER", name, "on"};
  if (alone) words.emplace_back("resetpass");
  words.push_back(line.hash);
  if (!line.former_hash.empty()) words.push_back(line.former_hash);
  words.emplace_back("resetkeys");
  add_words(words, line.keys);
  words.emplace_back("resetchannels");
  add_words(words, kCommands);
  return words;
}

}  // namespace

std::vector<NodeUsers::Change> NodeUsers::changes(const UserLines& wanted) const {
  std::vector<Change> due;
  for (const auto& [name, line] : wanted) {
    const auto written = written_.find(name);
    if (written != written_.end() && written->second == line) continue;
    // Another password of the same secret is one of another scope.
    const bool other_scope =
        written != written_.end() && written->second.generation == line.generation && written->second.hash != line.hash;
    due.push_back({name, line, set_user(name, line, line.alone || other_scope)});
  }
  const auto remove = [&](const std::string& name) {
    if (!wanted.contains(name)) due.push_back({name, std::nullopt, {"ACL", "DELUSER", name}});
  };
  for (const auto& [name, line] : written_) remove(name);
  std::ranges::for_each(strangers_, remove);
  return due;
}

void NodeUsers::done(Change change) {
  strangers_.erase(change.name);
  if (change.line) {
    written_.insert_or_assign(std::move(change.name), *std::move(change.line));
  } else {
    written_.erase(change.name);
  }
}

void NodeUsers::listed(std::span<const std::string> names) {
  const std::unordered_set<std::string_view> found(names.begin(), names.end());
  std::erase_if(written_, [&](const auto& each) { return !found.contains(each.first); });
  strangers_.clear();
  for (const std::string& name : names) {
    if (name.starts_with(kUserPrefix) && !written_.contains(name)) strangers_.insert(name);
  }
}

void NodeUsers::forget_shared() {
  std::erase_if(written_, [](const auto& each) { return !each.second.alone; });
}

}  // namespace sluice::server::redis_users
