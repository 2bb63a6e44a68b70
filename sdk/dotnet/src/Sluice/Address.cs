using System;
using System.Linq;

namespace Sluice
{
    /// <summary>Where an agent is.</summary>
    sealed class Address
    {
        readonly string text;

        Address(string text, string host, int port, bool tls, string socket)
        {
            this.text = text;
            Host = host;
            Port = port;
            Tls = tls;
            Socket = socket;
        }

        /// <summary>Null for a Unix socket.</summary>
        public string Host { get; }
        public int Port { get; }
        public bool Tls { get; }
        /// <summary>The path of a Unix socket; null for TCP.</summary>
        public string Socket { get; }

        public string HostHeader
        {
            get
            {
                if (Host == null) return "sluice";
                var host = Host.Contains(":") ? "[" + Host + "]" : Host;
                return Port == (Tls ? 443 : 80) ? host : host + ":" + Port;
            }
        }

        public static Address Parse(string source, string text)
        {
            var rule = source + " must be http://HOST[:PORT], https://HOST[:PORT] or unix:///PATH, without a user, path or query";
            // A text with an @ may hold a password.
            var shown = text.Contains("@") ? rule : rule + "; got \"" + text + "\"";
            if (text.StartsWith("unix:", StringComparison.Ordinal))
            {
                var path = text.Substring(text.StartsWith("unix://", StringComparison.Ordinal) ? 7 : 5);
                if (!path.StartsWith("/", StringComparison.Ordinal)) throw new ArgumentException(shown);
                return new Address(text, null, 0, false, path);
            }
            if (!Uri.TryCreate(text, UriKind.Absolute, out var uri) || (uri.Scheme != "http" && uri.Scheme != "https") ||
                uri.Host.Length == 0 || uri.UserInfo.Length > 0 || uri.PathAndQuery != "/" || uri.Fragment.Length > 0 || text.Any(char.IsWhiteSpace))
                throw new ArgumentException(shown);
            return new Address(text, uri.Host.Trim('[', ']'), uri.Port, uri.Scheme == "https", null);
        }

        public override string ToString() => text;
    }
}
