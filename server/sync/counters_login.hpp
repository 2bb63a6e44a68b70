// The login that the server gives agents for the Redis that holds the counters.
//
// Thread safety: any thread.
#pragma once

#include <string>
#include <utility>

#include "common/base/error.hpp"
#include "server/sync/fleet_port.hpp"

namespace sluice::server::sync {

class CountersLogin {
 public:
  virtual ~CountersLogin() = default;

  // Whether an agent must be able to call functions of Redis to use its login.
  virtual bool needs_functions() const = 0;

  // Returns the answer for an agent as JSON. May block on a small local file. Error `credentials`: a file is
  // unreadable, empty, too large or too small; the error's text contains nothing of the file.
  virtual Result<std::string> document(const AgentCaller& caller) const = 0;
};

// One login for all agents: {"username":…,"password":…}. The password's file may be replaced while the server runs.
class FixedLogin final : public CountersLogin {
 public:
  FixedLogin(std::string user, std::string password_file)
      : user_(std::move(user)), password_file_(std::move(password_file)) {}

  bool needs_functions() const override { return false; }
  Result<std::string> document(const AgentCaller& caller) const override;

 private:
  const std::string user_;
  const std::string password_file_;
};

}  // namespace sluice::server::sync
