using System;
using System.Collections.Generic;
using System.IO;
using System.Threading;
using System.Threading.Tasks;

namespace Sluice
{
    /// <summary>The connections of one client. Safe for use by many threads.</summary>
    sealed class Pool : IDisposable
    {
        static readonly TimeSpan MaxIdle = TimeSpan.FromSeconds(30);

        readonly Address address;
        readonly SluiceOptions options;
        readonly SemaphoreSlim places;
        readonly LinkedList<HttpConnection> idle = new LinkedList<HttpConnection>(); // the one used last comes first
        bool closed;

        public Pool(Address address, SluiceOptions options, int connections)
        {
            this.address = address;
            this.options = options;
            places = new SemaphoreSlim(connections);
        }

        /// <summary>Sends a call once and reads its reply. <paramref name="repeatable"/>: it may be sent once more on a new connection.</summary>
        public async Task<Reply> Call(byte[] request, bool repeatable, CancellationToken over)
        {
            await places.WaitAsync(over).ConfigureAwait(false);
            try
            {
                while (true)
                {
                    over.ThrowIfCancellationRequested();
                    var connection = TakeIdle() ?? await HttpConnection.Open(address, options, over).ConfigureAwait(false);
                    try
                    {
                        var reply = await connection.Call(request, over).ConfigureAwait(false);
                        if (reply.Reusable) GiveBack(connection);
                        else connection.Dispose();
                        return reply;
                    }
                    catch (OperationCanceledException)
                    {
                        connection.Dispose();
                        throw;
                    }
                    catch (IOException broken)
                    {
                        connection.Dispose();
                        var again = broken is UnreachableException ? false : repeatable;
                        if (!again && connection.Sent) throw;
                        repeatable = false;
                    }
                }
            }
            finally
            {
                places.Release();
            }
        }

        HttpConnection TakeIdle()
        {
            var now = DateTime.UtcNow;
            while (true)
            {
                HttpConnection found;
                lock (idle)
                {
                    while (idle.Last != null && now - idle.Last.Value.IdleSince > MaxIdle)
                    {
                        idle.Last.Value.Dispose();
                        idle.RemoveLast();
                    }
                    if (idle.First == null) return null;
                    found = idle.First.Value;
                    idle.RemoveFirst();
                }
                if (found.Usable()) return found;
                found.Dispose();
            }
        }

        void GiveBack(HttpConnection connection)
        {
            connection.IdleSince = DateTime.UtcNow;
            lock (idle)
            {
                if (!closed)
                {
                    idle.AddFirst(connection);
                    return;
                }
            }
            connection.Dispose();
        }

        public void Dispose()
        {
            lock (idle)
            {
                closed = true;
                foreach (var connection in idle) connection.Dispose();
                idle.Clear();
            }
        }
    }
}
