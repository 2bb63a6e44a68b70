// Reads the user and password for one connect, from options or from files.
//
// Thread safety: pure functions over files. No error text holds any content of a file.
#pragma once

#include <string>
#include <string_view>

#include "common/base/error.hpp"
#include "common/redis/client.hpp"
#include "common/redis/handshake.hpp"

namespace sluice::redis {

// The login that `options` describes. Reads Options::password_file or login_file at each call, so that a rotated
// password is used from the next connect on. Blocks on a small local file.
// Errors: `no_login` (login_file does not exist yet); `credentials` (a file is unreadable, empty, or above 4 KiB, or
// login_file has no second line).
Result<Login> read_login(const Options& options);

// The content of a password file, without trailing line ends. Error: `credentials`.
Result<std::string> read_password_file(const std::string& path);

// The content of a login file: the user ("" is Redis' default user) on the first line, the password on the second.
// Error `credentials`: the password is empty, the user or the password holds a line end, or the content would be above
// 4 KiB.
Result<std::string> write_login_file(std::string_view user, std::string_view password);

}  // namespace sluice::redis
