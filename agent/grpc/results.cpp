#include "agent/grpc/results.hpp"

#include <fmt/core.h>
#include <protozero/pbf_writer.hpp>

#include "agent/grpc/decision_message.hpp"
#include "common/domain/check_batch.hpp"

namespace sluice::agent::rpc {

std::optional<Refused> read_one(std::span<char> bytes, const decide::Caller& caller, CheckMessage& out) {
  if (bytes.size() > kMaxCheckBytes) {
    return refused_for({{.status = 422,
                         .pointer = "",
                         .text = fmt::format("a check is at most 16 KiB long; it is {} bytes long", bytes.size())}},
                       {});
  }
  const auto faults = read_check(bytes, out);
  if (!faults.empty()) return refused_for(faults, out.request.request_id);
  if (out.request.wait) {  // a held check would hold the results of the others
    return refused_for(
        {{.status = 422,
          .pointer = "/wait",
          .text = "must not be in a batch or a stream, which are answered at once; leave it out, or send "
                  "the check alone with Check"}},
        out.request.request_id);
  }
  if (caller.is_of(out.request.tenant_id)) return std::nullopt;
  return refused_for({.kind = decide::Refusal::Kind::other_tenant, .request_id = out.request.request_id});
}

void write_result(const Decision& decision, std::string& out, std::string& part) {
  part.clear();
  write_check_response(decision, part);
  out.clear();
  protozero::pbf_writer(out).add_message(1, part);
}

void write_result(const Refused& refused, StatusWriter& statuses, std::string& out, std::string& part) {
  part.clear();
  statuses.write_refusal(refused, part);
  out.clear();
  protozero::pbf_writer(out).add_message(2, part);
}

}  // namespace sluice::agent::rpc
