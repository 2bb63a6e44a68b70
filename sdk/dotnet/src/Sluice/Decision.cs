using System;
using System.Collections.Generic;

namespace Sluice
{
    /// <summary>Whether a request may go on, and why. Members of a reply that have another type than expected count as absent.</summary>
    public sealed class Decision
    {
        static readonly IReadOnlyDictionary<string, string> NoHeaders = new Dictionary<string, string>();

        readonly IDictionary<string, object> body;
        readonly string headerId;

        internal Decision(IDictionary<string, object> body, int status, IReadOnlyDictionary<string, string> headers, string requestId)
        {
            this.body = body;
            Status = status;
            Headers = headers ?? NoHeaders;
            headerId = requestId;
        }

        internal Decision(SluiceException error, bool allowed)
            : this(new Dictionary<string, object> { ["allowed"] = allowed, ["action"] = allowed ? "allow" : "deny", ["reason"] = "error" },
                error.Status, null, null)
        {
            Error = error;
        }

        /// <summary>Whether the request may go on.</summary>
        public bool Allowed => Flag("allowed") ?? false;
        /// <summary>The same as Allowed.</summary>
        public bool Success => Allowed;
        /// <summary>The agent's reason, such as within_limit; "error" if it gave no decision.</summary>
        public string Reason => Text("reason") ?? "";
        /// <summary>The agent's action, such as allow, deny or delay.</summary>
        public string Action => Text("action") ?? "";
        public long? Limit => Number("limit");
        public long? Remaining => Number("remaining");
        /// <summary>When the whole limit is back, in Unix seconds.</summary>
        public long? Reset => Number("reset_at");
        /// <summary>How long until the same check would pass; zero if allowed. Null if it never can, or if the client cannot know.</summary>
        public TimeSpan? RetryAfter => Span("retry_after_ms") ?? (Allowed ? TimeSpan.Zero : (TimeSpan?)null);
        /// <summary>How long to wait before going on.</summary>
        public TimeSpan Delay => Span("delay_ms") ?? TimeSpan.Zero;
        /// <summary>How long the agent held the check.</summary>
        public TimeSpan Waited => Span("waited_ms") ?? TimeSpan.Zero;
        public string Policy => Text("policy_id");
        public long? PolicyVersion => Number("policy_version");
        public string Plan => Text("plan_id");
        public string LimitName => Text("limit_name");
        /// <summary>The policy is in shadow mode: judged, not enforced.</summary>
        public bool Shadow => Flag("shadow") ?? false;
        public bool WouldAllow => Flag("would_allow") ?? Allowed;
        public bool OverLimit => Flag("over_limit") ?? (Reason == "limit_exceeded" || Reason == "sampled");
        public double? SampleRate => body.TryGetValue("sample_rate", out var value) ? value is double rate ? rate : value is long whole ? whole : (double?)null : null;
        public string DowngradeTo => Text("downgrade_to");
        public IDictionary<string, object> Metadata => body.TryGetValue("metadata", out var value) ? value as IDictionary<string, object> : null;
        public string LeaseId => Text("lease_id");
        /// <summary>When the lease ends by itself, in Unix seconds.</summary>
        public long? LeaseExpiresAt => Number("lease_expires_at");
        /// <summary>The rate limit headers of the reply, to be sent on to the caller.</summary>
        public IReadOnlyDictionary<string, string> Headers { get; }
        /// <summary>The same as Headers.</summary>
        public IReadOnlyDictionary<string, string> ToHeaders() => Headers;
        /// <summary>The HTTP status of the reply; 0 without a reply.</summary>
        public int Status { get; }
        public string RequestId => Text("request_id") ?? headerId;
        /// <summary>Whether an agent decided.</summary>
        public bool Decided => Error == null;
        /// <summary>Why there is no decision of an agent; null if there is one.</summary>
        public SluiceException Error { get; }
        /// <summary>The body of the reply, with members that this class does not know. Empty without a decision.</summary>
        public IDictionary<string, object> Raw => Error == null ? body : new Dictionary<string, object>();

        internal Decision AfterDelay() => new Decision(new Dictionary<string, object>(body) { ["delay_ms"] = 0L }, Status, Headers, headerId);

        string Text(string name) => body.TryGetValue(name, out var value) ? value as string : null;
        long? Number(string name) => body.TryGetValue(name, out var value) && value is long number ? number : (long?)null;
        bool? Flag(string name) => body.TryGetValue(name, out var value) && value is bool flag ? flag : (bool?)null;
        TimeSpan? Span(string name) => Number(name) is long milliseconds ? TimeSpan.FromMilliseconds(milliseconds) : (TimeSpan?)null;
    }
}
