using System;
using System.Collections.Generic;
using System.Threading;
using System.Threading.RateLimiting;
using System.Threading.Tasks;

namespace Sluice.RateLimiting
{
    /// <summary>
    /// .NET's <see cref="RateLimiter"/> that asks an agent. The permits are the cost of the check; with 0 permits nothing is charged.
    /// </summary>
    public sealed class SluiceRateLimiter : RateLimiter
    {
        readonly SluicePartitionedRateLimiter<object> limiter;

        /// <param name="sluice">The client; it is not disposed with the limiter.</param>
        /// <param name="check">Makes the check of a call, without its cost.</param>
        public SluiceRateLimiter(ISluice sluice, Func<Check> check)
        {
            limiter = new SluicePartitionedRateLimiter<object>(sluice, unused => check());
        }

        /// <summary>Null: the counters are in the agent, so a limiter is never idle by itself.</summary>
        public override TimeSpan? IdleDuration => null;

        /// <summary>Null: the agent's metrics have the numbers of all its callers.</summary>
        public override RateLimiterStatistics GetStatistics() => null;

        protected override RateLimitLease AttemptAcquireCore(int permitCount) => limiter.AttemptAcquire(null, permitCount);

        protected override ValueTask<RateLimitLease> AcquireAsyncCore(int permitCount, CancellationToken cancellationToken) =>
            limiter.AcquireAsync(null, permitCount, cancellationToken);
    }

    /// <summary>
    /// .NET's <see cref="PartitionedRateLimiter{TResource}"/> that asks an agent: for ASP.NET Core's own rate limiting middleware. The agent
    /// has the partitions, by the check's subject, so none are kept here.
    /// </summary>
    public sealed class SluicePartitionedRateLimiter<TResource> : PartitionedRateLimiter<TResource>
    {
        readonly ISluice sluice;
        readonly Func<TResource, Check> check;

        /// <param name="sluice">The client; it is not disposed with the limiter.</param>
        /// <param name="check">Makes the check of a resource, without its cost.</param>
        public SluicePartitionedRateLimiter(ISluice sluice, Func<TResource, Check> check)
        {
            this.sluice = sluice ?? throw new ArgumentNullException(nameof(sluice));
            this.check = check ?? throw new ArgumentNullException(nameof(check));
        }

        public override RateLimiterStatistics GetStatistics(TResource resource) => null;

        /// <summary>Blocks until the agent answers: at most the client's timeout. Prefer AcquireAsync.</summary>
        protected override RateLimitLease AttemptAcquireCore(TResource resource, int permitCount) =>
            Task.Run(() => Ask(resource, permitCount, CancellationToken.None)).GetAwaiter().GetResult();

        protected override ValueTask<RateLimitLease> AcquireAsyncCore(TResource resource, int permitCount, CancellationToken cancellationToken) =>
            new ValueTask<RateLimitLease>(Ask(resource, permitCount, cancellationToken));

        async Task<RateLimitLease> Ask(TResource resource, int permitCount, CancellationToken cancel)
        {
            var lease = await sluice.LeaseAsync(check(resource).With("cost", permitCount), false, cancel).ConfigureAwait(false);
            return new SluiceLease(lease);
        }
    }

    /// <summary>A decision as .NET's lease. Its metadata: RETRY_AFTER (TimeSpan), REASON_PHRASE (text) and SLUICE_DECISION.</summary>
    public sealed class SluiceLease : RateLimitLease
    {
        /// <summary>The name of the metadata that is the whole <see cref="Decision"/>.</summary>
        public const string DecisionName = "SLUICE_DECISION";

        readonly Lease lease;

        internal SluiceLease(Lease lease)
        {
            this.lease = lease;
        }

        public override bool IsAcquired => lease.Decision.Allowed;

        public override IEnumerable<string> MetadataNames => new[] { MetadataName.RetryAfter.Name, MetadataName.ReasonPhrase.Name, DecisionName };

        public override bool TryGetMetadata(string metadataName, out object metadata)
        {
            metadata = null;
            if (metadataName == DecisionName) metadata = lease.Decision;
            else if (metadataName == MetadataName.ReasonPhrase.Name) metadata = lease.Decision.Reason;
            else if (metadataName == MetadataName.RetryAfter.Name && lease.Decision.RetryAfter != null) metadata = lease.Decision.RetryAfter.Value;
            return metadata != null;
        }

        protected override void Dispose(bool disposing)
        {
            if (disposing) lease.Dispose();
        }
    }
}
