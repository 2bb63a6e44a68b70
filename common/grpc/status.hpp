// The outcome of a call, and how it is written into trailers.
//
// Thread safety: pure functions.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace sluice::grpc {

// The numbers are those of gRPC.
enum class Code : std::uint8_t {
  ok,
  cancelled,
  unknown,
  invalid_argument,
  deadline_exceeded,
  not_found,
  already_exists,
  permission_denied,
  resource_exhausted,
  failed_precondition,
  aborted,
  out_of_range,
  unimplemented,
  internal,
  unavailable,
  data_loss,
  unauthenticated,
};
inline constexpr auto kCodeNames = std::to_array<std::string_view>(
    {"OK", "CANCELLED", "UNKNOWN", "INVALID_ARGUMENT", "DEADLINE_EXCEEDED", "NOT_FOUND", "ALREADY_EXISTS",
     "PERMISSION_DENIED", "RESOURCE_EXHAUSTED", "FAILED_PRECONDITION", "ABORTED", "OUT_OF_RANGE", "UNIMPLEMENTED",
     "INTERNAL", "UNAVAILABLE", "DATA_LOSS", "UNAUTHENTICATED"});
inline constexpr std::size_t kCodes = kCodeNames.size();
static_assert(static_cast<std::size_t>(Code::unauthenticated) + 1 == kCodes);

inline std::string_view to_string(Code code) { return kCodeNames[static_cast<std::size_t>(code)]; }
std::string_view number_of(Code code);  // "0" to "16"

struct Status {
  Code code = Code::ok;
  std::string_view message = {};  // for people
  std::string_view details = {};  // a serialized google.rpc.Status; "" if there is none
};

// Of a call for which an allocation failed.
inline constexpr Status kNoMemory{Code::unavailable, "There was no memory left for this request."};

// Appends the value of grpc-message: visible ASCII without '%', the rest percent-encoded.
void append_message(std::string_view message, std::string& out);

// Appends the value of a binary header such as grpc-status-details-bin: base64 without padding.
void append_binary(std::string_view bytes, std::string& out);

}  // namespace sluice::grpc
