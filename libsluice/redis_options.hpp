// What a program says of its Redis, as the client of Redis wants it.
#pragma once

#include <expected>

#include "common/redis/client.hpp"
#include "sluice/engine.hpp"

namespace sluice::lib {

// REQUIRES: `redis.url` is not empty.
std::expected<redis::Options, v1::Status> redis_options(const v1::Redis& redis);

}  // namespace sluice::lib
