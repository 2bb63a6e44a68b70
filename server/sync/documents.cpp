#include "server/sync/documents.hpp"

#include <exception>
#include <utility>

#include <boost/asio/post.hpp>

#include "common/http/gzip.hpp"

namespace sluice::server::sync {
namespace {

using std::chrono::steady_clock;

constexpr int kGzipLevel = 4;  // higher levels hardly make JSON smaller

}  // namespace

Documents::Documents(boost::asio::io_context& loop, SyncStatistics& statistics)
    : loop_(loop), statistics_(statistics) {}

Documents::~Documents() { stop(); }

void Documents::get(const SyncStatePtr& state, const SyncScope& scope, std::optional<std::int64_t> since, bool gzipped,
                    Done done) {
  if (state->sequence > newest_) drop_older(state->sequence);
  const Key key{state->sequence, scope, since.value_or(-1), gzipped};
  const auto [found, is_new] = entries_.try_emplace(key);
  Entry& entry = found->second;
  if (entry.ready) return done(entry.answer);
  entry.waiting.push_back(std::move(done));
  if (!is_new) return;
  JobThread& thread = since ? deltas_ : snapshots_;
  thread.run([this, key, state, scope, since, gzipped] {
    Answer answer;
    try {
      build(*state, scope, since, gzipped, answer);
    } catch (const std::exception&) {
      answer.body = nullptr;  // out of memory; waiting requests get an error
    }
    boost::asio::post(loop_, [this, key, answer = std::move(answer)]() mutable { finish(key, std::move(answer)); });
  });
}

void Documents::build(const SyncState& state, const SyncScope& scope, std::optional<std::int64_t> since, bool gzipped,
                      Answer& answer) {
  Document document = make_document(state, scope, sets_.at(state, scope, steady_clock::now()), since);
  answer.is_full = document.is_full;
  answer.gzipped = gzipped && document.text.size() >= kMinGzipBytes;
  answer.body = std::make_shared<const std::string>(answer.gzipped ? sluice::http::gzip(document.text, kGzipLevel)
                                                                   : std::move(document.text));
  ++statistics_.built;
  statistics_.built_bytes += answer.body->size();
}

void Documents::finish(const Key& key, Answer answer) {
  const auto found = entries_.find(key);
  std::vector<Done> waiting = std::exchange(found->second.waiting, {});
  const bool keep = std::get<0>(key) == newest_ && answer.body != nullptr;
  if (keep) {
    bytes_ += answer.body->size();
    found->second.answer = answer;
    found->second.ready = true;
    for (auto at = entries_.begin(); bytes_ > kMaxBytes && at != entries_.end();) {
      if (at == found || !at->second.ready) {
        ++at;
        continue;
      }
      bytes_ -= at->second.answer.body->size();
      at = entries_.erase(at);
    }
  } else {
    entries_.erase(found);
  }
  for (Done& done : waiting) done(answer);
}

// Keeps the answers that are still being built, because requests wait for them.
void Documents::drop_older(std::uint64_t sequence) {
  newest_ = sequence;
  std::erase_if(entries_, [this](const auto& entry) {
    if (!entry.second.ready) return false;
    bytes_ -= entry.second.answer.body->size();
    return true;
  });
}

void Documents::tidy() { sets_.drop_unused(steady_clock::now()); }

void Documents::stop() {
  deltas_.stop();
  snapshots_.stop();
}

void JobThread::run(Job job) {
  {
    const std::lock_guard lock(mutex_);
    if (stopping_) return;
    jobs_.push_back(std::move(job));
  }
  changed_.notify_one();
}

void JobThread::stop() {
  std::deque<Job> abandoned;
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
    abandoned.swap(jobs_);
  }
  changed_.notify_all();
  if (thread_.joinable()) thread_.join();
}

void JobThread::work() {
  for (;;) {
    Job job;
    {
      std::unique_lock lock(mutex_);
      changed_.wait(lock, [this] { return stopping_ || !jobs_.empty(); });
      if (stopping_) return;
      job = std::move(jobs_.front());
      jobs_.pop_front();
    }
    job();
  }
}

}  // namespace sluice::server::sync
