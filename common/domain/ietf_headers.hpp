// The rate limit headers of draft-ietf-httpapi-ratelimit-headers: RateLimit-Policy and RateLimit. The draft still
// changes, and everything about it is here.
//
// Revision 08 to 10: RateLimit has the parameters r (remaining) and t (seconds until the whole limit is back). The next
// revision, as the working group has proposed it, calls them a (available) and w (window), adds c (what the
// request consumed, nothing if it was refused), and names what a counter counts by in RateLimit-Partition. All of them
// use structured fields (RFC 9651).
#pragma once

#include <cstdint>
#include <string>

#include "common/domain/decision.hpp"

namespace sluice {

// Appends header lines, each with its CRLF. `only_remaining`: no RateLimit-Policy, and of RateLimit only what remains.
// REQUIRES: a limit was judged.
void add_ietf_headers(const Decision& decision, bool only_remaining, std::string& out);
void add_next_ietf_headers(const Decision& decision, bool only_remaining, std::string& out);

// Appends `key` and the value, limited to what a structured field can hold: 0 to 15 digits.
void add_structured(std::string& out, std::string_view key, std::int64_t value);

}  // namespace sluice
