using System;
using System.Collections.Generic;
using System.IO;
using System.Net;
using System.Net.Security;
using System.Net.Sockets;
using System.Text;
using System.Threading;
using System.Threading.Tasks;

namespace Sluice
{
    /// <summary>A reply. The names of headers are in lower case.</summary>
    sealed class Reply
    {
        public int Status;
        public Dictionary<string, string> Headers;
        public byte[] Body;
        public bool Reusable;
    }

    /// <summary>The reply is no HTTP, is cut, or is too large.</summary>
    sealed class ProtocolException : IOException
    {
        public ProtocolException(string text) : base(text) { }
    }

    /// <summary>No connection could be opened.</summary>
    sealed class UnreachableException : IOException
    {
        public UnreachableException(string text) : base(text) { }
    }

    /// <summary>
    /// HTTP/1.1 (RFC 9112) on one connection, one call at a time: as much of it as an agent speaks. A token that is cancelled closes
    /// the connection, because a socket's own operations do not end everywhere.
    /// </summary>
    sealed class HttpConnection : IDisposable
    {
        const int MaxBody = 2 << 20;
        const int MaxHead = 64 << 10;

        readonly Socket socket;
        readonly Stream stream;
        readonly byte[] input = new byte[16 << 10];
        int position, end;

        HttpConnection(Socket socket, Stream stream)
        {
            this.socket = socket;
            this.stream = stream;
        }

        public DateTime IdleSince { get; set; }
        /// <summary>A byte of the last call may have been written.</summary>
        public bool Sent { get; private set; }

        public static async Task<HttpConnection> Open(Address address, SluiceOptions options, CancellationToken end)
        {
            Socket socket = null;
            Stream stream = null;
            try
            {
                var target = Target(address);
                socket = address.Socket != null
                    ? new Socket(AddressFamily.Unix, SocketType.Stream, ProtocolType.Unspecified)
                    : new Socket(SocketType.Stream, ProtocolType.Tcp) { NoDelay = true };
                var connecting = socket;
                using (end.Register(connecting.Dispose))
                {
                    await (target != null ? connecting.ConnectAsync(target) : connecting.ConnectAsync(address.Host, address.Port)).ConfigureAwait(false);
                    stream = new NetworkStream(socket, true);
                    if (address.Tls) stream = await Secure(stream, address, options).ConfigureAwait(false);
                }
                end.ThrowIfCancellationRequested();
                return new HttpConnection(socket, stream);
            }
            catch (Exception error)
            {
                stream?.Dispose();
                socket?.Dispose();
                end.ThrowIfCancellationRequested();
                if (error is OperationCanceledException) throw;
                throw new UnreachableException(error.Message);
            }
        }

        static async Task<Stream> Secure(Stream below, Address address, SluiceOptions options)
        {
            var secure = new SslStream(below, false, options.CheckCertificate);
            await secure.AuthenticateAsClientAsync(address.Host, options.ClientCertificates, System.Security.Authentication.SslProtocols.None, false)
                .ConfigureAwait(false);
            return secure;
        }

        static EndPoint Target(Address address)
        {
            if (address.Socket != null) return UnixSocket.EndPoint(address.Socket);
            return IPAddress.TryParse(address.Host, out var literal) ? new IPEndPoint(literal, address.Port) : null;
        }

        /// <summary>Whether the agent has neither closed the connection nor sent bytes that nobody asked for.</summary>
        public bool Usable()
        {
            try
            {
                return position == end && !socket.Poll(0, SelectMode.SelectRead);
            }
            catch (Exception error) when (error is SocketException || error is ObjectDisposedException)
            {
                return false;
            }
        }

        public async Task<Reply> Call(byte[] request, CancellationToken over)
        {
            Sent = false;
            using (over.Register(Dispose))
            {
                try
                {
                    Sent = true; // a stream does not say how much of it was written
                    await stream.WriteAsync(request, 0, request.Length).ConfigureAwait(false);
                    return await Read().ConfigureAwait(false);
                }
                catch (Exception) when (over.IsCancellationRequested)
                {
                    throw new OperationCanceledException(over);
                }
                catch (System.Security.Authentication.AuthenticationException refused)
                {
                    throw new UnreachableException(refused.Message);
                }
                catch (Exception error) when (error is ObjectDisposedException || error is SocketException || error is InvalidOperationException)
                {
                    throw new IOException(error.Message);
                }
            }
        }

        async Task<Reply> Read()
        {
            while (true)
            {
                var status = await Line(true).ConfigureAwait(false);
                var code = StatusOf(status);
                var headers = await HeaderLines().ConfigureAwait(false);
                if (code < 200) continue; // an interim reply
                var ends = code != 204 && code != 304 && !headers.ContainsKey("content-length") && !headers.ContainsKey("transfer-encoding");
                var body = await Body(code, headers).ConfigureAwait(false);
                var close = headers.ContainsKey("connection") && headers["connection"].IndexOf("close", StringComparison.OrdinalIgnoreCase) >= 0;
                return new Reply { Status = code, Headers = headers, Body = body, Reusable = status[7] == '1' && !ends && !close && position == end };
            }
        }

        static int StatusOf(string line)
        {
            var shaped = line.Length >= 12 && (line.StartsWith("HTTP/1.1 ", StringComparison.Ordinal) || line.StartsWith("HTTP/1.0 ", StringComparison.Ordinal)) &&
                         (line.Length == 12 || line[12] == ' ');
            if (shaped && int.TryParse(line.Substring(9, 3), System.Globalization.NumberStyles.None, null, out var code) && code >= 100 && code < 600)
                return code;
            throw new ProtocolException("the reply is no HTTP/1.1");
        }

        async Task<Dictionary<string, string>> HeaderLines()
        {
            var headers = new Dictionary<string, string>();
            var size = 0;
            while (true)
            {
                var line = await Line(false).ConfigureAwait(false);
                if (line.Length == 0) return headers;
                size += line.Length;
                if (size > MaxHead) throw new ProtocolException("the head of the reply is too large");
                AddHeader(headers, line);
            }
        }

        static void AddHeader(Dictionary<string, string> headers, string line)
        {
            var colon = line.IndexOf(':');
            if (colon <= 0 || line[colon - 1] == ' ' || line[0] == ' ' || line[0] == '\t') throw new ProtocolException("a header of the reply is broken");
            var name = line.Substring(0, colon).ToLowerInvariant();
            var value = line.Substring(colon + 1).Trim();
            if (headers.TryGetValue(name, out var before) && before != value && (name == "content-length" || name == "transfer-encoding"))
                throw new ProtocolException("the reply has two lengths");
            headers[name] = value;
        }

        async Task<byte[]> Body(int code, Dictionary<string, string> headers)
        {
            if (code == 204 || code == 304) return new byte[0];
            if (headers.ContainsKey("transfer-encoding"))
            {
                if (!string.Equals(headers["transfer-encoding"], "chunked", StringComparison.OrdinalIgnoreCase) || headers.ContainsKey("content-length"))
                    throw new ProtocolException("the reply's length is not clear");
                return await Chunks().ConfigureAwait(false);
            }
            if (!headers.ContainsKey("content-length")) return await UntilTheEnd().ConfigureAwait(false);
            var bytes = SizeOf(headers["content-length"], 10, System.Globalization.NumberStyles.None, "the reply's length is not clear");
            if (bytes > MaxBody) throw new ProtocolException("the reply is larger than 2 MiB");
            var body = new byte[bytes];
            await Take(body).ConfigureAwait(false);
            return body;
        }

        static long SizeOf(string digits, int most, System.Globalization.NumberStyles style, string wrong)
        {
            if (digits.Length > 0 && digits.Length <= most && long.TryParse(digits, style, null, out var size)) return size;
            throw new ProtocolException(wrong);
        }

        async Task<byte[]> Chunks()
        {
            var body = new MemoryStream();
            while (true)
            {
                var line = await Line(false).ConfigureAwait(false);
                var size = (int)SizeOf(line.Split(';')[0].Trim(), 7, System.Globalization.NumberStyles.AllowHexSpecifier, "a chunk of the reply is broken");
                if (body.Length + size > MaxBody) throw new ProtocolException("the reply is larger than 2 MiB");
                if (size == 0)
                {
                    await HeaderLines().ConfigureAwait(false); // the trailer
                    return body.ToArray();
                }
                var chunk = new byte[size];
                await Take(chunk).ConfigureAwait(false);
                body.Write(chunk, 0, size);
                if ((await Line(false).ConfigureAwait(false)).Length > 0) throw new ProtocolException("a chunk of the reply is broken");
            }
        }

        /// <summary>A body without a length ends with the connection (RFC 9112, 6.3).</summary>
        async Task<byte[]> UntilTheEnd()
        {
            var body = new MemoryStream();
            do
            {
                body.Write(input, position, end - position);
                position = end;
                if (body.Length > MaxBody) throw new ProtocolException("the reply is larger than 2 MiB");
            } while (await Fill().ConfigureAwait(false));
            return body.ToArray();
        }

        async Task<string> Line(bool first)
        {
            var line = new StringBuilder();
            while (true)
            {
                while (position < end)
                {
                    var next = input[position++];
                    if (next == '\n')
                    {
                        if (line.Length > 0 && line[line.Length - 1] == '\r') line.Length--;
                        return line.ToString();
                    }
                    line.Append((char)next);
                    // What is no HTTP may have no line end at all.
                    if (line.Length > MaxHead || (first && line.Length == 5 && line.ToString() != "HTTP/"))
                        throw new ProtocolException("the reply is no HTTP/1.1");
                }
                await Need().ConfigureAwait(false);
            }
        }

        async Task Take(byte[] into)
        {
            var taken = 0;
            while (taken < into.Length)
            {
                if (position == end) await Need().ConfigureAwait(false);
                var part = Math.Min(end - position, into.Length - taken);
                Buffer.BlockCopy(input, position, into, taken, part);
                position += part;
                taken += part;
            }
        }

        async Task Need()
        {
            if (!await Fill().ConfigureAwait(false)) throw new ProtocolException("the agent closed the connection before the reply was complete");
        }

        async Task<bool> Fill()
        {
            var count = await stream.ReadAsync(input, 0, input.Length).ConfigureAwait(false);
            position = 0;
            end = count;
            return count > 0;
        }

        public void Dispose()
        {
            stream.Dispose();
            socket.Dispose();
        }
    }
}
