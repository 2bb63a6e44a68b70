// main() of all doctest programs. A test case that hangs ends its program with its name, so that ctest goes on with the
// next program: after 240 s, or what the case says with `* doctest::timeout(seconds)`.
#define DOCTEST_CONFIG_IMPLEMENT_WITH_MAIN
#include <doctest/doctest.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>

namespace {

constexpr double kDefaultSeconds = 240;

// doctest reports SIGABRT as a crash of the running case and names it.
void give_up(int) {
  static constexpr char kText[] = "\nThe test case below takes longer than its time limit.\n";
  [[maybe_unused]] const auto written = write(STDERR_FILENO, kText, sizeof kText - 1);
  std::abort();
}

class TimeLimit final : public doctest::IReporter {
 public:
  explicit TimeLimit(const doctest::ContextOptions&) { std::signal(SIGALRM, give_up); }

  void test_case_start(const doctest::TestCaseData& test) override { start(test); }
  void test_case_reenter(const doctest::TestCaseData& test) override { start(test); }
  void test_case_end(const doctest::CurrentTestCaseStats&) override { alarm(0); }
  void test_case_exception(const doctest::TestCaseException&) override {}
  void report_query(const doctest::QueryData&) override {}
  void test_run_start() override {}
  void test_run_end(const doctest::TestRunStats&) override {}
  void subcase_start(const doctest::SubcaseSignature&) override {}
  void subcase_end() override {}
  void log_assert(const doctest::AssertData&) override {}
  void log_message(const doctest::MessageData&) override {}
  void test_case_skipped(const doctest::TestCaseData&) override {}

 private:
  static void start(const doctest::TestCaseData& test) {
    alarm(static_cast<unsigned>(test.m_timeout > 0 ? test.m_timeout : kDefaultSeconds));
  }
};

}  // namespace

REGISTER_LISTENER("time_limit", 1, TimeLimit);
