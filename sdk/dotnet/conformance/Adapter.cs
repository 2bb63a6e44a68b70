using System;
using System.Collections.Concurrent;
using System.Collections.Generic;
using System.Diagnostics;
using System.IO;
using System.Linq;
using System.Net.Security;
using System.Security.Cryptography.X509Certificates;
using System.Text;
using System.Threading;
using System.Threading.Tasks;
using Sluice;

/// <summary>The adapter of the conformance suite (sdk/CONTRACT.md). Each operation is a task.</summary>
static class Adapter
{
    static readonly TextWriter Output = new StreamWriter(Console.OpenStandardOutput(), new UTF8Encoding(false));
    static readonly ConcurrentDictionary<string, ISluice> Clients = new ConcurrentDictionary<string, ISluice>();
    static readonly ConcurrentDictionary<string, Lease> Leases = new ConcurrentDictionary<string, Lease>();
    static readonly ConcurrentDictionary<long, CancellationTokenSource> Running = new ConcurrentDictionary<long, CancellationTokenSource>();

    static void Main()
    {
        ThreadPool.SetMinThreads(64, 64);
        Say(Map("ready", true, "sdk", "dotnet", "version", SluiceClient.Version));
        var input = new StreamReader(Console.OpenStandardInput(), new UTF8Encoding(false));
        string line;
        while ((line = input.ReadLine()) != null)
        {
            var question = (IDictionary<string, object>)Json.Parse(line);
            var cancel = Running[(long)question["id"]] = new CancellationTokenSource();
            Task.Run(() => Answer(question, cancel.Token));
        }
        Environment.Exit(0);
    }

    static async Task Answer(IDictionary<string, object> question, CancellationToken cancel)
    {
        var clock = Stopwatch.StartNew();
        IDictionary<string, object> answer;
        try
        {
            answer = await Operate(question, cancel);
        }
        catch (OperationCanceledException)
        {
            answer = Map("cancelled", true);
        }
        catch (SluiceException error)
        {
            answer = Map("raised", Shown(error));
        }
        catch (Exception error)
        {
            var misuse = error is ArgumentException || error is ObjectDisposedException || error is InvalidCastException;
            answer = Map("raised", Map("kind", misuse ? "misuse" : error.GetType().Name, "status", 0L, "code", "", "message", error.Message));
        }
        answer["id"] = question["id"];
        answer["elapsed_ms"] = clock.Elapsed.TotalMilliseconds;
        CancellationTokenSource unused;
        Running.TryRemove((long)question["id"], out unused);
        Say(answer);
    }

    static async Task<IDictionary<string, object>> Operate(IDictionary<string, object> question, CancellationToken cancel)
    {
        var client = question.ContainsKey("client") && Clients.ContainsKey(Text(question, "client")) ? Clients[Text(question, "client")] : null;
        switch (Text(question, "op"))
        {
            case "new":
                Clients[Text(question, "client")] = new SluiceClient(Options((IDictionary<string, object>)question["options"]));
                return Map("ok", true);
            case "double":
                Clients[Text(question, "client")] = MakeDouble(question);
                return Map("ok", true);
            case "check": return Map("decision", Shown(await client.CheckAsync(CheckOf(question, question["check"]), cancel)));
            case "check_batch":
                var checks = ((List<object>)question["checks"]).Select(each => CheckOf(question, each)).ToList();
                return Map("decisions", (await client.CheckBatchAsync(checks, cancel)).Select(each => (object)Shown(each)).ToList());
            case "wait":
                return Map("decision", Shown(await client.WaitAsync(CheckOf(question, question["check"]), Milliseconds(question["up_to_ms"]), cancel)));
            case "lease":
                var lease = await client.LeaseAsync(CheckOf(question, question["check"]), question.ContainsKey("keep_alive") && Equals(question["keep_alive"], true), cancel);
                Leases[Text(question, "lease")] = lease;
                return Map("decision", Shown(lease.Decision));
            case "end_lease": return await EndLease(question);
            case "release": return Map("released", await client.ReleaseAsync(Text(question, "lease_id"), cancel));
            case "renew": return Map("lease_expires_at", await client.RenewAsync(Text(question, "lease_id"), cancel));
            case "cancel":
                CancellationTokenSource of;
                if (Running.TryGetValue((long)question["of"], out of)) of.Cancel();
                return Map("ok", true);
            case "recorded":
                var recorder = (SluiceDouble)client;
                return Map("checks", recorder.Checks.Select(each => (object)each.ToDictionary(field => field.Key, field => field.Value)).ToList(),
                    "open_leases", recorder.OpenLeases.ToList());
            case "describe": return Map("text", client.ToString());
            case "close":
                client.Dispose();
                return Map("ok", true);
            default: throw new ArgumentException("unknown operation " + question["op"]);
        }
    }

    static async Task<IDictionary<string, object>> EndLease(IDictionary<string, object> question)
    {
        Lease lease;
        Leases.TryRemove(Text(question, "lease"), out lease);
        try
        {
            try
            {
                if (Text(question, "how") == "fail") throw new InvalidOperationException("leaves the block");
                if (Text(question, "how") == "cancel") throw new OperationCanceledException();
            }
            finally
            {
                await lease.EndAsync();
            }
        }
        catch (InvalidOperationException)
        {
            // It left the block.
        }
        catch (OperationCanceledException)
        {
            // The same.
        }
        return Map("ok", true, "lost", lease.Lost);
    }

    static Check CheckOf(IDictionary<string, object> question, object fields)
    {
        var check = new Check();
        foreach (var field in (IDictionary<string, object>)fields) check.With(field.Key, field.Value);
        if (question.ContainsKey("traceparent")) check.WithTrace(Text(question, "traceparent"), question.ContainsKey("tracestate") ? Text(question, "tracestate") : null);
        return check;
    }

    static SluiceOptions Options(IDictionary<string, object> given)
    {
        var options = new SluiceOptions { Log = line => Console.Error.WriteLine("WARNING " + line) };
        foreach (var option in given)
        {
            switch (option.Key)
            {
                case "url": options.Url = (string)option.Value; break;
                case "socket": options.Socket = (string)option.Value; break;
                case "api_key": options.ApiKey = (string)option.Value; break;
                case "api_key_file": options.ApiKeyFile = (string)option.Value; break;
                case "timeout_ms": options.Timeout = Milliseconds(option.Value); break;
                case "on_error": options.OnError = Mode((string)option.Value); break;
                case "max_connections": options.MaxConnections = (int)(long)option.Value; break;
                case "ca_file": options.CheckCertificate = TrustOnly((string)option.Value); break;
                default: throw new ArgumentException("unknown option " + option.Key);
            }
        }
        return options;
    }

    static OnError Mode(string text)
    {
        OnError mode;
        if (Enum.TryParse(text, true, out mode)) return mode;
        throw new ArgumentException("the option on_error must be allow, deny or raise; got \"" + text + "\"");
    }

    static RemoteCertificateValidationCallback TrustOnly(string file)
    {
        var authority = new X509Certificate2(file);
        return (sender, certificate, chain, errors) =>
        {
            if ((errors & ~SslPolicyErrors.RemoteCertificateChainErrors) != SslPolicyErrors.None) return false;
            var own = new X509Chain();
            own.ChainPolicy.RevocationMode = X509RevocationMode.NoCheck;
            own.ChainPolicy.VerificationFlags = X509VerificationFlags.AllowUnknownCertificateAuthority;
            own.ChainPolicy.ExtraStore.Add(authority);
            return own.Build(new X509Certificate2(certificate)) &&
                   own.ChainElements[own.ChainElements.Count - 1].Certificate.Thumbprint == authority.Thumbprint;
        };
    }

    static SluiceDouble MakeDouble(IDictionary<string, object> question)
    {
        switch (Text(question, "kind"))
        {
            case "always_allow": return SluiceDouble.AlwaysAllow();
            case "always_deny": return SluiceDouble.AlwaysDeny();
            default:
                return SluiceDouble.Scripted(((List<object>)question["script"]).Select(entry =>
                {
                    var members = (IDictionary<string, object>)entry;
                    return members.ContainsKey("error") ? Enum.Parse(typeof(ErrorKind), (string)members["error"], true) : entry;
                }));
        }
    }

    static IDictionary<string, object> Shown(Decision decision) => Map(
        "allowed", decision.Allowed, "success", decision.Success, "reason", decision.Reason, "action", decision.Action, "limit", decision.Limit,
        "remaining", decision.Remaining, "reset", decision.Reset, "retry_after_ms", decision.RetryAfter == null ? null : (object)decision.RetryAfter.Value.TotalMilliseconds,
        "delay_ms", decision.Delay.TotalMilliseconds, "waited_ms", decision.Waited.TotalMilliseconds, "policy", decision.Policy,
        "policy_version", decision.PolicyVersion, "plan", decision.Plan, "limit_name", decision.LimitName, "shadow", decision.Shadow,
        "would_allow", decision.WouldAllow, "over_limit", decision.OverLimit, "sample_rate", decision.SampleRate, "downgrade_to", decision.DowngradeTo,
        "metadata", decision.Metadata, "lease_id", decision.LeaseId, "lease_expires_at", decision.LeaseExpiresAt,
        "headers", decision.ToHeaders().ToDictionary(header => header.Key.ToLowerInvariant(), header => (object)header.Value),
        "status", decision.Status, "request_id", decision.RequestId, "decided", decision.Decided,
        "error", decision.Error == null ? null : Shown(decision.Error), "raw", decision.Raw);

    static IDictionary<string, object> Shown(SluiceException error) => Map(
        "kind", error.Kind.ToString().ToLowerInvariant(), "status", error.Status, "code", error.Code, "detail", error.Message,
        "errors", error.Errors.ToList(), "message", error.Message);

    static TimeSpan Milliseconds(object value) => TimeSpan.FromTicks((long)(Convert.ToDouble(value) * TimeSpan.TicksPerMillisecond));

    static string Text(IDictionary<string, object> map, string name) => (string)map[name];

    static Dictionary<string, object> Map(params object[] pairs)
    {
        var map = new Dictionary<string, object>();
        for (var i = 0; i < pairs.Length; i += 2) map[(string)pairs[i]] = pairs[i + 1];
        return map;
    }

    static void Say(IDictionary<string, object> answer)
    {
        var line = Json.Write(answer);
        lock (Output)
        {
            Output.WriteLine(line);
            Output.Flush();
        }
    }
}
