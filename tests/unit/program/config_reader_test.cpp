#include "common/program/config_reader.hpp"

#include <unistd.h>

#include <filesystem>

#include "tests/unit/program/keeper.hpp"

namespace sluice::program {
namespace {

using namespace std::chrono_literals;

// What `read` makes of the flags, and the faults it finds.
template <typename Read>
auto read_with(const Texts& arguments, Read read, Faults& faults) {
  const Flags flags = keeper(arguments);
  ConfigReader reader(flags);
  auto result = read(reader);
  CHECK(reader.faultless() == false);
  faults = std::move(reader).take_faults();
  return result;
}

template <typename Read>
auto good(const Texts& arguments, Read read) {
  const Flags flags = good_keeper(arguments);
  ConfigReader reader(flags);
  auto result = read(reader);
  CHECK(reader.faultless());
  return result;
}

constexpr auto kWorkers = [](ConfigReader& reader) { return reader.number("workers", 1, 256); };
constexpr auto kPatience = [](ConfigReader& reader) { return reader.duration("patience", 1ms, 10s, "1ms to 10s"); };
constexpr auto kListen = [](ConfigReader& reader) { return reader.address("listen"); };
constexpr auto kLoud = [](ConfigReader& reader) { return reader.boolean("loud"); };
constexpr auto kData = [](ConfigReader& reader) { return reader.file("data"); };

TEST_CASE("Booleans are true, false, 1 or 0") {
  Faults faults;
  CHECK(good({"--loud"}, kLoud));
  CHECK(good({"--loud=1"}, kLoud));
  CHECK_FALSE(good({"--loud=0"}, kLoud));
  CHECK_FALSE(good({}, kLoud));
  CHECK_FALSE(read_with({"--loud=yes"}, kLoud, faults));
  CHECK(the_fault(faults, "--loud") == "\"yes\" must be true, false, 1 or 0");
}

TEST_CASE("Numbers are whole, without sign, and in range") {
  CHECK(good({"--workers", "256"}, kWorkers) == 256);
  CHECK(good({"--workers", "1"}, kWorkers) == 1);
  for (const std::string number :
       {"0", "257", "-1", "+1", "1.5", "1e2", "0x2", "2 ", " 2", "two", "99999999999999999999"}) {
    CAPTURE(number);
    Faults faults;
    CHECK(read_with({"--workers=" + number}, kWorkers, faults) == 1);
    CHECK(the_fault(faults, "--workers") == "\"" + number + "\" must be a whole number from 1 to 256");
  }
}

TEST_CASE("Durations have a unit and a range") {
  CHECK(good({"--patience", "1ms"}, kPatience) == 1ms);
  CHECK(good({"--patience", "10s"}, kPatience) == 10s);
  CHECK(good({"--patience", "2000us"}, kPatience) == 2ms);
  for (const std::string duration : {"25", "0ms", "11s", "-1ms", "1500us", "1.5ms", "ms", "25 ms"}) {
    CAPTURE(duration);
    Faults faults;
    CHECK(read_with({"--patience=" + duration}, kPatience, faults) == 1ms);
    CHECK(mentions(the_fault(faults, "--patience"), "must be a duration from 1ms to 10s"));
  }
}

TEST_CASE("Addresses are numeric with a port") {
  CHECK(good({"--listen", "[::1]:0"}, kListen)->port() == 0);
  for (const std::string address : {"127.0.0.1", "127.0.0.1:", "127.0.0.1:65536", "127.0.0.1:-1", ":8088", "8088",
                                    "localhost:8088", "::1:8088", "[::1]", "127.0.0.1:80x"}) {
    CAPTURE(address);
    Faults faults;
    CHECK_FALSE(read_with({"--listen", address}, kListen, faults).has_value());
    CHECK(mentions(the_fault(faults, "--listen"), "must be ADDRESS:PORT"));
  }
}

TEST_CASE("Loopback is what only this machine reaches, also where IPv6 holds an IPv4 address") {
  const auto loopback = [](const char* text) { return is_loopback(boost::asio::ip::make_address(text)); };
  CHECK(loopback("127.0.0.1"));
  CHECK(loopback("127.8.0.9"));
  CHECK(loopback("::1"));
  CHECK(loopback("::ffff:127.0.0.1"));
  CHECK_FALSE(loopback("::ffff:10.0.0.1"));
  CHECK_FALSE(loopback("0.0.0.0"));
  CHECK_FALSE(loopback("::"));
}

TEST_CASE("A host is loopback if it is such an address, or localhost, and not if its name only looks like one") {
  for (const char* host : {"127.0.0.1", "127.255.255.254", "::1", "::ffff:127.0.0.1", "localhost"}) {
    CAPTURE(host);
    CHECK(is_loopback(host));
  }
  for (const char* host : {"127.evil.example", "127.0.0.1.evil.example", "127.1", "127", "128.0.0.1", "10.0.0.1", "::2",
                           "::ffff:10.0.0.1", "0.0.0.0", "localhost.evil.example", "notlocalhost", "Localhost", ""}) {
    CAPTURE(host);
    CHECK_FALSE(is_loopback(host));
  }
}

TEST_CASE("Every file named must be there and be a file") {
  Faults faults;
  const std::string folder = std::filesystem::temp_directory_path();
  CHECK(good({}, kData).empty());
  CHECK(good({"--data", "/dev/null"}, kData) == "/dev/null");
  read_with({"--data", "/nowhere/data"}, kData, faults);
  CHECK(mentions(the_fault(faults, "--data"), "\"/nowhere/data\" cannot be read: No such file or directory"));
  read_with({"--data", folder}, kData, faults);
  CHECK(mentions(the_fault(faults, "--data"), "is a directory"));
}

TEST_CASE("A flag that was given without use is a fault, a default is not") {
  const auto require = [](ConfigReader& reader) {
    reader.require_use("data", false, "has no use");
    return 0;
  };
  Faults faults;
  good({}, require);
  read_with({"--data", "x"}, require, faults);
  CHECK(the_fault(faults, "--data") == "\"x\" has no use");
}

TEST_CASE("A value from outside cannot write control characters to the terminal, nor fill the screen") {
  Faults faults;
  read_with({"--workers", "a\x1b[2J\n" + std::string(10'000, 'x')}, kWorkers, faults);
  const std::string text = the_fault(faults, "--workers");
  CHECK_FALSE(mentions(text, "\x1b"));
  CHECK_FALSE(mentions(text, "\n"));
  CHECK(text.size() < 400);
}

TEST_CASE("What may hold a password is not shown") {
  Faults faults;
  read_with({"--workers", "user:hunter2@host"}, kWorkers, faults);
  CHECK_FALSE(mentions(the_fault(faults, "--workers"), "hunter2"));
  const auto secret = [](ConfigReader& reader) {
    reader.fault_without_value("owner-url", "is wrong");
    return 0;
  };
  read_with({"--owner-url", "hunter2"}, secret, faults);
  CHECK(the_fault(faults, "--owner-url") == "is wrong");
}

TEST_CASE("The faults of the command line come before those of its values") {
  Faults faults;
  read_with({"--workers", "0", "--nonsense"}, kWorkers, faults);
  REQUIRE(faults.size() == 2);
  CHECK(faults[0].pointer == "--nonsense");
  CHECK(faults[1].pointer == "--workers");
}

TEST_CASE("A fault list is readable: a headline with the number, one line each, and where help is") {
  const Faults faults{{"--workers", "is wrong"}, {"", "is of no flag"}};
  CHECK(describe(faults, "keeper cannot start", "keeper") ==
        "keeper cannot start: 2 faults\n"
        "  --workers: is wrong\n"
        "  is of no flag\n"
        "All flags: keeper --help\n");
  CHECK(describe({{"a", "b"}}, "x", "y") == "x: 1 fault\n  a: b\nAll flags: y --help\n");
}

}  // namespace
}  // namespace sluice::program
