#include "engine/policies/token_file.hpp"

#include <fmt/core.h>

#include <cctype>
#include <utility>

#include "common/domain/credential.hpp"
#include "engine/policies/bundle_file.hpp"

namespace sluice::policies {
namespace {

constexpr std::int64_t kLongest = 6144;  // bytes; keeps a request's header within the limit of the server

// True for header.claims.signature, each in base64url (RFC 7515). The server verifies the signature.
bool is_signed_token(std::string_view text) {
  int parts = 1;
  std::size_t length = 0;
  for (const char c : text) {
    if (c == '.') {
      if (length == 0) return false;
      ++parts;
      length = 0;
    } else if (std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '-' || c == '_') {
      ++length;
    } else {
      return false;
    }
  }
  return parts == 3 && length > 0;
}

}  // namespace

Result<std::string> TokenFile::read() {
  const FileIdentity found = current_identity(path_);
  if (read_identity_ == found) return token_;
  read_identity_.reset();
  if (found.size > kLongest) {
    return failure("token_file", fmt::format("the token file {} is larger than {} bytes", path_, kLongest));
  }
  auto file = read_whole(path_, true);
  if (!file) return failure("token_file", "the token file " + file.error().text);
  if (!*file) return failure("token_file", fmt::format("the token file {} changes while it is read", path_));
  std::string token = std::move((*file)->text);
  while (!token.empty() && std::isspace(static_cast<unsigned char>(token.back())) != 0) token.pop_back();
  if (!parse_key(token, CredentialKind::agent_token) && !is_signed_token(token)) {
    return failure(
        "token_file",
        fmt::format("the token file {} holds no agent token (slg_<id>_<secret>, on one line) and no token of "
                    "a Kubernetes service account",
                    path_));
  }
  token_ = std::move(token);
  read_identity_ = (*file)->identity;
  return token_;
}

}  // namespace sluice::policies
