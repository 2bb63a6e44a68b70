using System;
using System.Collections.Generic;
using System.Diagnostics;

namespace Sluice
{
    /// <summary>Logs errors: each kind once when it begins, then at most every 10 s with their number. Safe for use by many threads.</summary>
    sealed class ErrorLog
    {
        static readonly TimeSpan Silence = TimeSpan.FromSeconds(10);

        readonly Address address;
        readonly string consequence;
        readonly Action<string> write;
        readonly Dictionary<ErrorKind, KeyValuePair<TimeSpan, long>> said = new Dictionary<ErrorKind, KeyValuePair<TimeSpan, long>>();
        readonly Stopwatch clock = Stopwatch.StartNew();

        public ErrorLog(Address address, OnError onError, Action<string> write)
        {
            this.address = address;
            this.write = write ?? (line => Trace.TraceWarning(line));
            consequence = onError == OnError.Allow ? "checks are allowed" : onError == OnError.Deny ? "checks are denied" : "the caller gets an exception";
        }

        public void Add(SluiceException error)
        {
            long number;
            lock (said)
            {
                var known = said.TryGetValue(error.Kind, out var last);
                if (known && clock.Elapsed - last.Key < Silence)
                {
                    said[error.Kind] = new KeyValuePair<TimeSpan, long>(last.Key, last.Value + 1);
                    return;
                }
                number = known ? last.Value + 1 : 1;
                said[error.Kind] = new KeyValuePair<TimeSpan, long>(clock.Elapsed, 0);
            }
            var times = number > 1 ? ", " + number + " times" : "";
            write("no decision of the agent at " + address + ": " + error.Kind.ToString().ToLowerInvariant() + " (" + error.Message + ")" + times + "; " + consequence);
        }
    }
}
