#include <array>
#include <string>

#include <fmt/core.h>

#include "common/base/text.hpp"
#include "libsluice/decision_of.hpp"

namespace sluice::lib {
namespace {

using Kind = decide::Refusal::Kind;
using v1::Code;

std::string_view text_of(CredentialFault fault) {
  switch (fault) {
    case CredentialFault::missing:
      return "api_key is empty: bring slk_<id>_<secret>, or leave it out and name the tenant";
    case CredentialFault::malformed:
      return "api_key is not an API key, or it is cut or mistyped: a key is slk_<id>_<secret>, as it was shown when it "
             "was made";
    case CredentialFault::wrong_kind:
      return "api_key is an admin or agent token, which checks do not accept: bring an API key, which begins with slk_";
    case CredentialFault::expired:
      return "The API key has expired: bring one that is valid, or let an administrator make one";
    case CredentialFault::unknown:
      break;
  }
  return "No policies in force have this API key: it is unknown, revoked or not yet in force";
}

std::string text_of(const decide::LimitFault& fault) {
  switch (fault.kind) {
    case decide::LimitFault::Kind::unknown:
      return fmt::format("limits.{}: there is no limit of this name in the plan that decides.{}", fault.name,
                         did_you_mean(fault.nearest));
    case decide::LimitFault::Kind::not_open:
      return fmt::format(
          "limits.{}: the plan has no max_override for this limit: leave the limit out, or let an administrator set "
          "max_override",
          fault.name);
    case decide::LimitFault::Kind::too_large:
      break;
  }
  return fmt::format("limits.{}: must be at most {}, the max_override of the plan", fault.name, fault.most);
}

// Those of limiter::describe() that would speak of an agent or its flags, in the words of a program.
std::string_view text_of(limiter::StoreFault fault) {
  using limiter::StoreFault;
  switch (fault) {
    case StoreFault::timeout:
      return "Redis did not answer within redis.deadline: try again, or set a longer one";
    case StoreFault::unavailable:
      return "there is no connection to Redis: the log says why; try again later";
    case StoreFault::breaker_open:
      return "Redis has failed so often that the engine asks it no more for a while: try again later";
    case StoreFault::queue_timeout:
      return "the call waited too long for its turn: try again later";
    case StoreFault::read_only:
      return "this is a replica of Redis, which cannot be written: name the primary in redis.url";
    case StoreFault::authentication:
      return "Redis refused the login, or the login may not run the script: see redis.password_file and redis.url";
    case StoreFault::no_function:
      return "Redis does not have the functions that the engine calls: let an administrator load them";
    default:
      return limiter::describe(fault);
  }
}

std::string missing_dimension(const decide::Refusal& refusal) {
  return fmt::format(
      "{0} is required: {1} {2} counts by it. Send it, or leave it out of the {1}'s key_by, or set its require_key_by "
      "to "
      "false, so that all checks without it share one counter",
      refusal.dimension, refusal.by_policy ? "policy" : "plan", quoted(refusal.counted_by));
}

}  // namespace

v1::Status status_of(const decide::Refusal& refusal) {
  switch (refusal.kind) {
    case Kind::unauthenticated:
      return {Code::unauthenticated, std::string(text_of(refusal.credential))};
    case Kind::no_policies:
      return {Code::unknown_tenant, "There are no policies yet, and so no tenants: load a bundle first"};
    case Kind::unknown_plan:
      return {Code::unknown_plan, "plan: names no plan of this tenant." + did_you_mean(refusal.nearest)};
    case Kind::missing_dimension:
      return {Code::missing_dimension, missing_dimension(refusal)};
    case Kind::other_tenant:
      return {Code::unknown_tenant, "tenant: is not the tenant of the API key; leave it out, it follows from the key"};
    case Kind::may_not_override:
      return {Code::invalid_request,
              "limits: needs an API key with may_override: leave it out, or let an administrator set may_override on "
              "the key"};
    case Kind::limits:
      return {Code::invalid_request, visible(text_of(refusal.limit_faults.front()))};
    case Kind::malformed_lease:
      return {Code::unknown_lease, "lease_id: is not a lease id; copy it from the check's decision"};
    case Kind::unknown_lease:
      return {Code::unknown_lease, "lease_id: the lease belongs to another tenant"};
    case Kind::out_of_memory:
      break;
  }
  return out_of_memory();
}

// The texts fit into the string object, so they need no memory.
v1::Status out_of_memory() noexcept { return {Code::out_of_memory, "out of memory"}; }
v1::Status stopped() noexcept { return {Code::stopped, "engine closed"}; }
v1::Status clock_failed() noexcept { return {Code::invalid_options, "clock_us throws"}; }

v1::Status system_refuses(const std::exception& error) noexcept {
  try {
    return {
        Code::unreachable,
        visible(fmt::format("the operating system refuses what the engine needs: {}: allow the process more threads "
                            "and open files",
                            error.what()))};
  } catch (const std::bad_alloc&) {
    return out_of_memory();
  }
}

v1::Status status_of(limiter::StoreFault fault) {
  return {Code::unreachable, fmt::format("redis: {}", text_of(fault))};
}

}  // namespace sluice::lib
