// The login to the counters' Redis that agents are handed: its user, and its password out of a file that may be
// replaced while the server runs.
//
// Thread safety: none needed; it keeps nothing.
#pragma once

#include <string>
#include <utility>

#include "common/base/error.hpp"

namespace sluice::server::sync {

class CountersLogin {
 public:
  // `password_file` "": there is none to hand out.
  CountersLogin(std::string user, std::string password_file)
      : user_(std::move(user)), password_file_(std::move(password_file)) {}

  bool given() const { return !password_file_.empty(); }

  // {"username":…,"password":…}; read anew each time. Blocking, of a small local file. Error: `credentials`; its text
  // holds no content of the file. REQUIRES: given().
  Result<std::string> document() const;

 private:
  std::string user_;
  std::string password_file_;
};

}  // namespace sluice::server::sync
