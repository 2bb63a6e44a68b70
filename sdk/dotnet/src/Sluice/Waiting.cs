using System;
using System.Diagnostics;
using System.Globalization;
using System.Threading;
using System.Threading.Tasks;

namespace Sluice
{
    /// <summary>Asks until a check passes, or cannot pass in time.</summary>
    static class Waiting
    {
        static readonly TimeSpan FirstPause = TimeSpan.FromMilliseconds(100); // after an agent that cannot be reached
        static readonly TimeSpan LastPause = TimeSpan.FromSeconds(2);
        const double LeastSleepMs = 10;
        const double MostJitterMs = 100;
        static readonly Random Random = new Random();

        /// <param name="release">Gives back the lease of a decision that a caller who has cancelled does not get.</param>
        public static async Task<Decision> Until(TimeSpan upTo, Check check, Func<Check, Task<Decision>> ask, Func<string, Task> release, CancellationToken cancel)
        {
            var clock = Stopwatch.StartNew();
            Func<TimeSpan> left = () => upTo > clock.Elapsed ? upTo - clock.Elapsed : TimeSpan.Zero;
            var pause = FirstPause;
            while (true)
            {
                var decision = await ask(check.Copy().With("wait", (long)left().TotalMilliseconds + "ms")).ConfigureAwait(false);
                if (decision.Error?.Kind == ErrorKind.Unreachable && pause <= left())
                {
                    await Task.Delay(pause, cancel).ConfigureAwait(false);
                    pause = TimeSpan.FromTicks(Math.Min(2 * pause.Ticks, LastPause.Ticks));
                    continue;
                }
                if (!decision.Decided) return decision;
                if (decision.Allowed)
                {
                    if (decision.Delay == TimeSpan.Zero || decision.Delay > left()) return decision;
                    try
                    {
                        await Task.Delay(decision.Delay, cancel).ConfigureAwait(false);
                    }
                    catch (OperationCanceledException) when (decision.LeaseId != null)
                    {
                        await release(decision.LeaseId).ConfigureAwait(false);
                        throw;
                    }
                    return decision.AfterDelay();
                }
                var retry = decision.RetryAfter;
                if (retry == null || left() == TimeSpan.Zero || retry > left()) return decision;
                await Task.Delay(WithJitter(retry.Value), cancel).ConfigureAwait(false);
            }
        }

        /// <summary>How long a check may be held, by its field "wait". What is no duration counts as zero; the agent refuses it.</summary>
        public static TimeSpan HeldUpTo(object wait)
        {
            if (wait is int || wait is long || wait is double) return TimeSpan.FromSeconds(Convert.ToDouble(wait, CultureInfo.InvariantCulture));
            if (!(wait is string text)) return TimeSpan.Zero;
            var digits = 0;
            while (digits < text.Length && char.IsDigit(text[digits])) digits++;
            if (digits == 0 || digits > 9) return TimeSpan.Zero;
            var number = long.Parse(text.Substring(0, digits), CultureInfo.InvariantCulture);
            switch (text.Substring(digits))
            {
                case "us":
                case "µs": return TimeSpan.FromMilliseconds(number / 1000.0);
                case "ms": return TimeSpan.FromMilliseconds(number);
                case "":
                case "s": return TimeSpan.FromSeconds(number);
                case "m": return TimeSpan.FromMinutes(number);
                case "h": return TimeSpan.FromHours(number);
                case "d": return TimeSpan.FromDays(number);
                default: return TimeSpan.Zero;
            }
        }

        static TimeSpan WithJitter(TimeSpan retry)
        {
            double share;
            lock (Random) share = Random.NextDouble();
            return TimeSpan.FromMilliseconds(Math.Max(LeastSleepMs, retry.TotalMilliseconds + share * Math.Min(retry.TotalMilliseconds / 10, MostJitterMs)));
        }
    }
}
