// A sync client with a host that does as it is told, beside its server, on one loop that runs until something is so.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "engine/follow/sync_client.hpp"
#include "tests/unit/engine/follow/fake_server.hpp"

namespace sluice::follow::test {

using namespace std::chrono_literals;

struct Host final : SyncHost {
  void on_state(const sync::Applied& applied, bool full) override {
    offered.push_back(applied.state);
    were_full.push_back(full);
    if (!answers) return;
    if (refuses) return client->refused({"invalid_snapshot", "a fault"});
    client->accepted();
  }
  Result<std::string> token() override { return token_text; }
  void on_confirmed(const sync::Position& position) override { confirmed.push_back(position); }
  void on_live_agents(const sync::LiveAgents& agents) override { live = agents; }
  void collect(sync::ReportQueue& queue) override {
    if (on_collect) on_collect(queue);
  }

  SyncClient* client = nullptr;
  bool answers = true;
  bool refuses = false;
  std::string token_text = "slg_1";
  std::vector<sync::ScopeState> offered;
  std::vector<bool> were_full;
  std::vector<sync::Position> confirmed;
  sync::LiveAgents live;
  std::function<void(sync::ReportQueue&)> on_collect;
};

struct SyncRig {
  explicit SyncRig(std::function<void(SyncOptions&)> change = {}) : server(context) {
    SyncOptions options{.server = *http_client::parse_url(server.url), .agent_id = "a1", .pod = "p", .version = "1"};
    options.seed = 7;
    options.first_retry = 5ms;
    options.refusal_retry = 20ms;
    options.report_gap = 1ms;
    options.silence = 1h;  // a stream that is opened again for its silence would hide what a test waits for
    if (change) change(options);
    client.emplace(context, options, host,
                   SyncObserver{.fetch_ended = [this](FetchResult result, const std::optional<Position>&,
                                                      std::string_view) { results.push_back(result); }});
    host.client = &*client;
  }
  ~SyncRig() {
    client.reset();
    server.close();
    context.restart();
    context.poll();  // what was in flight ends
  }

  template <class Condition>
  bool until(Condition done) {
    const auto end = std::chrono::steady_clock::now() + 20s;
    while (!done()) {
      if (std::chrono::steady_clock::now() >= end) return false;
      context.restart();
      context.run_one_for(10ms);
    }
    return true;
  }
  // Everything follows: the newest state is in force, and the stream speaks.
  bool in_step() {
    return until([&] { return client->position() == server.head() && client->connected() && server.streams() > 0; });
  }
  bool same() const { return client->state()->objects.checksum() == server.objects().checksum(); }
  SyncCounters counters() const { return client->counters(); }
  std::uint64_t count(FetchResult result) const { return counters().results[static_cast<std::size_t>(result)]; }

  boost::asio::io_context context;
  FakeServer server;
  Host host;
  std::vector<FetchResult> results;
  std::optional<SyncClient> client;
};

}  // namespace sluice::follow::test
