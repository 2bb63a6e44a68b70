#include "engine/decide/check_spans.hpp"

#include "common/tracing/attribute_names.hpp"

namespace sluice::decide {

namespace attribute = tracing::attribute;

void CheckSpans::begin_store(const TracedStore& store) {
  store_ = check_.child(store.operation, tracing::SpanKind::client);
  if (!store_) return;
  store_->set(attribute::kDbSystem, "redis");
  store_->set(attribute::kDbOperation, store.operation);
  if (store.host.empty()) return;
  store_->set(attribute::kServerAddress, store.host);
  if (store.port != 0) store_->set(attribute::kServerPort, store.port);
}

// All rulebooks of a check fail together, unless a shadow has a call of its own.
const limiter::StoreError* CheckSpans::first_error(std::span<const Judgement> judgements) {
  for (const Judgement& judgement : judgements) {
    if (!judgement.outcome) return &judgement.outcome.error();
  }
  return nullptr;
}

void CheckSpans::end_store(const limiter::StoreError* error) {
  if (error != nullptr) store_->fail(limiter::to_string(error->fault), limiter::describe(error->fault));
  store_.end();
}

}  // namespace sluice::decide
