// One recorded check as bytes: what is needed to judge it again, and what became of it.
//
// Thread safety: pure functions, which allocate nothing, except that read_request() fills the vectors of its result.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "common/domain/check_request.hpp"

namespace sluice::whatif {

// A larger check is not recorded.
inline constexpr std::size_t kMaxRecordBytes = std::size_t{8} << 10;

// The beginning of each record. Records begin at multiples of 8 bytes.
struct RecordHead {
  std::int64_t at_us = 0;    // on the clock of the counter store
  std::uint64_t tenant = 0;  // policy::TenantName::hash
  std::uint32_t bytes = 0;   // of the record, a multiple of 8
  bool allowed = false;      // what was answered
  bool batch = false;        // the check is one of a batch, which is never held
};
static_assert(sizeof(RecordHead) == 24);

// The size of the record of `request`, with its head.
std::size_t record_bytes(const CheckRequest& request);

// REQUIRES: head.bytes and the size of `out` are record_bytes(request).
void write_record(const RecordHead& head, const CheckRequest& request, std::span<char> out);

RecordHead read_head(const char* record);
// The texts of `out` point into the record. REQUIRES: `record` was written by write_record().
void read_request(const char* record, CheckRequest& out);

}  // namespace sluice::whatif
