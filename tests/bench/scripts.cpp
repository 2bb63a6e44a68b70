// What the production script costs Redis: µs of the server's CPU a call, and bytes a subject.
//
//   bench_scripts SOCKET PID [--rounds N] [--slice-ms N] [--beside FILE] [--only NAME]
//
// Prints JSON. The server must be private: it is emptied. --beside measures another version of check.lua too, --only
// one algorithm.
//
// Calls are pipelined 32 deep over one connection, as an agent under load sends them. The CPU time is that of the
// server's process by the kernel's count, so it covers reading, running and answering. Each round measures every
// variant once, so that ratios of one round hold on a machine that others use too.
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <functional>
#include <iterator>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include <fmt/core.h>

#include "tests/bench/floor_script.hpp"
#include "tests/bench/plans.hpp"
#include "tests/bench/server_cpu.hpp"
#include "tests/integration/equivalence/redis_link.hpp"

namespace sluice::bench {
namespace {

using std::chrono::steady_clock;

constexpr std::size_t kDepth = 32;

struct Variant {
  std::string name;
  std::size_t limits = 0;  // 0: not a plan
  std::string outcome = "";
  std::size_t subjects = 1000;
  std::size_t fill = 2;                 // calls for each subject before anything is measured
  std::chrono::milliseconds settle{0};  // and for how long at least
  std::size_t replies = 1;              // of one call
  std::int64_t expected = 1;            // the first number of each reply; -1: any
  std::function<void(redis::CommandWriter&, std::size_t subject)> write;

  std::vector<double> cpu_us{}, run_us{};  // a call, by round: the process; the commands alone (INFO commandstats)
  std::int64_t bytes = 0, value = 0;       // MEMORY USAGE and size of the state
};

std::string_view name_of(Load load) {
  switch (load) {
    case Load::admitted:
      return "admitted";
    case Load::denied:
      return "denied";
    case Load::full:
      return "full";
  }
  return "";
}

Variant plan_variant(Algorithm algorithm, std::size_t limits, Load load, const std::string& sha) {
  auto calls = std::make_shared<Calls>(limits_of(algorithm, limits, load), sha);
  Variant variant{.name = std::string(to_string(algorithm)) + (sha.empty() ? "" : " beside"),
                  .limits = limits,
                  .outcome = std::string(name_of(load)),
                  .expected = load == Load::admitted ? 1 : 0,
                  .write = [calls](redis::CommandWriter& out, std::size_t subject) { calls->write(out, subject); }};
  if (keeps_entries(algorithm)) {
    variant.subjects = 100;  // each is called often enough to have entries that live
    variant.settle = kEntryLife + std::chrono::milliseconds(50);
  }
  if (load == Load::full) {
    variant.subjects = 4;
    variant.fill = static_cast<std::size_t>(kMaxLogLimit) + 1;
  }
  return variant;
}

// A script of ours, called with the subject's key.
Variant script_variant(test::RedisLink& link, const std::string& name, std::string_view text,
                       const std::vector<std::string>& arguments = {}) {
  const std::string sha(link.ask({"SCRIPT", "LOAD", text}).text);
  return {.name = name, .write = [sha, arguments](redis::CommandWriter& out, std::size_t subject) {
            out.array(4 + arguments.size()).bulk("EVALSHA").bulk(sha).bulk(1).bulk(counter_key(subject));
            for (const std::string& argument : arguments) out.bulk(argument);
          }};
}

// `beside`: the text of another version of the production script, or "".
std::vector<Variant> make_variants(test::RedisLink& link, const std::string& beside) {
  const std::string other = beside.empty() ? "" : std::string(link.ask({"SCRIPT", "LOAD", beside}).text);
  std::vector<Variant> all;
  all.push_back(script_variant(link, "no-op", "#!lua\nreturn 1"));
  all.push_back(script_variant(link, "TIME + GET + SET",
                               "#!lua\nredis.call('TIME')\nredis.call('GET', KEYS[1])\n"
                               "redis.call('SET', KEYS[1], ARGV[1], 'PX', '60000')\nreturn 1",
                               {std::string(26, 'v')}));  // as large as the state of one limit
  all.push_back(script_variant(link, "the floor's bucket", kFloorScript, {"1000000", "1000000000000000"}));
  all.push_back({.name = "INCRBY + EXPIRE",
                 .replies = 2,
                 .expected = -1,
                 .write = [](redis::CommandWriter& out, std::size_t subject) {
                   const std::string key = counter_key(subject);
                   out.array(3).bulk("INCRBY").bulk(key).bulk("1").array(3).bulk("EXPIRE").bulk(key).bulk("60");
                 }});
  for (Algorithm algorithm : kAlgorithms) {
    for (std::size_t limits : {1U, 2U, 5U, 10U}) {
      for (Load load : {Load::admitted, Load::denied}) {
        all.push_back(plan_variant(algorithm, limits, load, ""));
        if (!other.empty()) all.push_back(plan_variant(algorithm, limits, load, other));
      }
    }
    if (keeps_entries(algorithm)) all.push_back(plan_variant(algorithm, 1, Load::full, ""));
  }
  return all;
}

class Bench {
 public:
  Bench(const std::string& socket, int pid, std::chrono::milliseconds slice) : link_(socket), pid_(pid), slice_(slice) {
    std::string load;
    redis::CommandWriter out(load);
    out.array(3).bulk("SCRIPT").bulk("LOAD").bulk(limiter::script_text(limiter::Script::check));
    link_.send(load);
    link_.receive(1, [](std::size_t, const redis::Reply& reply) {
      if (reply.is_error()) throw std::runtime_error(std::string(reply.text));
    });
  }

  test::RedisLink& link() { return link_; }

  void measure(Variant& variant) {
    link_.ask({"FLUSHALL", "SYNC"});
    call_for(variant, variant.settle, variant.fill * variant.subjects, false);
    link_.ask({"CONFIG", "RESETSTAT"});
    const double begin = server_cpu_us(pid_);
    const auto calls = static_cast<double>(call_for(variant, slice_, variant.subjects, true));
    variant.cpu_us.push_back((server_cpu_us(pid_) - begin) / calls);
    variant.run_us.push_back(command_us() / calls);
    if (variant.limits > 0 && variant.outcome == "admitted" && variant.bytes == 0) weigh(variant);
  }

 private:
  // At least so long and so many calls; how many they were.
  std::size_t call_for(const Variant& variant, steady_clock::duration time, std::size_t at_least, bool check) {
    const auto end = steady_clock::now() + time;
    std::size_t calls = 0;
    for (; calls < at_least || steady_clock::now() < end; calls += kDepth) {
      batch_.clear();
      redis::CommandWriter out(batch_);
      for (std::size_t i = 0; i < kDepth; ++i) variant.write(out, (calls + i) % variant.subjects);
      link_.send(batch_);
      link_.receive(kDepth * variant.replies, [&](std::size_t, const redis::Reply& reply) {
        if (reply.is_error()) throw std::runtime_error(variant.name + ": " + std::string(reply.text));
        const std::int64_t first = reply.elements.empty() ? reply.integer : reply.elements[0].integer;
        if (check && variant.expected >= 0 && first != variant.expected) {
          throw std::runtime_error(fmt::format("{} with {} limits, {}: the script answered {}", variant.name,
                                               variant.limits, variant.outcome, first));
        }
      });
    }
    return calls;
  }

  // "cmdstat_evalsha:calls=1,usec=2,…": what the variants' commands took since the last reset. Calls inside a script
  // are listed too, but are part of their script's time.
  double command_us() {
    const std::string text(link_.ask({"INFO", "commandstats"}).text);
    double sum = 0;
    for (const char* name : {"cmdstat_evalsha:", "cmdstat_incrby:", "cmdstat_expire:"}) {
      const std::size_t at = text.find(name);
      if (at != std::string::npos) sum += std::strtod(text.c_str() + text.find("usec=", at) + 5, nullptr);
    }
    return sum;
  }

  void weigh(Variant& variant) {
    const std::string key = counter_key(0);
    const redis::Reply& usage = link_.ask({"MEMORY", "USAGE", key, "SAMPLES", "0"});
    variant.bytes = usage.integer;
    variant.value = link_.ask({"STRLEN", key}).integer;
  }

  test::RedisLink link_;
  int pid_;
  std::chrono::milliseconds slice_;
  std::string batch_;
};

std::string list_of(const std::vector<double>& numbers) {
  std::string out;
  for (double number : numbers) out += fmt::format("{}{:.3f}", out.empty() ? "" : ",", number);
  return '[' + out + ']';
}

void print(const std::vector<Variant>& all) {
  fmt::print("{{\"key_bytes\":{},\"depth\":{},\"rows\":[", counter_key(0).size(), kDepth);
  for (std::size_t i = 0; i < all.size(); ++i) {
    const Variant& v = all[i];
    fmt::print(R"({}{{"name":"{}","limits":{},"outcome":"{}","cpu_us":{},"run_us":{},"bytes":{},"value":{}}})",
               i == 0 ? "\n  " : ",\n  ", v.name, v.limits, v.outcome, list_of(v.cpu_us), list_of(v.run_us), v.bytes,
               v.value);
  }
  fmt::print("\n]}}\n");
}

std::string text_of(const char* path) {
  std::ifstream file(path);
  if (!file) throw std::runtime_error(std::string("cannot read ") + path);
  return {std::istreambuf_iterator<char>(file), {}};
}

int run(int count, char** words) {
  long rounds = 5, slice_ms = 300;
  std::string beside, only;
  for (int i = 3; i + 1 < count; i += 2) {
    const std::string_view flag = words[i];
    if (flag == "--rounds") rounds = std::strtol(words[i + 1], nullptr, 10);
    if (flag == "--slice-ms") slice_ms = std::strtol(words[i + 1], nullptr, 10);
    if (flag == "--only") only = words[i + 1];
    if (flag == "--beside") beside = text_of(words[i + 1]);
  }
  if (count < 3 || count % 2 == 0 || rounds < 1 || slice_ms < 1) {
    return std::fputs("bench_scripts SOCKET PID [--rounds N] [--slice-ms N] [--beside FILE] [--only NAME]\n", stderr),
           2;
  }
  Bench bench(words[1], std::atoi(words[2]), std::chrono::milliseconds(slice_ms));
  std::vector<Variant> all = make_variants(bench.link(), beside);
  if (!only.empty()) std::erase_if(all, [&](const Variant& v) { return v.limits > 0 && !v.name.starts_with(only); });
  for (; rounds > 0; --rounds) {
    for (Variant& variant : all) bench.measure(variant);
  }
  print(all);
  return 0;
}

}  // namespace
}  // namespace sluice::bench

int main(int count, char** words) {
  try {
    return sluice::bench::run(count, words);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "bench_scripts: %s\n", error.what());
    return 1;
  }
}
