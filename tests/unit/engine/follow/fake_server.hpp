// A server of policies with a history of its own, on the loop of its clients: it answers as the protocol says, unless
// a test scripts what comes next.
#pragma once

#include <algorithm>
#include <deque>
#include <functional>
#include <list>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <doctest/doctest.h>
#include <boost/asio/io_context.hpp>

#include "common/http/gzip.hpp"
#include "common/http/query.hpp"
#include "common/http/server.hpp"
#include "common/sync/report.hpp"
#include "common/sync/snapshot_document.hpp"
#include "common/sync/watch_line.hpp"
#include "tests/unit/sync/objects.hpp"

namespace sluice::follow::test {

using sync::Position;

class FakeServer final : public http::Handler {
 public:
  explicit FakeServer(boost::asio::io_context& context) : server_(context, {}, *this) {
    const auto listening = server_.listen_tcp("127.0.0.1:0", false);
    REQUIRE(listening);
    url = "http://127.0.0.1:" + std::to_string(*listening);
    begin_history('a', sync::set_of(sync::small_shop()));
  }
  ~FakeServer() override { close(); }

  // As after a restored backup: nothing of before is known.
  void begin_history(char digit, sync::ObjectSet objects, std::int64_t revision = 1) {
    digit_ = digit;
    states_.clear();
    states_[revision] = std::move(objects);
  }
  Position head() const { return {states_.rbegin()->first, chain()}; }
  const sync::ObjectSet& objects() const { return states_.rbegin()->second; }

  // A write in the scope; nobody is told.
  void write(std::vector<sync::Edit> edits) { states_[head().revision + 1] = objects().with(std::move(edits)); }
  void write(const sync::ObjectPtr& object) { write(std::vector<sync::Edit>{sync::Edit(object)}); }
  // A write elsewhere.
  void move_head() { write(std::vector<sync::Edit>{}); }

  void invalidate(std::chrono::milliseconds spread = {}) { say(sync::write_line(sync::Announcement{head(), spread})); }
  void beat() { say(sync::write_line(sync::Heartbeat{.head = head(), .live_agents = {}, .reconnect_max = {}})); }
  void say(const std::string& line) {
    for (Watcher& watcher : watchers_) {
      watcher.to_say.push_back(line);
      watcher.on_writable();
    }
  }
  void cut_streams() { watchers_.clear(); }
  void end_streams() {
    for (Watcher& watcher : watchers_) watcher.stream.finish();
    watchers_.clear();
  }
  std::size_t streams() const { return watchers_.size(); }
  void close() {
    held.clear();
    watchers_.clear();
    server_.close_all();
  }

  std::size_t body_limit(std::string_view, std::string_view) const override { return sync::kMaxReportBytes; }
  void handle(http::Request& request, http::Reply reply) override {
    agents.emplace_back(request.header("sluice-agent"));
    if (request.header("authorization") != "Bearer " + token) {
      ++unauthorized;
      return reply.send({.status = 401, .body = R"({"detail":"no such token"})"});
    }
    if (request.path == "/v1/sync/report") return take_report(request, reply);
    const auto since = position_of(request.query, sync::kSince);
    if (request.path == "/v1/sync/watch") return watch(since, std::move(reply));
    asked.push_back(since);
    heard.push_back(position_of(request.query, sync::kAnnounced));
    if (hold) {
      held.emplace_back(since, std::move(reply));
    } else {
      answer(since, std::move(reply));
    }
  }
  void release() {
    hold = false;
    for (auto& [since, reply] : std::exchange(held, {})) answer(since, std::move(reply));
  }

  std::string url;
  std::string token = "slg_1";
  std::deque<std::function<void(http::Reply)>> script;  // what the next snapshots are answered with
  bool hold = false;                                    // snapshots are answered by release()
  std::vector<std::pair<std::optional<Position>, http::Reply>> held;
  std::vector<std::optional<Position>> asked;  // snapshots: since where
  std::vector<std::optional<Position>> heard;  // and what the agent had been told of
  std::vector<std::optional<Position>> watched;
  std::vector<sync::ReportDocument> reports;
  std::optional<std::int64_t> stored;  // what answers to reports say; absent: that all of the report is stored
  std::vector<std::string> agents;
  int unauthorized = 0;

 private:
  struct Watcher final : http::StreamEvents {
    void on_writable() override {
      while (!to_say.empty() && stream.write(to_say.front())) to_say.pop_front();
    }
    void on_ended() override {}
    http::Stream stream;
    std::deque<std::string> to_say;
  };

  std::string chain() const { return std::string(sync::kChainDigits, digit_); }

  static std::optional<Position> position_of(std::string_view query, const sync::PositionParameters& names) {
    const auto parameters = http::parse_query(query);
    REQUIRE(parameters);
    const auto revision = std::ranges::find(*parameters, names.revision, &http::Parameter::name);
    if (revision == parameters->end()) return std::nullopt;
    REQUIRE(revision + 1 != parameters->end());
    CHECK((revision + 1)->name == names.chain);
    const auto position = sync::parse_position(revision->value, (revision + 1)->value, names);
    REQUIRE(position);
    return *position;
  }

  bool knows(const Position& since) const { return since.chain == chain() && states_.contains(since.revision); }

  void answer(const std::optional<Position>& since, http::Reply reply) {
    if (!script.empty()) {
      const auto next = std::move(script.front());
      script.pop_front();
      return next(std::move(reply));
    }
    if (since == head()) return reply.send({.status = 304});
    if (since && !knows(*since)) return reply.send({.status = 410});
    std::string text;
    if (since) {
      const auto changes = difference(states_.at(since->revision), objects());
      text = sync::write_delta(since->revision, head(), objects(), changes);
    } else {
      text = sync::write_snapshot(head(), objects());
    }
    reply.send({.headers = "Content-Encoding: gzip\r\n", .body = http::gzip(text)});
  }

  void watch(const std::optional<Position>& since, http::Reply reply) {
    watched.push_back(since);
    watchers_.emplace_back();
    watchers_.back().stream = reply.stream({.content_type = "application/x-ndjson"}, watchers_.back());
    const bool known = since && knows(*since);
    const bool same = known && difference(states_.at(since->revision), objects()).empty();
    watchers_.back().stream.write(same ? sync::write_line(sync::Heartbeat{head(), {}, {}})
                                       : sync::write_line(sync::Announcement{head(), {}}));
  }

  void take_report(http::Request& request, http::Reply& reply) {
    auto report = sync::parse_report({request.body.data(), request.body.size()});
    REQUIRE(report);
    const std::int64_t last = report->reports.empty() ? 0 : report->reports.back().number;
    reports.push_back(*std::move(report));
    reply.send({.body = sync::write_report_reply(stored.value_or(last))});
  }

  char digit_ = 'a';
  std::map<std::int64_t, sync::ObjectSet> states_;  // by revision
  std::list<Watcher> watchers_;
  http::Server server_;
};

}  // namespace sluice::follow::test
