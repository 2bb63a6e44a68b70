using System.Net;
using System.Net.Sockets;
using System.Text.RegularExpressions;

namespace Sluice
{
    /// <summary>What checks of requests say, as the middleware of all SDKs says it.</summary>
    public static class Requests
    {
        /// <summary>The endpoint of a request that matches no route.</summary>
        public const string Unmatched = "{unmatched}";

        static readonly Regex Parameter = new Regex(@"\{\*{0,2}([^{}:=?]+)(?:[:=?](?:[^{}]|\{\{|\}\}|\{[^{}]*\})*)?\}");

        /// <summary>
        /// The pattern of a route of ASP.NET Core in the notation of all SDKs: <c>users/{id:int}</c> is <c>/users/{id}</c>,
        /// <c>files/{**path}</c> is <c>/files/{path}</c>. Null, for a request without a route, is <c>{unmatched}</c>.
        /// </summary>
        public static string Endpoint(string route)
        {
            if (route == null) return Unmatched;
            return "/" + Parameter.Replace(route, "{$1}").TrimStart('/');
        }

        /// <summary>
        /// The subject that stands for a client's address: <c>ip:203.0.113.7</c>; of an IPv6 address its /64, because one client has all of
        /// it. Null is <c>ip:unknown</c>.
        /// </summary>
        public static string Subject(IPAddress address)
        {
            if (address == null) return "ip:unknown";
            if (address.IsIPv4MappedToIPv6) address = address.MapToIPv4();
            if (address.AddressFamily != AddressFamily.InterNetworkV6) return "ip:" + address;
            var bytes = address.GetAddressBytes();
            for (var i = 8; i < bytes.Length; i++) bytes[i] = 0;
            return "ip:" + new IPAddress(bytes) + "/64";
        }
    }
}
