using System.Net;
using System.Net.Sockets;
using System.Text;

namespace Sluice
{
    /// <summary>The address of a Unix socket, by hand: the class of .NET is not everywhere where this compiles.</summary>
    sealed class UnixSocket : EndPoint
    {
        const int Family = 1; // AF_UNIX

        readonly string path;

        UnixSocket(string path)
        {
            this.path = path;
        }

        public static EndPoint EndPoint(string path)
        {
#if NETCOREAPP || NETSTANDARD2_1
            return new UnixDomainSocketEndPoint(path);
#else
            return new UnixSocket(path);
#endif
        }

        public override AddressFamily AddressFamily => AddressFamily.Unix;

        public override EndPoint Create(SocketAddress address) => new UnixSocket(path);

        public override SocketAddress Serialize()
        {
            var bytes = Encoding.UTF8.GetBytes(path);
            var address = new SocketAddress(AddressFamily.Unix, 2 + bytes.Length + 1);
            address[0] = Family;
            address[1] = 0;
            for (var i = 0; i < bytes.Length; i++) address[2 + i] = bytes[i];
            address[2 + bytes.Length] = 0;
            return address;
        }

        public override string ToString() => path;
    }
}
