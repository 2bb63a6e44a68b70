// The login that the server gives agents for the Redis that holds the counters. The password's file may be replaced
// while the server runs.
//
// Thread safety: any thread.
#pragma once

#include <string>
#include <utility>

#include "common/base/error.hpp"

namespace sluice::server::sync {

class CountersLogin {
 public:
  // `password_file`: "" means that agents get no login.
  CountersLogin(std::string user, std::string password_file)
      : user_(std::move(user)), password_file_(std::move(password_file)) {}

  bool given() const { return !password_file_.empty(); }

  // Returns {"username":…,"password":…}. Reads the file at each call, and blocks. Error `credentials`: the file is
  // unreadable, empty or too large; the error's text contains nothing of the file. REQUIRES: given().
  Result<std::string> document() const;

 private:
  std::string user_;
  std::string password_file_;
};

}  // namespace sluice::server::sync
