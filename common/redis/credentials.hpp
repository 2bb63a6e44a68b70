// Reads the user and password for a connection, from options or from files. No error text holds any content of a file.
#pragma once

#include <string>
#include <string_view>

#include "common/base/error.hpp"
#include "common/redis/client.hpp"
#include "common/redis/handshake.hpp"

namespace sluice::redis {

// Blocks on a small local file.
// Errors: `no_login` (login_file does not exist yet); `credentials` (a file is unreadable, empty, or above 4 KiB, or
// login_file has no second line, or has a third one that is not kFunctionsLine).
Result<Login> read_login(const Options& options);

// The third line of a login file whose user may call functions, but bring no scripts of its own.
inline constexpr std::string_view kFunctionsLine = "functions";

// Returns the content without trailing line ends. Error: `credentials`.
Result<std::string> read_password_file(const std::string& path);

// Returns `user` and `password` in the format of a login file; writes no file. The user "" is Redis' default user.
// Error: `credentials` (empty password, a line end in user or password, or more than 4 KiB).
Result<std::string> write_login_file(std::string_view user, std::string_view password, bool functions = false);

}  // namespace sluice::redis
