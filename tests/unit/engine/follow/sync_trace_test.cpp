// The trace that each span of policy sync belongs to: of a fetch, of policies in force, and of a report.
#include <algorithm>
#include <memory>

#include "engine/follow/sync_trace.hpp"
#include "tests/unit/engine/follow/sync_rig.hpp"

namespace sluice::follow::test {
namespace {

const std::string kPublished = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";
const std::string kStarted = "00-11111111111111111111111111111111-2222222222222222-01";

sync::ObjectPtr policy_on(std::string_view resource) { return sync::policy("shop", "orders", "pro", resource); }

struct TracedRig : SyncRig {
  explicit TracedRig(tracing::Tracer* tracer)
      : SyncRig([tracer](SyncOptions& options) {
          options.tracer = tracer;
          options.trace = tracing::Parent(tracer, kStarted);
        }) {}

  void announce(const std::string& traceparent) {
    server.say(sync::write_line(
        sync::Announcement{.head = server.head(), .spread = 0ms, .traced = sync::TracedChanges(traceparent)}));
  }
};

using Spans = std::vector<std::unique_ptr<tracing::Span>>;

// The spans of this name in the trace of this header, the oldest first.
std::vector<const tracing::Span*> of(const Spans& spans, std::string_view name, const std::string& traceparent) {
  std::vector<const tracing::Span*> found;
  for (const auto& span : spans) {
    if (span->name != name) continue;
    const std::string own = tracing::format_traceparent(span->context);
    if (tracing::trace_id_of(own) == tracing::trace_id_of(traceparent)) found.push_back(span.get());
  }
  return found;
}

void take_to(Spans& spans, tracing::Tracer& tracer) {
  for (auto& span : tracer.queue().take(1000)) spans.push_back(std::move(span));
}

TEST_CASE("a traced change is fetched, put in force and reported in its trace, and the start in its own") {
  tracing::Tracer tracer{{}};
  TracedRig rig(&tracer);
  rig.client->start();
  REQUIRE(rig.in_step());
  rig.server.write(policy_on("y"));
  rig.announce(kPublished);
  Spans spans;
  REQUIRE(rig.until([&] {
    take_to(spans, tracer);
    return !of(spans, "POST /v1/sync/report", kPublished).empty();
  }));
  const auto fetches = of(spans, "GET /v1/sync/snapshot", kPublished);
  const auto uses = of(spans, "snapshot in force", kPublished);
  const auto reports = of(spans, "POST /v1/sync/report", kPublished);
  REQUIRE(fetches.size() == 1);
  REQUIRE(uses.size() == 1);
  CHECK(fetches[0]->parent_id == tracing::parse_traceparent(kPublished)->span_id);
  CHECK(uses[0]->parent_id == fetches[0]->context.span_id);
  CHECK(reports[0]->parent_id == uses[0]->context.span_id);
  CHECK(fetches[0]->kind == tracing::SpanKind::client);
  CHECK(of(spans, "GET /v1/sync/snapshot", kStarted).size() == 1);
  CHECK(of(spans, "snapshot in force", kStarted).size() == 1);
}

TEST_CASE("the server gets the span of the request, and nothing where nobody traces") {
  tracing::Tracer tracer{{}};
  for (tracing::Tracer* const used : {&tracer, static_cast<tracing::Tracer*>(nullptr)}) {
    SyncTrace trace(used, tracing::Parent(used, kStarted), {});
    http_client::Request request;
    trace.begin_fetch(request);
    REQUIRE(request.fields.size() == (used == nullptr ? 0 : 1));
    trace.end_fetch(http_client::Response{.status = 304, .fields = {}, .body = {}});
    if (used == nullptr) continue;
    const Spans spans = tracer.queue().take(9);
    REQUIRE(spans.size() == 1);
    CHECK(request.fields[0] ==
          std::pair<std::string, std::string>("traceparent", tracing::format_traceparent(spans[0]->context)));
  }
}

TEST_CASE("a fetch belongs to a change once, and again if it failed") {
  tracing::Tracer tracer{{}};
  SyncTrace trace(&tracer, {}, {});
  const auto fetch = [&](bool covers) {
    http_client::Request request;
    trace.begin_fetch(request);
    trace.end_fetch(covers
                        ? Result<http_client::Response>(http_client::Response{.status = 200, .fields = {}, .body = {}})
                        : Result<http_client::Response>(failure("refused", "nobody listens")));
    if (covers) trace.covered();
  };
  trace.announced(sync::TracedChanges(kPublished));
  fetch(false);
  fetch(true);
  fetch(true);
  const Spans spans = tracer.queue().take(9);
  const auto in_trace = of(spans, "GET /v1/sync/snapshot", kPublished);
  CHECK(spans.size() == 3);
  REQUIRE(in_trace.size() == 2);
  CHECK(in_trace[0]->status == tracing::SpanStatus::error);
  CHECK(in_trace[1]->status == tracing::SpanStatus::unset);
}

TEST_CASE("a change that is announced during a fetch is the trace of the next one") {
  tracing::Tracer tracer{{}};
  SyncTrace trace(&tracer, tracing::Parent(&tracer, kStarted), {});
  http_client::Request request;
  trace.begin_fetch(request);
  trace.announced(sync::TracedChanges(kPublished));
  trace.announced(sync::TracedChanges(""));  // a newer change, which is not traced
  trace.end_fetch(http_client::Response{.status = 200, .fields = {}, .body = {}});
  trace.covered();
  trace.begin_fetch(request);
  trace.end_fetch(http_client::Response{.status = 200, .fields = {}, .body = {}});
  const Spans spans = tracer.queue().take(9);
  CHECK(of(spans, "GET /v1/sync/snapshot", kStarted).size() == 1);
  CHECK(of(spans, "GET /v1/sync/snapshot", kPublished).size() == 1);
}

TEST_CASE("a server that stays away does not make a trace endless") {
  tracing::Tracer tracer{{}, 4096};
  SyncTrace trace(&tracer, tracing::Parent(&tracer, kStarted), {});
  for (int i = 0; i < 2 * SyncTrace::kMostAttempts; ++i) {
    http_client::Request request;
    trace.begin_fetch(request);
    trace.end_fetch(failure("refused", "nobody listens"));
  }
  CHECK(of(tracer.queue().take(4096), "GET /v1/sync/snapshot", kStarted).size() == SyncTrace::kMostAttempts);
}

TEST_CASE("a state that the host refuses says so, and is not reported as in force") {
  tracing::Tracer tracer{{}};
  TracedRig rig(&tracer);
  rig.host.refuses = true;
  rig.client->start();
  Spans spans;
  REQUIRE(rig.until([&] {
    take_to(spans, tracer);
    return !of(spans, "snapshot in force", kStarted).empty();
  }));
  CHECK(of(spans, "snapshot in force", kStarted)[0]->status == tracing::SpanStatus::error);
  CHECK(of(spans, "POST /v1/sync/report", kStarted).empty());
}

}  // namespace
TEST_CASE("a fetch has links to the changes before the newest one, until it has covered them") {
  tracing::Tracer tracer{{}};
  SyncTrace trace(&tracer, {}, {});
  const auto fetch = [&] {
    http_client::Request request;
    trace.begin_fetch(request);
    return [&] {
      trace.end_fetch(http_client::Response{.status = 200, .fields = {}, .body = {}});
      trace.covered();
      return std::move(tracer.queue().take(9).at(0));
    };
  };
  const auto number = [](int i) { return fmt::format("00-{:032x}-{:016x}-01", i, i); };
  const auto link_to = [&](int i) { return *tracing::parse_traceparent(number(i)); };
  sync::TracedChanges two(number(1));
  two.add(number(2));
  trace.announced(two);
  trace.announced(sync::TracedChanges(number(3)));
  auto end = fetch();
  trace.announced(sync::TracedChanges(number(4)));
  trace.announced(sync::TracedChanges(number(5)));
  auto span = end();
  CHECK(span->parent_id == link_to(3).span_id);
  CHECK(span->links == std::vector{link_to(1), link_to(2)});
  CHECK(span->dropped_links == 0);
  span = fetch()();
  CHECK(span->parent_id == link_to(5).span_id);
  CHECK(span->links == std::vector{link_to(4)});
  CHECK(fetch()()->links.empty());
  for (int i = 1; i <= 40; ++i) trace.announced(sync::TracedChanges(number(i)));
  span = fetch()();
  CHECK(span->links.size() == tracing::Span::kMaxLinks);
  CHECK(span->links.back() == link_to(39));
  CHECK(span->dropped_links == 7);
}

}  // namespace sluice::follow::test
