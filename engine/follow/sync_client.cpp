#include "engine/follow/sync_client.hpp"

#include <array>
#include <utility>

#include "engine/follow/follower.hpp"

namespace sluice::follow {

std::string_view to_string(FetchResult result) {
  constexpr std::array<std::string_view, kFetchResults> kNames{"full",   "delta", "revision_only", "unchanged",
                                                               "resync", "error", "unauthorized",  "refused"};
  return kNames[static_cast<std::size_t>(result)];
}

SyncClient::SyncClient(boost::asio::io_context& context, SyncOptions options, SyncHost& host, SyncObserver observer)
    : impl_(std::make_unique<Impl>(context, std::move(options), host, std::move(observer))) {}
SyncClient::~SyncClient() = default;

void SyncClient::start(std::optional<sync::ScopeState> in_force) { impl_->start(std::move(in_force)); }
void SyncClient::accepted() { impl_->accepted(); }
void SyncClient::refused(const Error& why) { impl_->refused(why); }
void SyncClient::report_soon() { impl_->report_soon(); }
void SyncClient::answer(const sync::WhatIfAnswer& answer) { impl_->answer(answer); }
void SyncClient::stop(std::function<void()> done) { impl_->stop(std::move(done)); }
const std::optional<sync::ScopeState>& SyncClient::state() const { return impl_->state(); }
std::optional<sync::Position> SyncClient::position() const { return impl_->position(); }
const std::optional<sync::SnapshotRefusal>& SyncClient::refusal() const { return impl_->refusal(); }
bool SyncClient::connected() const { return impl_->connected(); }
std::vector<std::string> SyncClient::degraded() const { return impl_->degraded(); }
SyncCounters SyncClient::counters() const { return impl_->counters(); }
const std::string& SyncClient::boot_id() const { return impl_->boot_id(); }

}  // namespace sluice::follow
