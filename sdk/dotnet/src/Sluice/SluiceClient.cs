using System;
using System.Collections.Generic;
using System.IO;
using System.Linq;
using System.Text;
using System.Threading;
using System.Threading.Tasks;

namespace Sluice
{
    /// <summary>The client of an agent. Make one for a process and share it.</summary>
    public sealed class SluiceClient : ISluice
    {
        /// <summary>The version of this SDK.</summary>
        public const string Version = "0.1.0";

        const int MaxBatch = 256;
        static readonly TimeSpan LeastRenewal = TimeSpan.FromMilliseconds(50);

        readonly Address address;
        readonly KeySource key;
        readonly TimeSpan timeout;
        readonly OnError onError;
        readonly Pool pool;
        readonly ErrorLog log;
        volatile bool closed;

        /// <summary>Opens no connection.</summary>
        /// <exception cref="ArgumentException">An option or variable is wrong.</exception>
        public SluiceClient(SluiceOptions options = null)
        {
            options = options ?? new SluiceOptions();
            address = options.Address();
            key = options.Key();
            timeout = options.CallTimeout();
            onError = options.ErrorMode();
            pool = new Pool(address, options, options.Connections());
            log = new ErrorLog(address, onError, options.Log);
        }

        public async Task<Decision> CheckAsync(Check check, CancellationToken cancel = default(CancellationToken))
        {
            RequireOpen();
            if (check == null) throw new ArgumentNullException(nameof(check));
            try
            {
                return await Ask(check, cancel).ConfigureAwait(false);
            }
            catch (SluiceException error)
            {
                return Decided(error);
            }
        }

        public async Task<IReadOnlyList<Decision>> CheckBatchAsync(IReadOnlyList<Check> checks, CancellationToken cancel = default(CancellationToken))
        {
            RequireOpen();
            var decisions = new List<Decision>(checks.Count);
            SluiceException first = null;
            for (var from = 0; from < checks.Count; from += MaxBatch)
            {
                var part = checks.Skip(from).Take(MaxBatch).ToList();
                try
                {
                    var body = new Dictionary<string, object> { ["checks"] = part.Select(check => (object)new Dictionary<string, object>(Copy(check.Fields))).ToList() };
                    var reply = await Post("/v1/check/batch", body, part[0], false, timeout, cancel).ConfigureAwait(false);
                    foreach (var result in Replies.Batch(reply, part.Count))
                    {
                        if (result is SluiceException faulty) log.Add(faulty);
                        decisions.Add(result as Decision ?? new Decision((SluiceException)result, onError == OnError.Allow));
                    }
                }
                catch (SluiceException error)
                {
                    log.Add(error);
                    first = first ?? error;
                    decisions.AddRange(part.Select(unused => new Decision(error, onError == OnError.Allow)));
                }
            }
            if (first != null && onError == OnError.Raise) throw first;
            return decisions;
        }

        public async Task<Decision> WaitAsync(Check check, TimeSpan upTo, CancellationToken cancel = default(CancellationToken))
        {
            RequireOpen();
            if (check == null) throw new ArgumentNullException(nameof(check));
            if (upTo < TimeSpan.Zero) throw new ArgumentException("upTo must not be negative; got " + upTo);
            var decision = await Waiting.Until(upTo, check, async asked =>
            {
                try
                {
                    return await Ask(asked, cancel).ConfigureAwait(false);
                }
                catch (SluiceException error)
                {
                    return new Decision(error, onError == OnError.Allow);
                }
            }, Forget, cancel).ConfigureAwait(false);
            return decision.Decided ? decision : Decided(decision.Error);
        }

        public async Task<Lease> LeaseAsync(Check check, bool keepAlive = false, CancellationToken cancel = default(CancellationToken))
        {
            var decision = await CheckAsync(check, cancel).ConfigureAwait(false);
            var id = decision.Allowed ? decision.LeaseId : null;
            var lease = new Lease(decision, () => id == null ? Task.FromResult(false) : Forget(id));
            if (id != null && keepAlive && decision.LeaseExpiresAt != null)
            {
                _ = KeepAlive(lease, id, decision.LeaseExpiresAt.Value);
            }
            return lease;
        }

        public Task<bool> ReleaseAsync(string leaseId, CancellationToken cancel = default(CancellationToken))
        {
            RequireOpen();
            return OnLease("/v1/release", leaseId, body => body.TryGetValue("released", out var released) && Equals(released, true), false, false, cancel);
        }

        public Task<long?> RenewAsync(string leaseId, CancellationToken cancel = default(CancellationToken))
        {
            RequireOpen();
            return OnLease("/v1/renew", leaseId, ExpiryOf, null, false, cancel);
        }

        /// <summary>Closes idle connections at once, and those in use after their call.</summary>
        public void Dispose()
        {
            closed = true;
            pool.Dispose();
        }

        /// <summary>The agent's address and the options; never the API key.</summary>
        public override string ToString() => "SluiceClient { " + address + ", timeout " + timeout.TotalMilliseconds + " ms, on error " + onError + " }";

        void RequireOpen()
        {
            if (closed) throw new ObjectDisposedException("SluiceClient");
        }

        async Task<Decision> Ask(Check check, CancellationToken cancel)
        {
            var held = Waiting.HeldUpTo(check.Fields.ContainsKey("wait") ? check.Fields["wait"] : null);
            return Replies.Decision(await Post("/v1/check", Copy(check.Fields), check, false, timeout + held, cancel).ConfigureAwait(false));
        }

        async Task<T> OnLease<T>(string path, string id, Func<IDictionary<string, object>, T> read, T otherwise, bool quiet, CancellationToken cancel)
        {
            if (id == null) throw new ArgumentNullException(nameof(id));
            try
            {
                var body = new Dictionary<string, object> { ["lease_id"] = id };
                return read(Replies.Lease(await Post(path, body, null, true, timeout, cancel).ConfigureAwait(false)));
            }
            catch (SluiceException error)
            {
                if (quiet) return otherwise;
                log.Add(error);
                if (onError == OnError.Raise) throw;
                return otherwise;
            }
        }

        /// <summary>Releases a lease. A failure is not reported, because the lease ends by itself.</summary>
        Task<bool> Forget(string id) => OnLease("/v1/release", id, body => true, false, true, default(CancellationToken));

        async Task KeepAlive(Lease lease, string id, long expires)
        {
            const long failed = long.MinValue; // perhaps the lease lives on
            try
            {
                while (true)
                {
                    var life = TimeSpan.FromMilliseconds(expires * 1000.0 - DateTimeOffset.UtcNow.ToUnixTimeMilliseconds());
                    var pause = TimeSpan.FromTicks(Math.Max(LeastRenewal.Ticks, life.Ticks / 3));
                    await Task.Delay(pause, lease.Ended).ConfigureAwait(false);
                    var renewed = await OnLease("/v1/renew", id, ExpiryOf, failed, true, lease.Ended).ConfigureAwait(false);
                    if (renewed == null)
                    {
                        lease.Lost = true;
                        return;
                    }
                    if (renewed != failed) expires = renewed.Value;
                }
            }
            catch (OperationCanceledException)
            {
                // The block has ended.
            }
        }

        static long? ExpiryOf(IDictionary<string, object> body) => body.TryGetValue("lease_expires_at", out var at) && at is long seconds ? seconds : (long?)null;

        /// <summary>Sends a call, with the new key after a 401 if the key's file has another one by now.</summary>
        async Task<Reply> Post(string path, IDictionary<string, object> body, Check trace, bool repeatable, TimeSpan longest, CancellationToken cancel)
        {
            var text = Json.Write(body);
            var used = key.Get();
            using (var over = CancellationTokenSource.CreateLinkedTokenSource(cancel))
            {
                over.CancelAfter(longest);
                var reply = await Send(path, text, trace, used, repeatable, over.Token, cancel).ConfigureAwait(false);
                var changed = reply.Status == 401 ? key.Changed(used) : null;
                return changed == null ? reply : await Send(path, text, trace, changed, repeatable, over.Token, cancel).ConfigureAwait(false);
            }
        }

        async Task<Reply> Send(string path, string body, Check trace, string apiKey, bool repeatable, CancellationToken over, CancellationToken cancel)
        {
            var content = Encoding.UTF8.GetBytes(body);
            var head = new StringBuilder("POST ").Append(path).Append(" HTTP/1.1\r\nhost: ").Append(address.HostHeader)
                .Append("\r\nuser-agent: sluice-dotnet/").Append(Version).Append("\r\ncontent-type: application/json\r\naccept: application/json\r\n");
            AppendHeader(head, "x-api-key", apiKey);
            AppendHeader(head, "traceparent", trace?.Traceparent);
            AppendHeader(head, "tracestate", trace?.Traceparent == null ? null : trace.Tracestate);
            head.Append("content-length: ").Append(content.Length).Append("\r\n\r\n");
            var request = new byte[head.Length + content.Length];
            Encoding.ASCII.GetBytes(head.ToString(), 0, head.Length, request, 0);
            Buffer.BlockCopy(content, 0, request, head.Length, content.Length);
            try
            {
                return await pool.Call(request, repeatable, over).ConfigureAwait(false);
            }
            catch (OperationCanceledException)
            {
                cancel.ThrowIfCancellationRequested();
                throw new SluiceException(ErrorKind.Timeout, "the agent did not answer in time");
            }
            catch (UnreachableException unreachable)
            {
                throw new SluiceException(ErrorKind.Unreachable, address + ": " + unreachable.Message);
            }
            catch (IOException broken)
            {
                throw new SluiceException(ErrorKind.Protocol, broken.Message);
            }
        }

        static void AppendHeader(StringBuilder head, string name, string value)
        {
            if (value != null) head.Append(name).Append(": ").Append(value).Append("\r\n");
        }

        static Dictionary<string, object> Copy(IReadOnlyDictionary<string, object> fields) => fields.ToDictionary(field => field.Key, field => field.Value);

        /// <summary>What the caller gets for an error.</summary>
        Decision Decided(SluiceException error)
        {
            log.Add(error);
            if (onError == OnError.Raise) throw error;
            return new Decision(error, onError == OnError.Allow);
        }
    }
}
