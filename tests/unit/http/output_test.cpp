#include <memory>
#include <random>
#include <string>

#include <doctest/doctest.h>

#include "common/http/output.hpp"

namespace sluice::http {
namespace {

SharedBody shared(std::size_t size, char fill) { return std::make_shared<const std::string>(size, fill); }

std::string drained(Output& output) {
  std::string all;
  while (!output.empty()) {
    const std::string_view next = output.next();
    all += next;
    output.consume(next.size());
  }
  return all;
}

TEST_CASE("texts and shared bodies leave in the order they came") {
  Output output;
  output.text() += "a";
  output.append(shared(20'000, 'B'));
  output.text() += "c";
  output.append(shared(10, 'd'));
  output.append(shared(30'000, 'E'));
  CHECK(output.size() == 50'012);
  CHECK(drained(output) == "a" + std::string(20'000, 'B') + "c" + std::string(10, 'd') + std::string(30'000, 'E'));
  CHECK(output.size() == 0);
}

TEST_CASE("a shared body is sent from where it is, in slices, and let go when it is sent") {
  Output output;
  const SharedBody body = shared(2 * Output::kSlice + 5, 'x');
  output.append(body);
  CHECK(body.use_count() == 2);
  CHECK(output.next().data() == body->data());
  CHECK(output.next().size() == Output::kSlice);
  output.consume(100);
  CHECK(output.next().data() == body->data() + 100);
  CHECK(output.capacity() < 1'000);
  CHECK(drained(output).size() == body->size() - 100);
  CHECK(body.use_count() == 1);
}

TEST_CASE("what is being sent stays where it is while more comes") {
  Output output;
  output.text() += "first";
  const std::string_view first = output.next();
  output.text() += std::string(100'000, 'y');
  output.append(shared(50'000, 'z'));
  CHECK(output.next().data() == first.data());
  CHECK(first == "first");
  output.consume(5);
  CHECK(drained(output) == std::string(100'000, 'y') + std::string(50'000, 'z'));
}

TEST_CASE("memory that grew large is given back, small memory is used again") {
  Output output;
  output.text() += std::string(1'000'000, 'x');
  drained(output);
  CHECK(output.capacity() < 1'000);
  output.text() += std::string(1'000, 'x');
  drained(output);
  const std::size_t kept = output.capacity();
  output.text() += std::string(1'000, 'x');
  CHECK(output.capacity() == kept);
}

TEST_CASE("whatever is appended and consumed in whatever pieces, nothing is lost, doubled or swapped") {
  std::mt19937 random(7);  // NOLINT: the same every time
  for (int round = 0; round < 200; ++round) {
    Output output;
    std::string expected;
    std::string got;
    for (int step = 0; step < 40; ++step) {
      const SharedBody piece = shared(random() % 40'000, static_cast<char>('a' + step % 26));
      if (random() % 2 == 0) {
        output.append(piece);
      } else {
        output.text() += *piece;
      }
      expected += *piece;
      if (output.empty() || random() % 3 == 0) continue;
      const std::size_t taken = 1 + random() % output.next().size();
      got += output.next().substr(0, taken);
      output.consume(taken);
      REQUIRE(got.size() + output.size() == expected.size());
    }
    REQUIRE(got + drained(output) == expected);
  }
}

}  // namespace
}  // namespace sluice::http
