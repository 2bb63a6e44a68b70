using System;
using System.Collections.Generic;
using System.Linq;
using System.Threading;
using System.Threading.Tasks;

namespace Sluice
{
    /// <summary>Stands for a client in tests: needs no agent, answers as it is told, and records what it is asked.</summary>
    public sealed class SluiceDouble : ISluice
    {
        const long LeaseSeconds = 60;
        // What a decision calls otherwise than a reply.
        static readonly Dictionary<string, string> ReplyNames = new Dictionary<string, string> { ["policy"] = "policy_id", ["plan"] = "plan_id", ["reset"] = "reset_at" };

        readonly bool otherwise;
        readonly Queue<object> script;
        readonly List<IReadOnlyDictionary<string, object>> checks = new List<IReadOnlyDictionary<string, object>>();
        readonly List<string> openLeases = new List<string>();
        long leases;

        SluiceDouble(bool otherwise, IEnumerable<object> entries)
        {
            this.otherwise = otherwise;
            script = new Queue<object>(entries);
            if (script.Any(entry => !(entry is IDictionary<string, object>) && !(entry is ErrorKind)))
                throw new ArgumentException("an entry of a script must be a dictionary or an ErrorKind");
        }

        /// <summary>Allows every check.</summary>
        public static SluiceDouble AlwaysAllow() => new SluiceDouble(true, new object[0]);
        /// <summary>Denies every check.</summary>
        public static SluiceDouble AlwaysDeny() => new SluiceDouble(false, new object[0]);
        /// <summary>
        /// Answers in this order, and allows when the script is over. Each entry is the members of a decision, or an
        /// <see cref="ErrorKind"/> for a decision without an agent that is allowed.
        /// </summary>
        public static SluiceDouble Scripted(IEnumerable<object> entries) => new SluiceDouble(true, entries);

        /// <summary>The fields of all checks so far.</summary>
        public IReadOnlyList<IReadOnlyDictionary<string, object>> Checks
        {
            get { lock (checks) return checks.ToList(); }
        }

        /// <summary>The ids of leases that were taken and not given back.</summary>
        public IReadOnlyList<string> OpenLeases
        {
            get { lock (checks) return openLeases.ToList(); }
        }

        public Task<Decision> CheckAsync(Check check, CancellationToken cancel = default(CancellationToken)) => Task.FromResult(Next(check));

        public Task<IReadOnlyList<Decision>> CheckBatchAsync(IReadOnlyList<Check> all, CancellationToken cancel = default(CancellationToken)) =>
            Task.FromResult<IReadOnlyList<Decision>>(all.Select(Next).ToList());

        public Task<Decision> WaitAsync(Check check, TimeSpan upTo, CancellationToken cancel = default(CancellationToken)) =>
            Waiting.Until(upTo, check, asked => Task.FromResult(Next(asked)), id => ReleaseAsync(id), cancel);

        public Task<Lease> LeaseAsync(Check check, bool keepAlive = false, CancellationToken cancel = default(CancellationToken))
        {
            var decision = Next(check);
            if (!decision.Allowed) return Task.FromResult(new Lease(decision, () => Task.FromResult(false)));
            lock (checks)
            {
                var id = decision.LeaseId ?? "lease-" + ++leases;
                openLeases.Add(id);
                var body = new Dictionary<string, object>(decision.Raw) { ["lease_id"] = id };
                if (!body.ContainsKey("lease_expires_at")) body["lease_expires_at"] = DateTimeOffset.UtcNow.ToUnixTimeSeconds() + LeaseSeconds;
                return Task.FromResult(new Lease(new Decision(body, decision.Status, null, null), () => ReleaseAsync(id)));
            }
        }

        public Task<bool> ReleaseAsync(string leaseId, CancellationToken cancel = default(CancellationToken))
        {
            lock (checks) return Task.FromResult(openLeases.Remove(leaseId));
        }

        public Task<long?> RenewAsync(string leaseId, CancellationToken cancel = default(CancellationToken))
        {
            lock (checks)
                return Task.FromResult(openLeases.Contains(leaseId) ? DateTimeOffset.UtcNow.ToUnixTimeSeconds() + LeaseSeconds : (long?)null);
        }

        public void Dispose() { }

        Decision Next(Check check)
        {
            lock (checks)
            {
                checks.Add(check.Fields);
                var entry = script.Count > 0 ? script.Dequeue() : null;
                if (entry is ErrorKind kind) return new Decision(new SluiceException(kind, "scripted"), true);
                var body = new Dictionary<string, object> { ["allowed"] = otherwise };
                if (entry is IDictionary<string, object> members)
                    foreach (var member in members)
                        body[ReplyNames.TryGetValue(member.Key, out var name) ? name : member.Key] = member.Value is int small ? (long)small : member.Value;
                var allowed = Equals(body["allowed"], true);
                if (!body.ContainsKey("action")) body["action"] = allowed ? "allow" : "deny";
                if (!body.ContainsKey("reason")) body["reason"] = allowed ? "within_limit" : "limit_exceeded";
                return new Decision(body, allowed ? 200 : 429, null, null);
            }
        }
    }
}
