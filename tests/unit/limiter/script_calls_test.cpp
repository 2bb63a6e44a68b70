#include "common/limiter/script_calls.hpp"

#include <doctest/doctest.h>

#include <cmath>
#include <cstring>

#include "common/limiter/function_library.hpp"
#include "common/limiter/memory_judge.hpp"
#include "common/redis/reply_reader.hpp"
#include "lua/scripts.hpp"
#include "tests/unit/limiter/limits.hpp"

using namespace sluice;
using namespace sluice::test;
using namespace std::chrono_literals;
using limiter::CallBy;
using limiter::Program;
using limiter::Script;
using limiter::StoreFault;
using redis::Reply;

namespace {

// The words of the one command that `write` makes; RESP commands are arrays of strings, as replies are.
template <class Write>
std::vector<std::string> words_of(Write write) {
  std::string bytes;
  redis::CommandWriter out(bytes);
  write(out);
  redis::ReplyReader reader;
  reader.feed(bytes);
  const auto command = reader.next();
  REQUIRE(command);
  REQUIRE(*command != nullptr);
  std::vector<std::string> words;
  for (const Reply& word : (*command)->elements) words.emplace_back(word.text);
  const auto rest = reader.next();
  REQUIRE(rest);
  CHECK(*rest == nullptr);
  return words;
}

std::vector<std::string> check_words(const limiter::Call& call, CallBy by = CallBy::hash) {
  std::array<PeriodBounds, kMaxLimitsPerPlan> periods;
  limiter::quota_periods(*call.program, 1'800'230'400'000'000, periods);
  return words_of([&](redis::CommandWriter& out) { limiter::write_check(out, call, periods, by); });
}

template <class Number>
Number number_at(const std::string& bytes, std::size_t at) {
  REQUIRE(at + sizeof(Number) <= bytes.size());
  Number number;
  std::memcpy(&number, bytes.data() + at, sizeof number);
  return number;
}

Reply integer(std::int64_t value) {
  Reply reply;
  reply.type = Reply::Type::integer;
  reply.integer = value;
  return reply;
}

Reply error(std::string_view text) {
  Reply reply;
  reply.type = Reply::Type::error;
  reply.text = text;
  return reply;
}

struct Numbers {
  explicit Numbers(std::initializer_list<std::int64_t> values) {
    for (std::int64_t value : values) elements.push_back(integer(value));
    reply.type = Reply::Type::array;
    reply.elements = elements;
  }
  std::vector<Reply> elements;
  Reply reply;
};

const Limit kBucket = bucket("a", 5, {1, 1'000'000});

}  // namespace

TEST_CASE("a check is one EVALSHA of the script's own hash, with its keys counted") {
  const Program program = limiter::compile({kBucket}, {});
  const auto words = check_words(call_of(program, 7));
  REQUIRE(words.size() == 3 + 1 + 2 + 3);
  CHECK(words[0] == "EVALSHA");
  CHECK(words[1] == limiter::script_sha(Script::check));
  CHECK(words[1].size() == 40);
  CHECK(words[2] == "1");
  CHECK(words[3] == "sl:{t|u}:p=x");
  CHECK(words[5] == program.packed_format);
  CHECK(words[6] == program.groups[0].state_format);
  CHECK(words[7] == program.groups[0].untouched);
  CHECK(words[8] == program.groups[0].ids);
  CHECK(number_at<std::uint32_t>(words[4], program.cost_offsets[0]) == 7);
  CHECK(words[4][limiter::kExplainOffset] == 1);
}

TEST_CASE("a check by text carries the whole script") {
  const Program program = limiter::compile({kBucket}, {});
  const auto words = check_words(call_of(program, 1), CallBy::text);
  CHECK(words[0] == "EVAL");
  CHECK(words[1] == lua::check);
  CHECK(words[1].starts_with("#!lua\n"));
}

TEST_CASE("a check by function names the function where its hash would be, and differs in nothing else") {
  const Program program = limiter::compile({kBucket}, {});
  auto by_hash = check_words(call_of(program, 1));
  const auto by_function = check_words(call_of(program, 1), CallBy::function);
  CHECK(by_function[0] == "FCALL");
  CHECK(by_function[1] == limiter::function_library().name + "_check");
  by_hash[0] = by_function[0];
  by_hash[1] = by_function[1];
  CHECK(by_function == by_hash);
}

TEST_CASE("the library has the scripts of agents, each once, and none of the server's") {
  const limiter::FunctionLibrary& library = limiter::function_library();
  CHECK(library.name.size() == std::string("sluice_").size() + 16);
  CHECK(library.text.starts_with("#!lua name=" + library.name + "\n"));
  CHECK(library.text.find("#!lua", 1) == std::string::npos);
  const auto registered = [&](Script script) {
    const std::string line =
        "redis.register_function('" + std::string(limiter::function_name(script)) + "', function(KEYS, ARGV)\n";
    const std::size_t at = library.text.find(line);
    if (at == std::string::npos) return false;
    CHECK(library.text.find(line, at + 1) == std::string::npos);
    const std::string_view body = limiter::script_text(script).substr(std::string_view("#!lua\n").size());
    return std::string_view(library.text).substr(at + line.size()).starts_with(body);
  };
  for (const Script script : {Script::check, Script::check_many, Script::release, Script::renew}) {
    CHECK(registered(script));
  }
  CHECK_FALSE(registered(Script::overrides));
  CHECK_FALSE(registered(Script::reset));
}

TEST_CASE("logs and leases have keys of their own behind their group's, and a lease has its draw") {
  Limit apart = leases("pool", 5, 10s);
  apart.key_by.push_back({Dimension::method, ""});
  const Program program = limiter::compile({apart, window("w", Algorithm::sliding_window_log, 5, 10s), kBucket}, {});
  limiter::Call call = call_of(program, 1);
  call.draw.fill(0xAB);
  call.keys.push_back("of an earlier call, left unread");
  const auto words = check_words(call);
  CHECK(words[2] == "4");
  CHECK(words[3] == call.keys[0]);
  CHECK(words[4] == call.keys[1]);
  CHECK(words[5] == call.keys[0] + ":log=w");
  CHECK(words[6] == call.keys[1] + ":lease=pool");
  CHECK(words.back() == std::string(16, '\xAB'));
}

TEST_CASE("a quota's period goes into its call") {
  const Program program = limiter::compile({quota("q", 5, Period::day)}, {});
  const auto words = check_words(call_of(program, 1));
  const std::size_t period = program.cost_offsets[0] + limiter::kPeriodBehindCost;
  CHECK(number_at<double>(words[4], period) == 1'800'230'400'000'000.0);
  CHECK(number_at<double>(words[4], period + 8) == 1'800'316'800'000'000.0);
}

TEST_CASE("limits are asked for where the caller wants them or several groups have to be ordered") {
  Limit apart = kBucket;
  apart.name = "b";
  apart.key_by.push_back({Dimension::method, ""});
  const Program one = limiter::compile({kBucket}, {}), two = limiter::compile({kBucket, apart}, {});
  limiter::Call call = call_of(one, 1);
  call.explain = false;
  CHECK(check_words(call)[4][limiter::kExplainOffset] == 0);
  call = call_of(two, 1);
  call.explain = false;
  CHECK(check_words(call)[5][limiter::kExplainOffset] == 1);
}

TEST_CASE("several rulebooks are one EVALSHA, with the keys and then the arguments of each") {
  const Program one = limiter::compile({kBucket}, {}), two = limiter::compile({leases("pool", 5, 10s)}, {});
  limiter::Call first = call_of(one, 1), second = call_of(two, 2);
  first.explain = second.explain = false;
  second.keys[0] = "sl:{t|u}:p=y";
  second.draw.fill(0xAB);
  const limiter::CheckPart parts[] = {{&first, {}}, {&second, {}}};
  for (std::size_t enforced = 0; enforced <= 2; ++enforced) {
    CAPTURE(enforced);
    const auto words = words_of([&](redis::CommandWriter& out) { limiter::write_check_many(out, parts, enforced); });
    REQUIRE(words.size() == 3 + 3 + 1 + 5 + 6);
    CHECK(words[1] == limiter::script_sha(Script::check_many));
    CHECK(words[2] == "3");
    CHECK(words[3] == first.keys[0]);
    CHECK(words[4] == second.keys[0]);
    CHECK(words[5] == second.keys[0] + ":lease=pool");
    const char counts[] = {static_cast<char>(enforced), 1, 5, 0, 2, 6, 0};
    CHECK(words[6] == std::string(counts, sizeof counts));
    CHECK(number_at<std::uint32_t>(words[7], one.cost_offsets[0]) == 1);
    CHECK(words[8] == one.packed_format);
    CHECK(number_at<std::uint32_t>(words[12], two.cost_offsets[0]) == 2);
    CHECK(words[13] == two.packed_format);
    CHECK(words[17] == std::string(16, '\xAB'));
    // Which of several enforced rulebooks admits is read from its limits' reports.
    CHECK(words[7][limiter::kExplainOffset] == (enforced == 2));
    CHECK(words[12][limiter::kExplainOffset] == (enforced == 2));
  }
}

TEST_CASE("a rulebook that admits is read so, though another one kept it from being charged") {
  const Program program = limiter::compile({kBucket, bucket("b", 9, {1, 1})}, {});
  limiter::Call call = call_of(program, 1);
  call.explain = false;
  const Numbers admits{0, 1'000, 0, 0, 0, 0, 0, 0, 1, 5, 4, 10, 0, 0, 1, 9, 2, 30, 0, 0};
  auto read = limiter::read_check(admits.reply, call, true);
  REQUIRE(read);
  REQUIRE(read->outcome);
  CHECK(read->outcome->allowed);
  CHECK(read->outcome->binding == 1);
  CHECK(read->outcome->report.admitted);
  CHECK(read->outcome->report.remaining == 2);
  CHECK(read->outcome->limits.empty());
  const Numbers denies{0, 1'000, 0, 5, 4, 10, 7, 0, 1, 5, 4, 10, 0, 0, 0, 9, 2, 30, 7, 0};
  read = limiter::read_check(denies.reply, call, true);
  REQUIRE(read);
  CHECK_FALSE(read->outcome->allowed);
  CHECK(read->outcome->binding == 1);
  CHECK(read->outcome->report.retry_after_us == 7);
}

TEST_CASE("releases and renewals name each lease's key and member") {
  const limiter::LeaseRef refs[] = {{"sl:{t|u}:p=x", "a", std::string(28, 'm')},
                                    {"sl:{t|u}:p=y", "b", std::string(28, 'n')}};
  const auto words = words_of([&](redis::CommandWriter& out) { limiter::write_leases(out, Script::renew, refs); });
  const std::vector<std::string> expected{"EVALSHA",
                                          std::string(limiter::script_sha(Script::renew)),
                                          "2",
                                          "sl:{t|u}:p=x:lease=a",
                                          "sl:{t|u}:p=y:lease=b",
                                          std::string(28, 'm'),
                                          std::string(28, 'n')};
  CHECK(words == expected);
}

TEST_CASE("overrides are 40 bytes each, and none is an empty argument") {
  limiter::OverrideEntry entry;
  entry.name_id = 7;
  entry.counter_id = 9;
  entry.expires_us = 1e15;
  const std::vector<limiter::OverrideEntry> two{entry, entry};
  auto words = words_of([&](redis::CommandWriter& out) { limiter::write_overrides(out, "k", two); });
  REQUIRE(words.size() == 5);
  CHECK(words[3] == "k");
  REQUIRE(words[4].size() == 80);
  CHECK(number_at<std::uint32_t>(words[4], 40) == 7);
  CHECK(number_at<std::uint32_t>(words[4], 44) == 9);
  CHECK(number_at<double>(words[4], 48) == 1e15);
  CHECK(number_at<double>(words[4], 56) == -1);
  words = words_of([&](redis::CommandWriter& out) { limiter::write_overrides(out, "k", {}); });
  CHECK(words[4].empty());
}

TEST_CASE("the scripts to load are in the order of their numbers") {
  REQUIRE(limiter::script_texts().size() == limiter::kScripts);
  for (std::size_t i = 0; i < limiter::kScripts; ++i) {
    const auto script = static_cast<Script>(i);
    CHECK(limiter::script_texts()[i] == limiter::script_text(script));
  }
}

TEST_CASE("a plain reply has the binding limit's numbers and the decision's waits") {
  const Program program = limiter::compile({kBucket, bucket("b", 9, {1, 1})}, {});
  limiter::Call call = call_of(program, 1);
  call.explain = false;
  const Numbers numbers{0, 1'000, 1, 9, 2, 30, 40, 0};
  const auto read = limiter::read_check(numbers.reply, call);
  REQUIRE(read);
  REQUIRE(read->outcome);
  CHECK_FALSE(read->outcome->allowed);
  CHECK(read->outcome->now_us == 1'000);
  CHECK(read->outcome->binding == 1);
  CHECK_FALSE(read->outcome->report.admitted);
  CHECK(read->outcome->report.limit == 9);
  CHECK(read->outcome->report.remaining == 2);
  CHECK(read->outcome->report.reset_after_us == 30);
  CHECK(read->outcome->report.retry_after_us == 40);
  CHECK(read->outcome->limits.empty());
}

TEST_CASE("an explained reply has every limit, and the leases that were taken") {
  const Program program = limiter::compile({kBucket, leases("pool", 5, 10s)}, {});
  const limiter::Call call = call_of(program, 1);
  const Numbers numbers{1, 1'000, 1, 5, 1, 10, 0, 3, 10'000'000, 1, 5, 4, 11, 0, 3, 1, 5, 1, 10, 0, 0};
  const auto read = limiter::read_check(numbers.reply, call);
  REQUIRE(read);
  REQUIRE(read->outcome);
  CHECK(read->outcome->lease_ttl_us(0) == 0);
  CHECK(read->outcome->lease_ttl_us(1) == 10'000'000);
  REQUIRE(read->outcome->limits.size() == 2);
  CHECK(read->outcome->limits[0].delay_us == 3);
  CHECK(read->outcome->limits[1].remaining == 1);
  CHECK(read->outcome->binding == 1);
  CHECK(read->outcome->report.delay_us == 3);  // the decision's
}

TEST_CASE("several groups are ordered by the plan, and their limits are told only where asked for") {
  Limit apart = kBucket;
  apart.name = "first";
  apart.key_by.push_back({Dimension::method, ""});
  const Program program = limiter::compile({apart, kBucket}, {});
  limiter::Call call = call_of(program, 1);
  call.explain = false;
  // Both have four of five left; the rule that comes second is the plan's first.
  const Numbers numbers{1, 1'000, 0, 5, 4, 10, 0, 0, 1, 5, 4, 10, 0, 0, 1, 5, 4, 20, 0, 0};
  const auto read = limiter::read_check(numbers.reply, call);
  REQUIRE(read);
  CHECK(read->outcome->binding == 1);
  CHECK(read->outcome->report.reset_after_us == 20);
  CHECK(read->outcome->limits.empty());
}

TEST_CASE("a period that does not hold is told with the store's time") {
  const Program program = limiter::compile({quota("q", 5, Period::day)}, {});
  const Numbers numbers{-1, 123'456};
  const auto read = limiter::read_check(numbers.reply, call_of(program, 1));
  REQUIRE(read);
  CHECK_FALSE(read->outcome);
  CHECK(read->wrong_period.now_us == 123'456);
}

TEST_CASE("a reply that is none of the script's is a protocol error of unknown outcome") {
  const Program program = limiter::compile({kBucket}, {});
  limiter::Call call = call_of(program, 1);
  const auto fault_of = [&](const Reply& reply) {
    const auto read = limiter::read_check(reply, call);
    REQUIRE_FALSE(read);
    CHECK(read.error().executed_unknown);
    return read.error().fault;
  };
  CHECK(fault_of(Reply{}) == StoreFault::protocol);
  CHECK(fault_of(integer(1)) == StoreFault::protocol);
  CHECK(fault_of(Numbers{}.reply) == StoreFault::protocol);
  CHECK(fault_of(Numbers{1, 1'000, 0, 5, 4, 10, 0, 0}.reply) == StoreFault::protocol);  // explained, but no limits
  CHECK(fault_of(Numbers{1, 1'000, 1, 5, 4, 10, 0, 0, 1, 5, 4, 10, 0, 0}.reply) == StoreFault::protocol);
  CHECK(fault_of(Numbers{1, 1'000, -1, 5, 4, 10, 0, 0, 1, 5, 4, 10, 0, 0}.reply) == StoreFault::protocol);
  Numbers mixed{1, 1'000, 0, 5, 4, 10, 0, 0, 1, 5, 4, 10, 0, 0};
  mixed.elements[4].type = Reply::Type::string;
  CHECK(fault_of(mixed.reply) == StoreFault::protocol);
}

TEST_CASE("packed numbers are read like integers, and numbers that no script sends are a protocol error") {
  const Program program = limiter::compile({kBucket}, {});
  limiter::Call call = call_of(program, 1);
  call.explain = false;
  const auto read = [&](std::vector<double> numbers, std::size_t cut = 0) {
    Reply reply;
    reply.type = Reply::Type::string;
    reply.text = {reinterpret_cast<const char*>(numbers.data()), numbers.size() * sizeof(double) - cut};
    return limiter::read_check(reply, call);
  };
  const auto admitted = read({1, 1e15, 0, 5, 4, 10, -1, 3});
  REQUIRE(admitted);
  REQUIRE(admitted->outcome);
  CHECK(admitted->outcome->allowed);
  CHECK(admitted->outcome->now_us == 1'000'000'000'000'000);
  CHECK(admitted->outcome->report.remaining == 4);
  CHECK(admitted->outcome->report.retry_after_us == -1);
  CHECK(admitted->outcome->report.delay_us == 3);
  CHECK(read({-1, 123'456})->wrong_period.now_us == 123'456);

  const auto is_broken = [](const limiter::StoreResult<limiter::CheckReply>& reply) {
    return !reply && reply.error().fault == StoreFault::protocol && reply.error().executed_unknown;
  };
  CHECK(is_broken(read({})));
  CHECK(is_broken(read({1, 1'000, 0, 5, 4, 10, 0})));
  CHECK(is_broken(read({1, 1'000, 0, 5, 4, 10, 0, 0}, 1)));
  CHECK(is_broken(read({1, 1'000, 0, 5, 4, 10, 0, std::nan("")})));
  CHECK(is_broken(read({1, 0x1p63, 0, 5, 4, 10, 0, 0})));
  CHECK(is_broken(read({1, -0x1.1p63, 0, 5, 4, 10, 0, 0})));
  CHECK(is_broken(read(std::vector<double>(1'000, 1))));
}

TEST_CASE("replies of releases and renewals are read, others are protocol errors") {
  const Reply released = integer(2);
  CHECK(limiter::read_leases(released, Script::release)->live);
  CHECK_FALSE(limiter::read_leases(integer(0), Script::release)->live);
  const Numbers renewed{1, 5'000};
  CHECK(limiter::read_leases(renewed.reply, Script::renew)->live);
  CHECK(limiter::read_leases(renewed.reply, Script::renew)->expires_at_us == 5'000);
  CHECK_FALSE(limiter::read_leases(Numbers{0, 0}.reply, Script::renew)->live);
  CHECK_FALSE(limiter::read_leases(renewed.reply, Script::release));
  CHECK_FALSE(limiter::read_leases(released, Script::renew));
}

TEST_CASE("an error is classified by its first token, and tells whether the call may have run") {
  struct Row {
    std::string_view text;
    StoreFault fault;
    bool unknown;
  };
  const Row rows[] = {
      {"NOSCRIPT No matching script. Please use EVAL.", StoreFault::no_script, false},
      {"ERR Function not found", StoreFault::no_function, false},
      {"ERR user_script:7: Function not found", StoreFault::script, true},
      {"READONLY You can't write against a read only replica.", StoreFault::read_only, false},
      {"MASTERDOWN Link with MASTER is down", StoreFault::read_only, false},
      {"CLUSTERDOWN Hash slot not served", StoreFault::cluster_down, false},
      {"MOVED 3999 127.0.0.1:6381", StoreFault::cluster_down, false},
      {"ASK 3999 127.0.0.1:6381", StoreFault::cluster_down, false},
      {"TRYAGAIN Multiple keys request during rehashing of slot", StoreFault::cluster_down, false},
      {"LOADING Redis is loading the dataset in memory", StoreFault::loading, false},
      {"BUSY Redis is busy running a script.", StoreFault::busy, false},
      {"OOM command not allowed when used memory > 'maxmemory'.", StoreFault::out_of_memory, false},
      {"NOREPLICAS Not enough good replicas to write.", StoreFault::no_replicas, false},
      {"MISCONF Redis is configured to save RDB snapshots", StoreFault::misconfigured, false},
      {"NOAUTH Authentication required.", StoreFault::authentication, false},
      {"WRONGPASS invalid username-password pair", StoreFault::authentication, false},
      {"NOPERM this user has no permissions", StoreFault::authentication, false},
      {"WRONGTYPE Operation against a key holding the wrong kind of value", StoreFault::wrong_type, true},
      {"ERR user_script:1: anything else", StoreFault::script, true},
      {"NOSCRIPTING", StoreFault::script, true},
      {"", StoreFault::script, true},
  };
  for (const Row& row : rows) {
    CAPTURE(row.text);
    const limiter::StoreError found = limiter::classify_error(error(row.text));
    CHECK(found.fault == row.fault);
    CHECK(found.executed_unknown == row.unknown);
  }
}

TEST_CASE("a quota beside another limit is always reported, so that its marks are found") {
  const Program program = limiter::compile({kBucket, quota("q", 10, Period::day)}, {});
  limiter::Call call = call_of(program, 2);
  call.explain = false;
  CHECK(check_words(call)[3 + 1][limiter::kExplainOffset] == 1);
  const auto marks = [&](std::int64_t allowed, std::int64_t left) {
    const Numbers numbers{allowed, 1'000, 0, 5, 1, 10, 0, 0, 1, 5, 1, 10, 0, 0, 1, 10, left, 50, 0, 0};
    return limiter::read_check(numbers.reply, call, false).value().outcome.value().marks;
  };
  CHECK(marks(1, 3).empty());
  CHECK(marks(1, 2) == std::vector<limiter::QuotaMark>{{.rule = 1, .percent = 80, .limit = 10, .used = 8}});
  CHECK(marks(1, 0) == std::vector<limiter::QuotaMark>{{.rule = 1, .percent = 100, .limit = 10, .used = 10}});
  CHECK(marks(0, 2).empty());  // judged together with others, of which one denied: nothing was charged
}
