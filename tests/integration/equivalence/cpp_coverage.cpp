#include "tests/integration/equivalence/cpp_coverage.hpp"

#include <fmt/core.h>

#include <cstdio>
#include <cstdlib>
#include <regex>
#include <sstream>
#include <stdexcept>

#include "tests/integration/support/redis_server.hpp"

extern "C" {
void __llvm_profile_set_filename(const char* name);
int __llvm_profile_write_file();
}

namespace sluice::test {
namespace {

std::string output_of(const std::string& command) {
  FILE* pipe = ::popen(command.c_str(), "r");
  if (pipe == nullptr) throw std::runtime_error("cannot run " + command);
  std::string text;
  char buffer[65536];
  while (const std::size_t size = std::fread(buffer, 1, sizeof buffer, pipe)) text.append(buffer, size);
  if (::pclose(pipe) != 0) throw std::runtime_error("failed: " + command);
  return text;
}

bool installed(const char* tool) {
  return std::system(fmt::format("command -v {} >/dev/null 2>&1", tool).c_str()) == 0;
}

// llvm-cov's own text: a source line, "   33|  1.2k|  if (…", is followed by its branches,
// "  |  Branch (33:7): [True: 0, False: 12]".
CppCoverage read_listing(const std::string& listing) {
  static const std::regex kFile(R"(^(/.*\.[ch]pp):$)");
  static const std::regex kSource(R"(^ *(\d+)\| *[^|]*\|(.*)$)");
  static const std::regex kBranch(R"(Branch \((\d+):(\d+)\): \[True: ([^,]+), False: ([^\]]+)\])");
  CppCoverage found;
  std::string file, line;
  std::vector<std::string> sources;
  std::istringstream lines(listing);
  for (std::smatch match; std::getline(lines, line);) {
    if (std::regex_search(line, match, kBranch)) {
      found.branches += 2;
      const auto at = static_cast<std::size_t>(std::stoul(match[1]));
      for (const auto& [group, never] : {std::pair{3, "never true"}, std::pair{4, "never false"}}) {
        if (match[static_cast<std::size_t>(group)] != "0") continue;
        found.unreached.push_back(
            fmt::format("{}:{}:{}: {}: {}", file, at, match[2].str(), never, at < sources.size() ? sources[at] : ""));
      }
    } else if (std::regex_match(line, match, kSource)) {
      const auto at = static_cast<std::size_t>(std::stoul(match[1]));
      if (sources.size() <= at) sources.resize(at + 1);
      sources[at] = match[2];
    } else if (std::regex_match(line, match, kFile)) {
      file = match[1];
      sources.clear();
    }
  }
  return found;
}

}  // namespace

// It is written at the end of the process: where the whole build is measured, to where that is wanted.
void leave_no_profile() {
  const char* wanted = std::getenv("LLVM_PROFILE_FILE");
  __llvm_profile_set_filename(wanted != nullptr ? wanted : "/dev/null");
}

std::optional<CppCoverage> cpp_coverage() {
  if (!installed("llvm-profdata-19") || !installed("llvm-cov-19")) return std::nullopt;
  const TemporaryFolder folder;
  const std::string raw = (folder.path() / "run.profraw").string(), data = (folder.path() / "run.profdata").string();
  __llvm_profile_set_filename(raw.c_str());
  if (__llvm_profile_write_file() != 0) throw std::runtime_error("no profile was written");
  leave_no_profile();
  output_of(fmt::format("llvm-profdata-19 merge -o {} {}", data, raw));
  return read_listing(
      output_of(fmt::format("llvm-cov-19 show {} -instr-profile={} -show-branches=count -show-instantiations=false {}",
                            std::filesystem::read_symlink("/proc/self/exe").string(), data, COUNTED_SOURCES)));
}

}  // namespace sluice::test
