// The spans of published revisions: below the call's, and what agents continue.
#include "server/sync/publish_spans.hpp"

#include <doctest/doctest.h>

#include <string>

#include "tests/unit/server/sync/state_writer.hpp"

namespace sluice::server::test {
namespace {

const std::string kCall = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";

sync::RevisionChanges revision_7(std::string traceparent) {
  return {.at = at(7), .objects = {{policy_of("shop", "p"), "acme"}}, .traceparent = std::move(traceparent)};
}

TEST_CASE("a traced revision is published in a span below the call, which agents continue") {
  tracing::Tracer tracer{{}};
  sync::RevisionChanges revision = revision_7(kCall);
  {
    sync::PublishSpans spans(&tracer);
    spans.begin(revision);
    CHECK(tracer.queue().size() == 0);  // the round goes on
  }
  const auto ended = tracer.queue().take(9);
  REQUIRE(ended.size() == 1);
  CHECK(ended[0]->name == "sync publish");
  CHECK(tracing::format_traceparent(ended[0]->context) == revision.traceparent);
  CHECK(tracing::trace_id_of(revision.traceparent) == tracing::trace_id_of(kCall));
  CHECK(revision.traceparent != kCall);
}

TEST_CASE("without a tracer agents continue the call") {
  sync::RevisionChanges revision = revision_7(kCall);
  sync::PublishSpans(nullptr).begin(revision);
  CHECK(revision.traceparent == kCall);
}

TEST_CASE("a revision that is not traced, or whose trace cannot be read, has no span") {
  tracing::Tracer tracer{{}};
  for (const std::string& text : {std::string(), std::string("nonsense"), kCall.substr(0, 53) + "00"}) {
    sync::RevisionChanges revision = revision_7(text);
    sync::PublishSpans(&tracer).begin(revision);
    CHECK(revision.traceparent == text);
  }
  CHECK(tracer.queue().size() == 0);
}

TEST_CASE("a round that fails leaves no spans, and a long one not more than 64") {
  tracing::Tracer tracer{{}};
  {
    sync::PublishSpans spans(&tracer);
    for (std::size_t i = 0; i < 3 * sync::PublishSpans::kMost; ++i) {
      sync::RevisionChanges revision = revision_7(kCall);
      spans.begin(revision);
    }
    spans.discard();
  }
  CHECK(tracer.queue().size() == 0);
  {
    sync::PublishSpans spans(&tracer);
    for (std::size_t i = 0; i < 3 * sync::PublishSpans::kMost; ++i) {
      sync::RevisionChanges revision = revision_7(kCall);
      spans.begin(revision);
    }
  }
  CHECK(tracer.queue().size() == sync::PublishSpans::kMost);
}

}  // namespace
}  // namespace sluice::server::test
