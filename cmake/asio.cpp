// The body of Boost.Asio, for all that link sluice_asio.
#include <boost/asio/impl/src.hpp>
#include <boost/asio/ssl/impl/src.hpp>
