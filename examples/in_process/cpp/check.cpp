#include <iostream>
#include <sluice/engine.hpp>
int main() {
  auto opened = sluice::v1::Engine::open({.bundle_file = "policies.yaml"});
  if (!opened) return std::cerr << opened.status.message << "\n", 1;
  for (int i = 0; i < 4; ++i) {
    const auto decision = opened.engine->check({.resource = "GET:/orders", .subject = "user:42"});
    std::cout << (decision.allowed ? "allowed" : "denied") << ", " << decision.remaining << " left\n";
  }
}
