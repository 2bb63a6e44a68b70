#include "server/webhooks/signing.hpp"

#include <doctest/doctest.h>

#include <cstdio>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

using namespace sluice;
using namespace sluice::server::webhooks;

namespace {

const std::string kOne(32, 'a');
const std::string kTwo(40, 'b');

class KeyFile {
 public:
  explicit KeyFile(const std::string& text)
      : path_(std::filesystem::temp_directory_path() / ("webhook-keys-" + to_hex(sha256(text)))) {
    std::ofstream(path_) << text;
  }
  ~KeyFile() { std::filesystem::remove(path_); }
  Result<Keys> read() const { return read_keys(path_); }

 private:
  std::filesystem::path path_;
};

}  // namespace

TEST_CASE("A signature is the one that the specification's own example has") {
  const std::vector<std::string> secrets{"whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"};
  CHECK(signatures(secrets, "msg_p5jXN8AQM9LWM0D4loKWxJek", 1614265330, R"({"test": 2432232314})") ==
        "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=");
}

TEST_CASE("During a rotation there is a signature by each secret") {
  const Keys keys = *KeyFile(kOne).read();
  const std::vector<std::string> both{secret_text(keys.newest(), "shop", "alerts", "s1"),
                                      secret_text(keys.newest(), "shop", "alerts", "s2")};
  const std::string two = signatures(both, "evt_1", 7, "{}");
  CHECK(two == signatures({&both[0], 1}, "evt_1", 7, "{}") + " " + signatures({&both[1], 1}, "evt_1", 7, "{}"));
  CHECK(signatures({&both[0], 1}, "evt_1", 7, "{}") != signatures({&both[1], 1}, "evt_1", 7, "{}"));
}

TEST_CASE("Each webhook, tenant, salt and key has another secret") {
  const Keys one = *KeyFile(kOne).read();
  const Keys two = *KeyFile(kTwo).read();
  const std::string secret = secret_text(one.newest(), "shop", "alerts", "s");
  CHECK(secret.size() == 50);
  CHECK(secret == secret_text(one.newest(), "shop", "alerts", "s"));
  CHECK(secret != secret_text(two.newest(), "shop", "alerts", "s"));
  CHECK(secret != secret_text(one.newest(), "forum", "alerts", "s"));
  CHECK(secret != secret_text(one.newest(), "shop", "other", "s"));
  CHECK(secret != secret_text(one.newest(), "shop", "alerts", "t"));
  CHECK(secret_text(one.newest(), "a", "bc", "s") != secret_text(one.newest(), "ab", "c", "s"));
  CHECK(new_secret(one).salt != new_secret(one).salt);
}

TEST_CASE("The first key makes new secrets, and further lines serve older ones") {
  const Keys keys = *KeyFile(kTwo + "\n\n" + kOne + "\r\n").read();
  CHECK(new_secret(keys).key_name == KeyFile(kTwo).read()->newest().name);
  CHECK(keys.find(KeyFile(kOne).read()->newest().name) != nullptr);
  CHECK(keys.find("other") == nullptr);
}

TEST_CASE("A file without good keys is refused, and the text holds nothing of it") {
  CHECK(KeyFile("\n").read().error().code == "credentials");
  CHECK(KeyFile(kOne + "\nshort").read().error().text.find("short") == std::string::npos);
  CHECK_FALSE(read_keys("/no/such/file"));
  std::string many;
  for (std::size_t i = 0; i <= kMaxKeys; ++i) many += kOne + std::to_string(i) + "\n";
  CHECK_FALSE(KeyFile(many).read());
}
