#include "libsluice/c_convert.hpp"

#include <algorithm>
#include <type_traits>

namespace sluice::lib {
namespace {

// Sizes of the structs in the first version of this major version: no caller has smaller ones.
constexpr std::size_t kFirstRequest = offsetof(sluice_request, headers) + sizeof(bool);
constexpr std::size_t kFirstDecision = offsetof(sluice_decision, headers) + sizeof(sluice_text);

// The texts that both structs have under the same name. Written out: a loop over them is slower.
// clang-format off
#define SLUICE_TEXTS(EACH) \
  EACH(tenant) EACH(api_key) EACH(resource) EACH(subject) EACH(method) EACH(endpoint) \
  EACH(user) EACH(client) EACH(client_id) EACH(source_ip) EACH(application) EACH(service) \
  EACH(environment) EACH(signal) EACH(operation) EACH(region) EACH(severity) EACH(span_name) \
  EACH(topic) EACH(consumer_group) EACH(job_type) EACH(priority) EACH(plan) EACH(request_id)
// clang-format on

static_assert(std::is_trivially_copyable_v<sluice_request> && std::is_standard_layout_v<sluice_request>);
static_assert(std::is_trivially_copyable_v<sluice_decision> && std::is_standard_layout_v<sluice_decision>);
static_assert(std::is_trivially_destructible_v<v1::Named> && std::is_trivially_destructible_v<v1::Amount>);
static_assert(static_cast<int>(v1::Code::stopped) == SLUICE_STOPPED);
static_assert(static_cast<int>(v1::Action::shadow_only) == SLUICE_SHADOW_ONLY);
static_assert(static_cast<int>(v1::Reason::overload) == SLUICE_OVERLOAD);
static_assert(static_cast<int>(v1::Level::error) == SLUICE_ERROR);
static_assert(v1::kNever.count() == SLUICE_NEVER);

v1::Status refused(const char* rule) { return {v1::Code::invalid_request, rule}; }

// Whether a newer program has set members that this library does not know.
bool has_unknown_members(const sluice_request& request) {
  const char* const bytes = reinterpret_cast<const char*>(&request);
  return std::any_of(bytes + sizeof(sluice_request), bytes + request.struct_size, [](char byte) { return byte != 0; });
}

template <class T>
bool readable(const T* elements, std::size_t count) {
  return elements != nullptr || count == 0;
}

}  // namespace

RequestFromC::RequestFromC(const sluice_request& given, v1::Status& status) {
  const sluice_request* from = &given;
  sluice_request whole;
  if (given.struct_size != sizeof(sluice_request)) [[unlikely]] {
    if (given.struct_size < kFirstRequest) {
      status = refused("struct_size: smaller than any sluice_request: begin with sluice_request_init(&r, sizeof r)");
      return;
    }
    if (given.struct_size > sizeof(sluice_request)) {
      if (has_unknown_members(given)) {
        status = refused(
            "struct_size: the program was compiled for a newer library, and sets members that this one does not know: "
            "install the newer library");
        return;
      }
    } else {
      sluice_request_init(&whole, sizeof whole);
      std::memcpy(&whole, &given, given.struct_size);
      from = &whole;
    }
  }
  if (!readable(from->tags, from->tag_count) || !readable(from->attributes, from->attribute_count) ||
      !readable(from->costs, from->cost_count) || !readable(from->limits, from->limit_count)) [[unlikely]] {
    status = refused("tags, attributes, costs, limits: NULL although its count is not 0");
    return;
  }
#define SLUICE_FROM_C(name) request_.name = view_of(from->name);
  SLUICE_TEXTS(SLUICE_FROM_C)
#undef SLUICE_FROM_C
  if (from->tag_count > 0) request_.tags = tags_.of(std::span(from->tags, from->tag_count));
  if (from->attribute_count > 0)
    request_.attributes = attributes_.of(std::span(from->attributes, from->attribute_count));
  if (from->cost_count > 0) request_.costs = costs_.of(std::span(from->costs, from->cost_count));
  if (from->limit_count > 0) request_.limits = limits_.of(std::span(from->limits, from->limit_count));
  request_.cost = from->cost;
  request_.explain = from->explain;
  request_.headers = from->headers;
}

RequestToC::RequestToC(const v1::Request& from) {
  sluice_request_init(&request_, sizeof request_);
#define SLUICE_TO_C(name) request_.name = text_of(from.name);
  SLUICE_TEXTS(SLUICE_TO_C)
#undef SLUICE_TO_C
  request_.tags = tags_.of(from.tags).data();
  request_.tag_count = from.tags.size();
  request_.attributes = attributes_.of(from.attributes).data();
  request_.attribute_count = from.attributes.size();
  request_.costs = costs_.of(from.costs).data();
  request_.cost_count = from.costs.size();
  request_.limits = limits_.of(from.limits).data();
  request_.limit_count = from.limits.size();
  request_.cost = from.cost;
  request_.explain = from.explain;
  request_.headers = from.headers;
}

bool can_hold_decision(const sluice_decision& decision) noexcept { return decision.struct_size >= kFirstDecision; }

// When the struct gets more members, those beyond `to.struct_size` are left alone.
void show(const v1::Decision& from, sluice_decision& to) noexcept {
  static_assert(sizeof(sluice_decision) == kFirstDecision);
  to.code = static_cast<std::int32_t>(from.status.code);
  to.action = static_cast<std::int32_t>(from.action);
  to.reason = static_cast<std::int32_t>(from.reason);
  to.allowed = from.allowed;
  to.has_limit = from.has_limit;
  to.shadow = from.shadow;
  to.would_allow = from.would_allow;
  to.limit = from.limit;
  to.remaining = from.remaining;
  to.reset_after_us = from.reset_after.count();
  to.retry_after_us = from.retry_after.count();
  to.delay_us = from.delay.count();
  to.sample_rate = from.sample_rate;
  to.policy_version = from.policy_version;
  to.lease_expires_us = from.lease_expires_us;
  to.message = text_of(from.status.message);
  to.policy = text_of(from.policy);
  to.plan = text_of(from.plan);
  to.limit_name = text_of(from.limit_name);
  to.downgrade_to = text_of(from.downgrade_to);
  to.lease_id = text_of(from.lease_id);
  to.explanation = text_of(from.explanation);
  to.headers = text_of(from.headers);
}

}  // namespace sluice::lib
