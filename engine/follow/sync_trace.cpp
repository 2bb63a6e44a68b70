#include "engine/follow/sync_trace.hpp"

#include <algorithm>
#include <limits>
#include <utility>

#include "common/tracing/attribute_names.hpp"

namespace sluice::follow {

namespace attribute = tracing::attribute;

void SyncTrace::announced(const sync::TracedChanges& changes) {
  const tracing::Parent published(tracer_, changes.newest());
  if (!published) return;
  next_ = published;
  changes_.add(changes);
  newer_.add(changes);
  attempts_ = 0;
}

// REQUIRES: there is a tracer.
tracing::ActiveSpan SyncTrace::begin_request(const tracing::Parent& parent, std::string_view name,
                                             http_client::Request& request) const {
  tracing::ActiveSpan span =
      parent ? parent.child(name, tracing::SpanKind::client) : tracer_->start_root(name, tracing::SpanKind::client);
  if (!span) return span;
  span->set(attribute::kHttpMethod, request.method);
  span->set(attribute::kServerAddress, server_.host);
  span->set(attribute::kServerPort, server_.port);
  request.fields.emplace_back("traceparent", tracing::format_traceparent(span->context));
  if (!span->tracestate.empty()) request.fields.emplace_back("tracestate", span->tracestate);
  return span;
}

void SyncTrace::begin_fetch(http_client::Request& request) {
  if (tracer_ == nullptr) return;
  newer_.clear();
  if (++attempts_ > kMostAttempts) {
    next_ = {};
    changes_.clear();
  }
  fetch_ = begin_request(next_, "GET /v1/sync/snapshot", request);
  if (fetch_) link_earlier();
}

void SyncTrace::link_earlier() {
  for (const std::string& earlier : changes_.earlier()) {
    if (const auto published = tracing::parse_traceparent(earlier)) fetch_->link(*published);
  }
  fetch_->dropped_links += static_cast<std::uint32_t>(
      std::min<std::int64_t>(changes_.dropped(), std::numeric_limits<std::uint32_t>::max() - fetch_->dropped_links));
}

void SyncTrace::end_fetch(const Result<http_client::Response>& answer) {
  answered_ = tracing::Parent(tracer_, fetch_);
  if (!fetch_) return;
  if (!answer) {
    fetch_->fail(answer.error().code);
  } else {
    fetch_->set(attribute::kHttpStatus, answer->status);
    if (answer->status >= 400) fetch_->fail(std::to_string(answer->status));
  }
  fetch_.end();
}

void SyncTrace::covered() {
  if (newer_.empty()) next_ = {};
  changes_ = std::exchange(newer_, {});
}

void SyncTrace::begin_use(std::int64_t revision, bool full) {
  use_ = answered_.child("snapshot in force");
  if (!use_) return;
  use_->set("sluice.revision", revision);
  use_->set("sluice.sync.full", full);
}

void SyncTrace::end_use(std::string_view why_refused) {
  if (!use_) return;
  if (why_refused.empty()) {
    in_force_ = tracing::Parent(tracer_, use_);
  } else {
    use_->fail(why_refused);
  }
  use_.end();
}

void SyncTrace::begin_report(http_client::Request& request) {
  if (!in_force_) return;
  report_ = begin_request(std::exchange(in_force_, {}), "POST /v1/sync/report", request);
}

void SyncTrace::end_report(std::string_view error) {
  if (!report_) return;
  if (!error.empty()) report_->fail(error);
  report_.end();
}

}  // namespace sluice::follow
