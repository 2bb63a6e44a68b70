#include "libsluice/decision_of.hpp"

#include <array>
#include <cstddef>

#include "common/base/short_text.hpp"
#include "common/domain/decision_time.hpp"

namespace sluice::lib {
namespace {

// By the core's value. A program's header has the same words in the same order, so the compiler makes a copy of it.
constexpr std::array kActionOf{v1::Action::allow,
                               v1::Action::deny,
                               v1::Action::delay,
                               v1::Action::sample,
                               v1::Action::drop,
                               v1::Action::downgrade,
                               v1::Action::drop_low_priority,
                               v1::Action::shadow_only};
constexpr std::array kReasonOf{v1::Reason::within_limit, v1::Reason::limit_exceeded, v1::Reason::no_policy,
                               v1::Reason::mode_off,     v1::Reason::shadow,         v1::Reason::sampled,
                               v1::Reason::fail_open,    v1::Reason::fail_closed,    v1::Reason::degraded,
                               v1::Reason::no_snapshot,  v1::Reason::overload};

template <class Public, std::size_t size>
constexpr bool is_in_order(const std::array<Public, size>& table) {
  for (std::size_t i = 0; i < size; ++i) {
    if (static_cast<std::size_t>(table[i]) != i) return false;
  }
  return true;
}
static_assert(is_in_order(kActionOf) && kActionOf.size() == static_cast<std::size_t>(Action::shadow_only) + 1);
static_assert(is_in_order(kReasonOf) && kReasonOf.size() == sluice::kReasons);
static_assert(static_cast<int>(Action::deny) == static_cast<int>(v1::Action::deny));
static_assert(static_cast<int>(Action::delay) == static_cast<int>(v1::Action::delay));
static_assert(static_cast<int>(Action::sample) == static_cast<int>(v1::Action::sample));
static_assert(static_cast<int>(Action::drop) == static_cast<int>(v1::Action::drop));
static_assert(static_cast<int>(Action::downgrade) == static_cast<int>(v1::Action::downgrade));
static_assert(static_cast<int>(Action::drop_low_priority) == static_cast<int>(v1::Action::drop_low_priority));
static_assert(kNever == v1::kNever.count());

// Most decisions repeat the texts of the one before.
void set(std::string& to, std::string_view text) {
  if (!are_same(to, text)) to.assign(text);
}

void set_limit(const Decision& from, v1::Decision& to) {
  to.has_limit = from.has_limit;
  to.limit = from.report.limit;
  to.remaining = from.report.remaining;
  to.reset_after = Micros(from.report.reset_after_us);
  to.retry_after = Micros(wait_us(from));
  to.delay = Micros(from.report.delay_us);
}

void write_texts(const Decision& from, const v1::Request& request, v1::Decision& to) {
  to.explanation.clear();
  to.headers.clear();
  if (request.explain) [[unlikely]]
    write_decision(from, to.explanation);
  if (request.headers) [[unlikely]]
    write_decision_headers(from, {}, to.headers);
}

}  // namespace

void convert(const Decision& from, const v1::Request& request, v1::Decision& to) {
  to.allowed = from.allowed;
  to.action = kActionOf[static_cast<std::size_t>(from.action)];
  to.reason = kReasonOf[static_cast<std::size_t>(from.reason)];
  set_limit(from, to);
  set(to.policy, from.policy_id);
  to.policy_version = from.policy_version;
  set(to.plan, from.plan_id);
  set(to.limit_name, from.limit_name);
  set(to.downgrade_to, from.downgrade_to);
  to.sample_rate = from.action == Action::sample ? from.sample_rate : 0;
  to.shadow = from.shadow;
  to.would_allow = from.would_allow;
  set(to.lease_id, from.lease_id);
  to.lease_expires_us = from.lease_expires_at_us;
  write_texts(from, request, to);
}

void clear(v1::Decision& decision) noexcept {
  decision.allowed = false;
  decision.action = v1::Action::deny;
  decision.reason = v1::Reason::no_policy;
  decision.has_limit = false;
  decision.limit = decision.remaining = 0;
  decision.reset_after = decision.retry_after = decision.delay = Micros(0);
  decision.policy_version = 0;
  decision.sample_rate = 0;
  decision.shadow = false;
  decision.would_allow = true;
  decision.lease_expires_us = 0;
  for (std::string* text : {&decision.policy, &decision.plan, &decision.limit_name, &decision.downgrade_to,
                            &decision.lease_id, &decision.explanation, &decision.headers}) {
    text->clear();
  }
}

}  // namespace sluice::lib
