// The user and password of one connect.
#pragma once

#include <string>
#include <string_view>

#include "common/base/error.hpp"
#include "common/redis/client.hpp"
#include "common/redis/handshake.hpp"

namespace sluice::redis {

// Reads Options::password_file or login_file where one is named, anew at each call: a rotated password counts from the
// next connect on. Blocking, of a small local file.
// Errors: `no_login` (there is no login_file yet); `credentials` (unreadable, empty, or larger than 4 KiB). No text
// holds content of a file.
Result<Login> read_login(const Options& options);

// A file that holds a password; line ends at its end are not part of it. Errors: as of read_login.
Result<std::string> read_password_file(const std::string& path);

// What a login file holds: the user ("" is the default one) on the first line, the password on the second. Error:
// `credentials`; such a login cannot be written so.
Result<std::string> write_login_file(std::string_view user, std::string_view password);

}  // namespace sluice::redis
