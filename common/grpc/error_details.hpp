// Writes a google.rpc.Status with its details, for Status::details.
//
// Thread safety: none. Keeps its memory.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <string>
#include <string_view>
#include <utility>

#include "common/grpc/status.hpp"

namespace sluice::grpc {

class ErrorDetails {
 public:
  using Pair = std::pair<std::string_view, std::string_view>;

  // Begins the details of a status with this code and this message.
  void begin(Code code, std::string_view message);

  void add_retry_info(std::int64_t delay_us);
  // `description` says which limit denied; `subject` is what it counts for.
  void add_quota_failure(std::string_view subject, std::string_view description);
  void add_error_info(std::string_view reason, std::string_view domain, std::initializer_list<Pair> metadata);
  // All violations of a BadRequest, one after the other, then end_bad_request().
  void add_field_violation(std::string_view field, std::string_view description);
  void end_bad_request();

  // Valid until begin().
  std::string_view bytes() const { return status_; }

 private:
  void add(std::string_view type);  // with detail_ as the value

  std::string status_;
  std::string detail_;
  std::string any_;
};

}  // namespace sluice::grpc
