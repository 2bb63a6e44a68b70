// Prints the description of the admin API, from which the console's types are made. A tool of the build.
#include <cstdio>

#include "server/admin/openapi.hpp"

int main() {
  const std::string_view text = sluice::server::admin::openapi_document();
  return std::fwrite(text.data(), 1, text.size(), stdout) == text.size() ? 0 : 1;
}
