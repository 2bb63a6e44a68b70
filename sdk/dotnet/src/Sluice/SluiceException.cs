using System;
using System.Collections.Generic;

namespace Sluice
{
    /// <summary>Why there is no decision of the agent.</summary>
    public enum ErrorKind
    {
        /// <summary>No connection: refused, no such socket or host, a TLS handshake that failed.</summary>
        Unreachable,
        /// <summary>The call took longer than the client's timeout.</summary>
        Timeout,
        /// <summary>The reply is cut, is no HTTP, or is no decision.</summary>
        Protocol,
        /// <summary>The agent cannot decide now: overload, no policies yet, or another 5xx.</summary>
        Unavailable,
        /// <summary>The call is wrong, such as an unknown field or API key.</summary>
        Refused
    }

    /// <summary>The agent gave no decision. Thrown with <see cref="OnError.Raise"/>; else it is the Error of a decision.</summary>
    public sealed class SluiceException : Exception
    {
        public SluiceException(ErrorKind kind, string detail) : this(kind, 0, "", detail, new IDictionary<string, object>[0]) { }

        public SluiceException(ErrorKind kind, int status, string code, string detail, IReadOnlyList<IDictionary<string, object>> errors)
            : base(detail)
        {
            Kind = kind;
            Status = status;
            Code = code;
            Errors = errors;
        }

        public ErrorKind Kind { get; }
        /// <summary>The HTTP status of the reply; 0 without a reply.</summary>
        public int Status { get; }
        /// <summary>The problem's code, such as "invalid"; empty if it has none.</summary>
        public string Code { get; }
        /// <summary>The faulty fields of the call: "pointer" and "detail" of each.</summary>
        public IReadOnlyList<IDictionary<string, object>> Errors { get; }
    }
}
