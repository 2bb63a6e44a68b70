// The non-template code of Boost.Asio, for all targets that link sluice_asio.
#include <boost/asio/impl/src.hpp>
#include <boost/asio/ssl/impl/src.hpp>
