// The least that a script can do and still be a rate limit by Redis' clock.
#pragma once

#include <string_view>

namespace sluice::bench {

// A token bucket in one number: when it will be full again, in us. ARGV: us a token takes, us the whole bucket takes.
inline constexpr std::string_view kFloorScript = R"__LUA__(#!lua
local clock = redis.call('TIME')
local now = clock[1] * 1000000 + clock[2]
local full = tonumber(redis.call('GET', KEYS[1]) or 0)
if full < now then full = now end
full = full + ARGV[1]
if full - now > tonumber(ARGV[2]) then return 0 end
redis.call('SET', KEYS[1], string.format('%.0f', full), 'PX', math.ceil((full - now) / 1000))
return 1
)__LUA__";

}  // namespace sluice::bench
