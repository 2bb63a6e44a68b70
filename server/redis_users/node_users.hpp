// What this server knows of the agents' users in one Redis, and the commands that make them what they must be. Pure.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <vector>

namespace sluice::server::redis_users {

// One user, as a server wants it in Redis.
struct UserLine {
  std::string keys;         // WantedUser::keys
  std::string generation;   // of the secret
  std::string hash;         // password_hash() of the password
  std::string former_hash;  // of the password by the former secret, while that is good too; else ""
  // No other password is good. Otherwise passwords that other servers have added stay: their file with the secret may
  // change earlier or later than this server's.
  bool alone = false;

  bool operator==(const UserLine&) const = default;
};
using UserLines = std::map<std::string, UserLine>;  // by the user's name

class NodeUsers {
 public:
  struct Change {
    std::string name;
    std::optional<UserLine> line;  // nullopt: the user is deleted
    std::vector<std::string> words;
  };

  // All changes that are due, deletions last.
  std::vector<Change> changes(const UserLines& wanted) const;
  // Redis has carried out the change.
  void done(Change change);
  // Which users Redis has: users that somebody deleted are written again, and unknown ones with our prefix are deleted.
  void listed(std::span<const std::string> names);
  // Writes users for which other passwords are good once more: a server with an older secret may have removed this
  // one's.
  void forget_shared();

 private:
  UserLines written_;
  std::set<std::string> strangers_;  // in Redis, and not in written_
};

}  // namespace sluice::server::redis_users
