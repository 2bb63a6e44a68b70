// The user and password of one connect.
#pragma once

#include "common/base/error.hpp"
#include "common/redis/client.hpp"
#include "common/redis/handshake.hpp"

namespace sluice::redis {

// Reads Options::password_file where one is named, anew at each call: a rotated password counts from the next connect
// on. Line ends at its end are not part of the password. Blocking, of a small local file.
// Error: `credentials` (unreadable, empty, or larger than 4 KiB). Its text holds no content of the file.
Result<Login> read_login(const Options& options);

}  // namespace sluice::redis
