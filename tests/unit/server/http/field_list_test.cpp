// Lists in header fields.
#include "server/http/field_list.hpp"

#include <doctest/doctest.h>

namespace sluice::server {
namespace {

TEST_CASE("a content coding is taken where the caller says so") {
  for (const char* yes : {"gzip", "deflate, gzip", "GZIP;q=0.5", "br;q=1.0, *", "x-gzip"}) {
    CHECK(http::takes_coding(yes, "gzip"));
  }
  for (const char* no : {"", "identity", "gzip;q=0", "gzip ; q=0.000", "*;q=0", "gzipped", "br", "*, gzip;q=0"}) {
    CHECK_FALSE(http::takes_coding(no, "gzip"));
  }
}

TEST_CASE("another coding is asked for by its own name") {
  CHECK(http::takes_coding("gzip, br", "br"));
  CHECK_FALSE(http::takes_coding("gzip, x-br", "br"));
}

}  // namespace
}  // namespace sluice::server
