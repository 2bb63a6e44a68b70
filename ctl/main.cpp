#include <cerrno>
#include <csignal>
#include <cstdio>
#include <exception>
#include <system_error>

#include "ctl/command_line.hpp"

int main(int argc, char** argv) {
  std::signal(SIGPIPE, SIG_IGN);  // a server that goes away is an error of the call
  sluice::ctl::Invocation invocation;
  const auto app = sluice::ctl::make_command_line(invocation);
  try {
    app->parse(argc, argv);
  } catch (const CLI::Success& shown) {  // --help and --version
    return app->exit(shown);
  } catch (const CLI::ParseError& wrong) {
    return static_cast<int>(sluice::ctl::fail(sluice::ctl::describe(*app, wrong)));
  } catch (const std::system_error& wrong) {
    if (std::ferror(stdout) != 0) return static_cast<int>(sluice::ctl::output_lost(wrong.code().value()));
    return static_cast<int>(sluice::ctl::fail(wrong.what()));
  } catch (const std::exception& wrong) {
    return static_cast<int>(sluice::ctl::fail(wrong.what()));
  }
  if (std::fflush(stdout) != 0) return static_cast<int>(sluice::ctl::output_lost(errno));
  return static_cast<int>(invocation.exit);
}
