// A worker that calls partners no faster than their limits allow: it waits for its turn, and then calls. See README.md.
//
//   egress_worker POLICIES [WORKERS] < jobs       each line: PARTNER http://HOST:PORT/PATH
#include <algorithm>
#include <charconv>
#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <cstdio>
#include <deque>
#include <iostream>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/beast/core.hpp>
#include <boost/beast/http.hpp>

#include <sluice/engine.hpp>

namespace {

namespace beast = boost::beast;
namespace http = beast::http;
using tcp = boost::asio::ip::tcp;
using std::chrono::steady_clock;

constexpr std::chrono::minutes kPatience{5};  // how long a job waits for its turn

struct Job {
  std::string partner;
  std::string host, port, path;
};

std::optional<Job> read_job(const std::string& line) {
  const std::size_t space = line.find(' ');
  constexpr std::string_view kScheme = "http://";
  if (space == std::string::npos || line.compare(space + 1, kScheme.size(), kScheme) != 0) return std::nullopt;
  const std::string rest = line.substr(space + 1 + kScheme.size());
  const std::size_t slash = std::min(rest.find('/'), rest.size());
  const std::string address = rest.substr(0, slash);
  const std::size_t colon = address.rfind(':');
  return Job{.partner = line.substr(0, space),
             .host = address.substr(0, colon),
             .port = colon == std::string::npos ? "80" : address.substr(colon + 1),
             .path = slash == rest.size() ? "/" : rest.substr(slash)};
}

// The lines of the input, for several workers.
class Jobs {
 public:
  void add(Job job) {
    {
      std::lock_guard lock(mutex_);
      jobs_.push_back(std::move(job));
    }
    changed_.notify_one();
  }
  void end() {
    {
      std::lock_guard lock(mutex_);
      ended_ = true;
    }
    changed_.notify_all();
  }
  std::optional<Job> next() {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [this] { return ended_ || !jobs_.empty(); });
    if (jobs_.empty()) return std::nullopt;
    Job job = std::move(jobs_.front());
    jobs_.pop_front();
    return job;
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<Job> jobs_;
  bool ended_ = false;
};

unsigned call(const Job& job) {
  boost::asio::io_context context;
  tcp::resolver resolver(context);
  beast::tcp_stream stream(context);
  stream.connect(resolver.resolve(job.host, job.port));
  http::request<http::empty_body> request(http::verb::get, job.path, 11);
  request.set(http::field::host, job.host + ":" + job.port);
  request.set(http::field::connection, "close");
  http::write(stream, request);
  beast::flat_buffer buffer;
  http::response<http::string_body> response;
  http::read(stream, buffer, response);
  return response.result_int();
}

void print(const std::string& line) {
  static std::mutex mutex;
  std::lock_guard lock(mutex);
  std::puts(line.c_str());
}

// The rate that was kept: the calls to each partner, and the time from the first to the last.
class Rates {
 public:
  void note(const std::string& partner) {
    const auto now = steady_clock::now();
    std::lock_guard lock(mutex_);
    Calls& calls = partners_.try_emplace(partner, Calls{.first = now}).first->second;
    calls.last = std::max(calls.last, now);
    ++calls.count;
  }
  void print_all() const {
    for (const auto& [partner, calls] : partners_) {
      const std::chrono::duration<double> time = calls.last - calls.first;
      std::printf("%s: %zu calls in %.2f s", partner.c_str(), calls.count, time.count());
      if (calls.count > 1 && time.count() > 0)
        std::printf(", %.2f a second", static_cast<double>(calls.count - 1) / time.count());
      std::puts("");
    }
  }

 private:
  struct Calls {
    steady_clock::time_point first, last = {};
    std::size_t count = 0;
  };

  std::mutex mutex_;
  std::map<std::string, Calls> partners_;
};

void work(sluice::v1::Engine& engine, Jobs& jobs, Rates& rates) {
  sluice::v1::Decision decision;
  while (const auto job = jobs.next()) {
    const auto began = steady_clock::now();
    const std::string resource = "egress:" + job->partner;
    const sluice::v1::Request turn{.resource = resource, .subject = job->partner};
    engine.wait(turn, kPatience, decision);
    const sluice::v1::Lease lease = engine.lease(turn, decision);  // of a `concurrency` limit: until the call has ended
    const auto waited = std::chrono::duration_cast<std::chrono::milliseconds>(steady_clock::now() - began).count();
    std::string outcome;
    if (!decision.status.ok()) {
      outcome = decision.status.message;
    } else if (!decision.allowed) {
      outcome = "no turn in time";
    } else {
      rates.note(job->partner);
      try {
        outcome = std::to_string(call(*job));
      } catch (const std::exception& error) {
        outcome = error.what();
      }
    }
    print(job->partner + " " + job->path + ": " + outcome + " after " + std::to_string(waited) + " ms");
  }
}

}  // namespace

int main(int count, char** words) {
  unsigned workers = 4;
  const std::string_view number = count == 3 ? words[2] : "4";
  const auto [end, failed] = std::from_chars(number.data(), number.data() + number.size(), workers);
  if (count < 2 || count > 3 || failed != std::errc() || *end != '\0' || workers == 0 || workers > 256) {
    std::fprintf(stderr, "egress_worker POLICIES [WORKERS, 1 to 256] < jobs\n");
    return 2;
  }
  auto opened = sluice::v1::Engine::open({.bundle_file = words[1]});
  if (!opened) {
    std::fprintf(stderr, "egress_worker: %s\n", opened.status.message.c_str());
    return 1;
  }
  Jobs jobs;
  Rates rates;
  int faulty = 0;
  {
    std::vector<std::jthread> threads;
    for (unsigned i = 0; i < workers; ++i) threads.emplace_back([&] { work(*opened.engine, jobs, rates); });
    for (std::string line; std::getline(std::cin, line);) {
      if (auto job = read_job(line)) {
        jobs.add(std::move(*job));
      } else {
        ++faulty;
        std::fprintf(stderr, "egress_worker: a job is PARTNER http://HOST:PORT/PATH, not: %s\n", line.c_str());
      }
    }
    jobs.end();
  }
  rates.print_all();
  return faulty == 0 ? 0 : 1;
}
