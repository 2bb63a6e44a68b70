#include "ctl/core/text_file.hpp"

#include <filesystem>
#include <fstream>
#include <iostream>
#include <iterator>
#include <system_error>

#include <fmt/core.h>

#include "common/base/text.hpp"

namespace sluice::ctl {

Result<std::string> read_text(const std::string& path) {
  std::ifstream file;
  std::error_code ignored;
  const bool is_folder = path != "-" && std::filesystem::is_directory(path, ignored);  // which can be opened too
  if (path != "-" && !is_folder) file.open(path, std::ios::binary);
  std::istream& in = path == "-" ? std::cin : file;
  std::string text;
  if (!is_folder) text.assign(std::istreambuf_iterator<char>(in), {});
  if (in.bad() || (path != "-" && !file.is_open())) {
    return failure("file",
                   fmt::format("{} cannot be read: name a file that is there, or - for stdin", sluice::quoted(path)));
  }
  return text;
}

Result<std::string> read_secret(const std::string& path) {
  std::string secret;
  std::ifstream file;
  if (path != "-") file.open(path);
  std::istream& in = path == "-" ? std::cin : file;
  if (!std::getline(in, secret) || secret.empty()) {
    return failure("file", fmt::format("{} must have the secret as its first line, and must be readable",
                                       path == "-" ? "stdin" : sluice::quoted(path)));
  }
  while (!secret.empty() && (secret.back() == '\r' || secret.back() == ' ')) secret.pop_back();
  return secret;
}

}  // namespace sluice::ctl
