using System;
using System.Collections.Generic;
using System.Threading;
using System.Threading.Tasks;

namespace Sluice
{
    /// <summary>
    /// Asks whether requests may pass. Safe for use by many threads. Unless the client is made with <see cref="OnError.Raise"/>, no method
    /// throws because of what an agent does. A cancelled token leaves a call with an <see cref="OperationCanceledException"/>.
    /// </summary>
    public interface ISluice : IDisposable
    {
        /// <summary>Judges and charges one check.</summary>
        Task<Decision> CheckAsync(Check check, CancellationToken cancel = default(CancellationToken));
        /// <summary>Judges checks, each on its own; the decisions have their order.</summary>
        Task<IReadOnlyList<Decision>> CheckBatchAsync(IReadOnlyList<Check> checks, CancellationToken cancel = default(CancellationToken));
        /// <summary>Waits until a check passes, but not longer than <paramref name="upTo"/>.</summary>
        Task<Decision> WaitAsync(Check check, TimeSpan upTo, CancellationToken cancel = default(CancellationToken));
        /// <summary>A check whose lease ends when the result is disposed. <paramref name="keepAlive"/> renews it.</summary>
        Task<Lease> LeaseAsync(Check check, bool keepAlive = false, CancellationToken cancel = default(CancellationToken));
        /// <summary>Gives a lease back. False if it had ended, or if the agent did not answer.</summary>
        Task<bool> ReleaseAsync(string leaseId, CancellationToken cancel = default(CancellationToken));
        /// <summary>Lets a lease live on: its new end in Unix seconds; null if it is gone.</summary>
        Task<long?> RenewAsync(string leaseId, CancellationToken cancel = default(CancellationToken));
    }

    /// <summary>A decision, and the lease that it took, which Dispose gives back.</summary>
    public sealed class Lease : IDisposable
    {
        readonly Func<Task> end;
        readonly CancellationTokenSource renewals = new CancellationTokenSource();
        int ended;

        internal Lease(Decision decision, Func<Task> end)
        {
            Decision = decision;
            this.end = end;
        }

        public Decision Decision { get; }
        /// <summary>Whether a renewal found the lease gone; only if it is kept alive.</summary>
        public bool Lost { get; internal set; }

        internal CancellationToken Ended => renewals.Token;

        /// <summary>Gives the lease back, and waits for it. Throws nothing; a second call does nothing.</summary>
        public async Task EndAsync()
        {
            if (Interlocked.Exchange(ref ended, 1) != 0) return;
            renewals.Cancel();
            await end().ConfigureAwait(false);
        }

        /// <summary>Gives the lease back without waiting for it.</summary>
        public void Dispose()
        {
            _ = EndAsync();
        }
    }
}
