#include "common/grpc/error_details.hpp"

#include <protozero/pbf_writer.hpp>

namespace sluice::grpc {

using protozero::pbf_writer;

void ErrorDetails::begin(Code code, std::string_view message) {
  status_.clear();
  detail_.clear();
  pbf_writer status(status_);
  status.add_int32(1, static_cast<std::int32_t>(code));
  status.add_string(2, message.data(), message.size());
}

void ErrorDetails::add(std::string_view type) {
  any_.clear();
  pbf_writer any(any_);
  std::string url("type.googleapis.com/google.rpc.");
  url += type;
  any.add_string(1, url);
  any.add_bytes(2, detail_);
  pbf_writer(status_).add_message(3, any_);
  detail_.clear();
}

void ErrorDetails::add_retry_info(std::int64_t delay_us) {
  {
    pbf_writer info(detail_);
    pbf_writer delay(info, 1);
    delay.add_int64(1, delay_us / 1'000'000);
    delay.add_int32(2, static_cast<std::int32_t>(delay_us % 1'000'000 * 1000));
  }
  add("RetryInfo");
}

void ErrorDetails::add_quota_failure(std::string_view subject, std::string_view description) {
  {
    pbf_writer failure(detail_);
    pbf_writer violation(failure, 1);
    violation.add_string(1, subject.data(), subject.size());
    violation.add_string(2, description.data(), description.size());
  }
  add("QuotaFailure");
}

void ErrorDetails::add_error_info(std::string_view reason, std::string_view domain,
                                  std::initializer_list<Pair> metadata) {
  {
    pbf_writer info(detail_);
    info.add_string(1, reason.data(), reason.size());
    info.add_string(2, domain.data(), domain.size());
    for (const auto& [name, value] : metadata) {
      if (value.empty()) continue;
      pbf_writer entry(info, 3);
      entry.add_string(1, name.data(), name.size());
      entry.add_string(2, value.data(), value.size());
    }
  }
  add("ErrorInfo");
}

void ErrorDetails::add_field_violation(std::string_view field, std::string_view description) {
  pbf_writer request(detail_);
  pbf_writer violation(request, 1);
  violation.add_string(1, field.data(), field.size());
  violation.add_string(2, description.data(), description.size());
}

void ErrorDetails::end_bad_request() { add("BadRequest"); }

}  // namespace sluice::grpc
