// A pipe between an application and its collector that drops and samples noisy records by policy. See README.md.
#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstdint>
#include <cstdio>
#include <deque>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include <boost/asio/io_context.hpp>
#include <boost/asio/signal_set.hpp>
#include <boost/asio/steady_timer.hpp>

#include <CLI/CLI.hpp>
#include <sluice/engine.hpp>

#include "counts.hpp"
#include "outbox.hpp"
#include "receiver.hpp"
#include "sender.hpp"

namespace {

using namespace otlp_pipe;
using tcp = boost::asio::ip::tcp;

struct Options {
  std::string policies;
  std::string redis;
  std::string listen = "127.0.0.1:4318";
  std::string collector;
  ReceiverOptions receiver;
  SenderOptions sender;
  std::size_t queue_bytes = std::size_t{64} << 20;
  unsigned workers = std::max(2U, std::thread::hardware_concurrency());
  unsigned senders = 4;
  double patience = 60, drain = 10;  // seconds
};

void describe(CLI::App& app, Options& options) {
  app.add_option("--policies", options.policies, "a bundle of policies; read again on SIGHUP")
      ->required()
      ->check(CLI::ExistingFile);
  app.add_option("--redis", options.redis, "the URL of a Redis that has the counters (default: memory)");
  app.add_option("--tenant", options.receiver.tenancy.tenant,
                 "the tenant of the records (default: the only one of the policies)");
  app.add_option("--tenant-attribute", options.receiver.tenancy.attribute,
                 "the attribute of a resource whose value names the tenant; --tenant is for resources without it");
  app.add_option("--listen", options.listen, "where exporters send OTLP over HTTP, as ADDRESS:PORT")
      ->capture_default_str();
  app.add_option("--collector", options.collector, "where records go, as http://HOST:PORT[/PATH]")->required();
  app.add_flag("--gzip", options.receiver.gzip, "pack what goes to the collector");
  app.add_option("--workers", options.workers, "threads that decide about records")
      ->capture_default_str()
      ->check(CLI::Range(1, 256));
  app.add_option("--senders", options.senders, "requests to the collector at a time")
      ->capture_default_str()
      ->check(CLI::Range(1, 256));
  app.add_option("--queue-bytes", options.queue_bytes,
                 "memory for what waits for the collector; beyond it, exporters are told to come later")
      ->capture_default_str()
      ->check(CLI::Range(std::size_t{1024}, std::size_t{1} << 40));
  app.add_option("--patience", options.patience, "seconds that a request waits for the collector before it is given up")
      ->capture_default_str()
      ->check(CLI::Range(0.1, 86'400.0));
  app.add_option("--drain", options.drain, "seconds that a stop waits for the collector")
      ->capture_default_str()
      ->check(CLI::Range(0.0, 3'600.0));
}

int fail(const std::string& text) {
  std::fprintf(stderr, "otlp_pipe: %s\n", text.c_str());
  return 1;
}

bool read_collector(std::string_view url, Collector& collector) {
  constexpr std::string_view kScheme = "http://";
  if (!url.starts_with(kScheme)) return false;
  url.remove_prefix(kScheme.size());
  const std::size_t slash = std::min(url.find('/'), url.size());
  const std::string_view address = url.substr(0, slash);
  collector.path = std::string(url.substr(slash));
  while (collector.path.ends_with('/')) collector.path.pop_back();
  const std::size_t colon = address.rfind(':');
  collector.host = std::string(address.substr(0, colon));
  collector.port = colon == std::string_view::npos ? "4318" : std::string(address.substr(colon + 1));
  return !collector.host.empty() && !collector.port.empty();
}

bool read_address(std::string_view text, tcp::endpoint& address) {
  const std::size_t colon = text.rfind(':');
  if (colon == std::string_view::npos) return false;
  boost::system::error_code failed;
  const auto ip = boost::asio::ip::make_address(std::string(text.substr(0, colon)), failed);
  const std::string port(text.substr(colon + 1));
  if (failed || port.empty() || port.size() > 5 || port.find_first_not_of("0123456789") != std::string::npos)
    return false;
  const unsigned long number = std::stoul(port);
  if (number > 65'535) return false;
  address = tcp::endpoint(ip, static_cast<std::uint16_t>(number));
  return true;
}

std::chrono::milliseconds seconds(double number) {
  return std::chrono::milliseconds(static_cast<std::int64_t>(number * 1000));
}

int serve(const Options& options, const tcp::endpoint& address) {
  auto opened = sluice::v1::Engine::open({.bundle_file = options.policies,
                                          .redis = {.url = options.redis},
                                          .threads = options.redis.empty() ? 0U : 1U,
                                          .allow_without_policies = true});
  if (!opened) return fail(opened.status.message);

  Counts counts;
  Outbox outbox(options.queue_bytes);
  std::deque<Sender> senders;
  for (unsigned i = 0; i < options.senders; ++i) senders.emplace_back(options.sender, outbox, counts);

  boost::asio::io_context context;
  Parts parts{options.receiver, *opened.engine, outbox, counts};
  std::optional<Receiver> receiver;
  try {
    receiver.emplace(context, address, parts);
  } catch (const boost::system::system_error& error) {
    outbox.close();
    return fail("--listen " + options.listen + ": " + error.code().message());
  }

  boost::asio::signal_set hangups(context, SIGHUP), stops(context, SIGTERM, SIGINT);
  std::function<void()> await_hangup = [&] {
    hangups.async_wait([&](boost::system::error_code failed, int) {
      if (failed) return;
      const sluice::v1::Status status = opened.engine->reload();
      std::fprintf(stderr, "otlp_pipe: %s\n", status.ok() ? "the policies are read again" : status.message.c_str());
      await_hangup();
    });
  };
  await_hangup();
  stops.async_wait([&](boost::system::error_code, int) {
    hangups.cancel();
    receiver->stop();
  });

  std::printf("otlp_pipe: listening on %s:%u\n", address.address().to_string().c_str(), unsigned{receiver->port()});
  std::fflush(stdout);
  {
    std::vector<std::jthread> workers;
    for (unsigned i = 0; i < options.workers; ++i) workers.emplace_back([&context] { context.run(); });
  }
  outbox.close();  // nobody puts anything in any more
  // The senders end when the outbox is empty, or when they give up.
  boost::asio::io_context clock;
  boost::asio::steady_timer end(clock, seconds(options.drain));
  end.async_wait([&senders](boost::system::error_code failed) {
    if (failed) return;
    for (Sender& each : senders) each.give_up();
  });
  std::jthread timer([&clock] { clock.run(); });
  senders.clear();  // joins
  clock.stop();
  std::fputs(prometheus_text(counts).c_str(), stdout);
  return 0;
}

}  // namespace

int main(int count, char** words) {
  std::signal(SIGPIPE, SIG_IGN);
  CLI::App app(
      "Drops and samples logs and spans by policy, between an application and its collector (OTLP over HTTP).");
  Options options;
  describe(app, options);
  CLI11_PARSE(app, count, words);
  options.sender.patience = seconds(options.patience);
  if (!read_collector(options.collector, options.sender.collector))
    return fail("--collector must be http://HOST:PORT[/PATH]");
  tcp::endpoint address;
  if (!read_address(options.listen, address))
    return fail("--listen must be an IP address and a port, such as 127.0.0.1:4318");
  return serve(options, address);
}
