#include "agent/token_file.hpp"

#include <fmt/format.h>

#include <cctype>
#include <utility>

#include "agent/bundle_file.hpp"
#include "common/domain/credential.hpp"

namespace sluice::agent {
namespace {

constexpr std::int64_t kLongest = 4096;

}  // namespace

Result<std::string> TokenFile::read() {
  const FileIdentity found = look_at(path_);
  if (read_as_ == found) return token_;
  read_as_.reset();
  if (found.size > kLongest) {
    return failure("token_file", fmt::format("the token file {} is larger than {} bytes", path_, kLongest));
  }
  auto file = read_whole(path_, true);
  if (!file) return failure("token_file", "the token file " + file.error().text);
  if (!*file) return failure("token_file", fmt::format("the token file {} changes while it is read", path_));
  std::string token = std::move((*file)->text);
  while (!token.empty() && std::isspace(static_cast<unsigned char>(token.back())) != 0) token.pop_back();
  if (!parse_key(token, CredentialKind::agent_token)) {
    return failure("token_file",
                   fmt::format("the token file {} holds no agent token (slg_<id>_<secret>, on one line)", path_));
  }
  token_ = std::move(token);
  read_as_ = (*file)->as;
  return token_;
}

}  // namespace sluice::agent
