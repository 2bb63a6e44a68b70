using System;
using System.Collections.Generic;
using System.Globalization;
using System.Net.Security;

namespace Sluice
{
    /// <summary>What a check gives if the agent gave no decision.</summary>
    public enum OnError
    {
        /// <summary>A decision with Allowed true.</summary>
        Allow,
        /// <summary>A decision with Allowed false.</summary>
        Deny,
        /// <summary>A <see cref="SluiceException"/>.</summary>
        Raise
    }

    /// <summary>The options of a client. What is not set comes from the environment, else it has its default.</summary>
    public sealed class SluiceOptions
    {
        /// <summary>The agent: http://HOST[:PORT], https://HOST[:PORT] or unix:///path.</summary>
        public string Url { get; set; }
        /// <summary>The agent's Unix socket.</summary>
        public string Socket { get; set; }
        /// <summary>The tenant's API key.</summary>
        public string ApiKey { get; set; }
        /// <summary>A file with the API key, such as a mounted Secret.</summary>
        public string ApiKeyFile { get; set; }
        /// <summary>The longest that one call may take, connecting included; 50 ms if it is not set.</summary>
        public TimeSpan? Timeout { get; set; }
        /// <summary>What a check gives if the agent gave no decision; Allow if it is not set.</summary>
        public OnError? OnError { get; set; }
        /// <summary>Open connections of the client.</summary>
        public int MaxConnections { get; set; } = 64;
        /// <summary>Checks the agent's certificate; null for the rules of the system.</summary>
        public RemoteCertificateValidationCallback CheckCertificate { get; set; }
        /// <summary>The client's certificates for mTLS; null for none.</summary>
        public System.Security.Cryptography.X509Certificates.X509CertificateCollection ClientCertificates { get; set; }
        /// <summary>Gets a line for each kind of error; null for System.Diagnostics.Trace.</summary>
        public Action<string> Log { get; set; }
        /// <summary>Reads a variable of the environment.</summary>
        public Func<string, string> Environment { get; set; } = System.Environment.GetEnvironmentVariable;

        internal Address Address()
        {
            if (Url != null && Socket != null)
                throw new ArgumentException("the options Url and Socket exclude each other: set one of them");
            if (Socket != null) return Sluice.Address.Parse("the option Socket", "unix://" + Socket);
            if (Url != null) return Sluice.Address.Parse("the option Url", Url);
            if (Variable("SLUICE_SOCKET") != null) return Sluice.Address.Parse("SLUICE_SOCKET", "unix://" + Variable("SLUICE_SOCKET"));
            return Sluice.Address.Parse("SLUICE_URL", Variable("SLUICE_URL") ?? "http://127.0.0.1:8088");
        }

        internal KeySource Key()
        {
            if (ApiKey != null && ApiKeyFile != null)
                throw new ArgumentException("the options ApiKey and ApiKeyFile exclude each other: set one of them");
            if (ApiKey != null) return KeySource.Of("the option ApiKey", ApiKey);
            if (ApiKeyFile != null) return KeySource.InFile(ApiKeyFile);
            if (Variable("SLUICE_API_KEY") != null) return KeySource.Of("SLUICE_API_KEY", Variable("SLUICE_API_KEY"));
            return Variable("SLUICE_API_KEY_FILE") != null ? KeySource.InFile(Variable("SLUICE_API_KEY_FILE")) : KeySource.None;
        }

        internal TimeSpan CallTimeout()
        {
            if (Timeout != null)
            {
                if (Timeout <= TimeSpan.Zero) throw new ArgumentException("the option Timeout must be above 0; got " + Timeout);
                return Timeout.Value;
            }
            var text = Variable("SLUICE_TIMEOUT");
            return text == null ? TimeSpan.FromMilliseconds(50) : ParseDuration(text);
        }

        internal OnError ErrorMode()
        {
            if (OnError != null) return OnError.Value;
            switch (Variable("SLUICE_ON_ERROR"))
            {
                case null:
                case "allow": return Sluice.OnError.Allow;
                case "deny": return Sluice.OnError.Deny;
                case "raise": return Sluice.OnError.Raise;
                default: throw new ArgumentException("SLUICE_ON_ERROR must be allow, deny or raise; got \"" + Variable("SLUICE_ON_ERROR") + "\"");
            }
        }

        internal int Connections()
        {
            if (MaxConnections < 1) throw new ArgumentException("the option MaxConnections must be at least 1; got " + MaxConnections);
            return MaxConnections;
        }

        string Variable(string name)
        {
            var value = Environment(name);
            return string.IsNullOrEmpty(value) ? null : value;
        }

        static readonly KeyValuePair<string, double>[] Units =
        {
            new KeyValuePair<string, double>("ms", 1), new KeyValuePair<string, double>("s", 1000), new KeyValuePair<string, double>("m", 60000)
        };

        static TimeSpan ParseDuration(string text)
        {
            foreach (var unit in Units)
            {
                if (!text.EndsWith(unit.Key, StringComparison.Ordinal)) continue;
                var number = text.Substring(0, text.Length - unit.Key.Length);
                if (double.TryParse(number, NumberStyles.AllowDecimalPoint, CultureInfo.InvariantCulture, out var value) && value > 0 &&
                    value * unit.Value <= 86400000)
                    return TimeSpan.FromTicks((long)(value * unit.Value * TimeSpan.TicksPerMillisecond));
            }
            throw new ArgumentException("SLUICE_TIMEOUT must be a duration such as 50ms, 1.5s or 1m; got \"" + text + "\"");
        }
    }
}
