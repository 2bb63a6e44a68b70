// What a statement does to which tables, in a few words: "SELECT policies", "INSERT versions INSERT audit". Spans have
// this instead of the statement.
//
// A summary is made of keywords and names of tables only. Literals, parameters and comments never get into it, so it
// holds no value that a request or a row brought, even if the statement's text does. A pure function.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace sluice::server::postgres {

inline constexpr std::size_t kMaxSummaryBytes = 255;

// Of a statement that writes, the writes; of one that only reads, the tables that it reads. Of other statements, and
// of those without a table, the first keyword. The first of several statements stands for all.
std::string summary_of(std::string_view sql);

// The first keyword of a summary.
std::string_view operation_of(std::string_view summary);

}  // namespace sluice::server::postgres
