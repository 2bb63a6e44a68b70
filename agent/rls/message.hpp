// The messages of Envoy's rate limit service (envoy.service.ratelimit.v3), without their encoding.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <boost/container/small_vector.hpp>

#include "common/rls_config/find_rule.hpp"

namespace sluice::agent::rls {

inline constexpr std::size_t kMaxRequestBytes = std::size_t{64} << 10;
inline constexpr std::size_t kMaxDescriptors = 100;  // of a request
inline constexpr std::size_t kMaxEntries = 32;       // of a descriptor

// A limit that the request brings.
struct LimitOverride {
  std::uint32_t requests_per_unit = 0;
  std::uint64_t unit = 0;  // a number of rls_config::Unit; any other number is refused
};

struct Descriptor {
  boost::container::small_vector<rls_config::Entry, 2> entries;  // more of them cost an allocation
  std::optional<LimitOverride> limit;
  std::optional<std::uint64_t> hits_addend;  // absent: that of the request; 0: only look
  bool is_negative_hits = false;
};

// The texts point into the bytes that the request was read from.
struct Request {
  std::string_view domain;
  std::vector<Descriptor> descriptors;
  std::uint32_t hits_addend = 0;  // 0 counts as 1

  // Keeps the memory for the next request.
  void clear() {
    domain = {};
    descriptors.clear();
    hits_addend = 0;
  }
};

enum class Code : std::uint8_t { unknown = 0, ok = 1, over_limit = 2 };
std::string_view to_string(Code code);

// The limit that a descriptor was judged by.
struct CurrentLimit {
  std::string_view name;  // "": none
  std::uint32_t requests_per_unit = 0;
  rls_config::Unit unit = rls_config::Unit::second;
};

struct Status {
  Code code = Code::ok;
  std::optional<CurrentLimit> limit;  // absent if no limit was judged
  std::uint32_t remaining = 0;
  std::int64_t reset_seconds = 0;  // until the window ends; only with a limit
};

struct Header {
  std::string name;
  std::string value;
};

// The texts point into the config and the request.
struct Response {
  Code code = Code::ok;
  std::vector<Status> statuses;  // one for each descriptor of the request, in its order
  std::vector<Header> headers;   // to add to the response
  std::string metadata;          // a JSON object; "": none
};

// Why a request gets no response. Each front end has one table that maps each kind to an answer of its protocol.
struct Refusal {
  enum class Kind : std::uint8_t {
    invalid,            // the caller's fault; `text` says which rule is broken
    no_config,          // no configuration is loaded
    overload,           // too many requests are in flight, or Redis is busy
    store_unavailable,  // the counter store did not answer; the request may have been charged
    out_of_memory,
  };
  Kind kind = Kind::invalid;
  std::string text;  // one sentence
};

}  // namespace sluice::agent::rls
